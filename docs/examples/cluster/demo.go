package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A process is a node as whoever started it knows it.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	addr  string
}

// A cluster is some processes, by name.
type cluster struct {
	of       map[string]*process
	names    []string
	upstream string
	limit    gcra.Limit
	secret   string
	client   *http.Client
}

// start starts the process of that name, and tells all others.
func (c *cluster) start(name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-node", name, "-upstream", c.upstream, "-limit", c.limit.String())
	cmd.Env = append(os.Environ(), secretName+"="+c.secret) // not an argument, which all can see
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p := &process{cmd: cmd, stdin: stdin}
	c.of[name] = p
	if p.addr, err = bufio.NewReader(stdout).ReadString('\n'); err != nil {
		return fmt.Errorf("process %s does not say where it listens: %w", name, err)
	}
	p.addr = strings.TrimSpace(p.addr)
	return nil
}

// introduce tells all processes who there is.
func (c *cluster) introduce() error {
	var line []string
	for name, p := range c.of {
		line = append(line, name+"="+p.addr)
	}
	for name, p := range c.of {
		if _, err := fmt.Fprintln(p.stdin, strings.Join(line, " ")); err != nil {
			return fmt.Errorf("process %s: %w", name, err)
		}
	}
	return nil
}

// kill ends the process as a crash does.
func (c *cluster) kill(name string) {
	p := c.of[name]
	delete(c.of, name)
	p.cmd.Process.Kill()
	p.stdin.Close()
	p.cmd.Wait() // killed, as asked
}

// stop ends all processes as they are meant to.
func (c *cluster) stop() {
	for name, p := range c.of {
		p.stdin.Close()
		p.cmd.Wait()
		delete(c.of, name)
	}
}

// ask asks the process about the key, and returns who decided and what.
func (c *cluster) ask(ctx context.Context, at, key string) (owner string, granted bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.of[at].addr+"/", nil)
	if err != nil {
		return "", false, err
	}
	req.Header.Set(keyField, key)
	res, err := c.client.Do(req)
	if err != nil {
		return "", false, err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return "", false, err
	}
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusTooManyRequests {
		return "", false, fmt.Errorf("process %s about %s: %s", at, key, res.Status)
	}
	return res.Header.Get(nodeField), res.StatusCode == http.StatusOK, nil
}

// drain asks all processes about the key, one after the other, three times as often as
// the burst permits, and returns who decided, all of them the same, and the grants.
func (c *cluster) drain(ctx context.Context, key string) (owner string, granted int, err error) {
	for i := range 3 * c.limit.Capacity() {
		at := c.names[i%len(c.names)]
		if c.of[at] == nil {
			continue
		}
		who, ok, err := c.ask(ctx, at, key)
		if err != nil {
			return "", 0, err
		}
		if owner == "" {
			owner = who
		}
		if who != owner {
			return "", 0, fmt.Errorf("%s decided about %s, and %s did", who, key, owner)
		}
		if ok {
			granted++
		}
	}
	return owner, granted, nil
}

// demonstrate follows some keys while the owner of one dies and returns.
func demonstrate(ctx context.Context, out io.Writer, limit gcra.Limit) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ending, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- serveUntil(ending, ln, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	}()
	to := newTransport(peerAnswers)
	c := &cluster{
		of: map[string]*process{}, names: []string{"a", "b", "c"}, limit: limit,
		upstream: "http://" + ln.Addr().String(), secret: rand.Text(), client: &http.Client{Transport: to},
	}
	err = c.story(ctx, out)
	c.stop()
	to.CloseIdleConnections()
	end()
	if ending := <-ended; err == nil {
		err = ending
	}
	return err
}

func (c *cluster) story(ctx context.Context, out io.Writer) error {
	for _, name := range c.names {
		if err := c.start(name); err != nil {
			return err
		}
	}
	if err := c.introduce(); err != nil {
		return err
	}
	if err := c.agreed(ctx); err != nil {
		return err
	}
	began := time.Now()
	fmt.Fprintf(out, "processes a, b and c; each key gets %v, whichever process is asked\n", c.limit)
	keys := []string{"alice", "bob", "carol", "dave", "erin", "frank"}
	owners, sum := map[string]string{}, map[string]int{}
	round := func(title string) error {
		fmt.Fprintln(out, title)
		for _, key := range keys {
			owner, granted, err := c.drain(ctx, key)
			if err != nil {
				return err
			}
			moved := ""
			if owners[key] != "" && owners[key] != owner {
				moved = ", moved from " + owners[key]
			}
			owners[key] = owner
			sum[key] += granted
			fmt.Fprintf(out, "  %-6s decided by %s: %2d granted, %2d in all%s\n", key, owner, granted, sum[key], moved)
		}
		return nil
	}
	if err := round("all keys ask for more than they may have:"); err != nil {
		return err
	}
	victim := owners[keys[0]]
	c.kill(victim)
	start := time.Now()
	for at := range c.of {
		if _, _, err := c.ask(ctx, at, "somebody "+at); err != nil {
			return err
		}
	}
	if err := round(fmt.Sprintf("%s is killed; its keys move and forget their balance, one more burst, others do not:", victim)); err != nil {
		return err
	}
	fmt.Fprintf(out, "  no request failed, and all of these took %v\n", time.Since(start).Round(time.Millisecond))
	if err := c.start(victim); err != nil {
		return err
	}
	if err := c.introduce(); err != nil {
		return err
	}
	if err := c.agreed(ctx); err != nil {
		return err
	}
	if err := round(fmt.Sprintf("%s is back, with nothing in its memory, and so are its keys:", victim)); err != nil {
		return err
	}
	for _, key := range keys {
		moves := 0
		if owners[key] == victim {
			moves = 2
		}
		if most := moves*c.limit.Capacity() + c.limit.Within(time.Since(began)); sum[key] > most {
			return fmt.Errorf("%s was granted %d, more than %d", key, sum[key], most)
		}
	}
	fmt.Fprintln(out, "no key got more than one burst for each of its moves, and its own")
	return nil
}

// agreed waits until every process has heard of all: each owns one of some keys
// by what everybody says.
func (c *cluster) agreed(ctx context.Context) error {
	for ctx.Err() == nil {
		seen := map[string]bool{}
		same := true
		for i := range 40 {
			key, owner := fmt.Sprint("probe", i), ""
			for at := range c.of {
				who, _, err := c.ask(ctx, at, key)
				if err != nil {
					return err
				}
				if owner == "" {
					owner = who
				}
				same = same && who == owner
			}
			seen[owner] = true
		}
		if same && len(seen) == len(c.of) {
			return nil
		}
	}
	return ctx.Err()
}
