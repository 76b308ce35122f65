// Command load measures what limiting costs the proxy: wrk asks one that limits
// and one that does not (-off) in turn, on the loopback interface, so often that
// the proxy is busy all the time, and nobody is refused.
//
//	apt-get install wrk
//	go run ./docs/examples/proxy/load
//
// It prints throughput, the 99th percentile of latency, and CPU time of the
// proxy by request (its own upstream included), of each round, and the ratios of
// the medians. With -clients N requests come from as many clients, by turns, as
// a trusted proxy would say; else all are of one. It ends by itself after about
// 2 × rounds × time, and has measured something only if nothing else runs.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

func main() {
	var l load
	flag.IntVar(&l.rounds, "rounds", 5, "measure each side so often")
	flag.DurationVar(&l.time, "time", 5*time.Second, "the `time` of a measurement, in whole seconds")
	flag.IntVar(&l.connections, "connections", 32, "connections that ask at once")
	flag.IntVar(&l.clients, "clients", 0, "the `number` of clients; 0: all requests are one client's")
	flag.Parse()
	// Bounded, whatever hangs.
	limit := time.Duration(2*l.rounds+2)*(l.time+5*time.Second) + time.Minute
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := l.run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

type load struct {
	rounds, connections, clients int
	time                         time.Duration
}

// An outcome is what one measurement found.
type outcome struct {
	perSecond float64
	p99, cpu  time.Duration // cpu is by request; 0 if unknown
}

func (l load) run(ctx context.Context, out io.Writer) error {
	if l.rounds < 1 || l.connections < 1 || l.clients < 0 || l.time < time.Second {
		return errors.New("want at least one round, connection and second")
	}
	dir, err := os.MkdirTemp("", "load")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	script := ""
	if l.clients > 0 {
		script = filepath.Join(dir, "clients.lua")
		if err := os.WriteFile(script, []byte(l.script()), 0o600); err != nil {
			return err
		}
	}
	binary := filepath.Join(dir, "proxy")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/weir-go/weir/docs/examples/proxy")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	sides := []side{{name: "off", args: []string{"-off"}}, {name: "on"}}
	for i := range sides {
		s := &sides[i]
		if l.clients > 0 {
			s.args = append(s.args, "-trust", "127.0.0.1")
		}
		if err := s.start(ctx, binary); err != nil {
			return err
		}
		defer s.stop()
		if _, err := s.measure(ctx, load{connections: l.connections, time: time.Second}, script); err != nil { // to warm up
			return err
		}
	}
	fmt.Fprintf(out, "%-6s %-4s %12s %10s %12s\n", "round", "side", "requests/s", "p99", "CPU/request")
	for round := range l.rounds {
		for i := range sides {
			s := &sides[(i+round)%len(sides)] // neither is always first
			o, err := s.measure(ctx, l, script)
			if err != nil {
				return err
			}
			s.got = append(s.got, o)
			fmt.Fprintf(out, "%-6d %-4s %12.0f %10v %12v\n", round+1, s.name, o.perSecond, o.p99, o.cpu)
		}
	}
	report(out, sides[0].got, sides[1].got)
	return nil
}

// script asks as another client each time, as wrk reads it.
func (l load) script() string {
	return fmt.Sprintf(`local i = 0
function request()
  i = (i + 7919) %% %d
  wrk.headers["X-Forwarded-For"] = "10." .. math.floor(i / 65536) %% 256 .. "." .. math.floor(i / 256) %% 256 .. "." .. i %% 256
  return wrk.format()
end
`, l.clients)
}

// A side is a proxy that runs, and what was measured of it.
type side struct {
	name string
	args []string
	cmd  *exec.Cmd
	addr string
	got  []outcome
}

var serving = regexp.MustCompile(`msg=serving address=(127\.0\.0\.1:\d+)`)

// start starts the proxy, with limits that nobody reaches, and that refill so
// slowly that it remembers the clients from one request to the next, as it does
// those that a limit is for.
func (s *side) start(ctx context.Context, binary string) error {
	const ample = "100/s burst 1000000000"
	args := append([]string{"-listen", "127.0.0.1:0", "-limit", ample, "-global", ample}, s.args...)
	s.cmd = exec.CommandContext(ctx, binary, args...)
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(os.Interrupt) }
	s.cmd.WaitDelay = 15 * time.Second
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if m := serving.FindStringSubmatch(lines.Text()); m != nil {
			s.addr = m[1]
			go io.Copy(os.Stderr, stderr)
			return nil
		}
		fmt.Fprintln(os.Stderr, lines.Text()) // why it does not
	}
	s.stop()
	return fmt.Errorf("the proxy (%s) does not serve", s.name)
}

func (s *side) stop() {
	s.cmd.Process.Signal(os.Interrupt)
	s.cmd.Wait()
}

func (s *side) measure(ctx context.Context, l load, script string) (outcome, error) {
	args := []string{"-t1", "-c" + strconv.Itoa(l.connections), fmt.Sprintf("-d%ds", int(l.time.Seconds())), "--latency"}
	if script != "" {
		args = append(args, "-s", script)
	}
	before := cpuTime(s.cmd.Process.Pid)
	text, err := exec.CommandContext(ctx, "wrk", append(args, "http://"+s.addr+"/")...).CombinedOutput()
	if err != nil {
		return outcome{}, fmt.Errorf("wrk: %w\n%s", err, text)
	}
	after := cpuTime(s.cmd.Process.Pid)
	o, requests, err := parse(text)
	if err != nil {
		return o, fmt.Errorf("wrk on the proxy (%s): %w\n%s", s.name, err, text)
	}
	o.cpu = ((after - before) / time.Duration(requests)).Round(10 * time.Nanosecond)
	return o, nil
}
