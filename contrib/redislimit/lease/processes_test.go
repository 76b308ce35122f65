package lease_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/contrib/redislimit"
	"github.com/weir-go/weir/contrib/redislimit/lease"
	"github.com/weir-go/weir/gcra"
)

// spenderSocket names the redis-server's socket to the test's own binary, and makes it a
// process that spends.
const spenderSocket = "WEIR_LEASE_SOCKET"

// server starts a redis-server that ends with the test, and returns its socket.
func server(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("WEIR_REDIS") == "required" {
			t.Fatal(err)
		}
		t.Skip("no redis-server is installed")
	}
	// Not t.TempDir: a socket's name must be short.
	dir, err := os.MkdirTemp("", "weir")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(path, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		os.RemoveAll(dir)
	})
	client := dial(socket)
	defer client.Close()
	wait, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for client.Ping(wait).Err() != nil {
		if wait.Err() != nil {
			t.Fatal("the redis-server does not answer")
		}
	}
	return socket
}

func dial(socket string) *redis.Client {
	return redis.NewClient(&redis.Options{Network: "unix", Addr: socket, DialTimeout: 10 * time.Second})
}

// What the processes share: more is asked for than it grants.
var (
	processLimit = gcra.PerSecond(2000).Burst(400)
	processLife  = 250 * time.Millisecond
)

// A deed of a process: n tokens were leased, or spent, between two readings of the
// machine's clock, which is the server's too.
type deed struct {
	what          byte // 'l' or 's'
	before, after int64
	n             int
	of            int // the process
}

// A witness writes down what the store lends.
type witness struct{ lease.Store }

func (w witness) Lend(ctx context.Context, key string, least, most int) (lease.Loan, error) {
	before := time.Now().UnixNano()
	loan, err := w.Store.Lend(ctx, key, least, most)
	if err == nil && loan.Decision.OK() {
		fmt.Println("l", before, time.Now().UnixNano(), loan.Decision.Granted())
	}
	return loan, err
}

// spend asks for tokens until its standard input ends, and writes down each grant, at
// once, so that a kill hides no more than one.
func spend(socket string) error {
	client := dial(socket)
	defer client.Close()
	of, err := redislimit.New(client, processLimit, redislimit.Closed(), redislimit.WithTimeout(5*time.Second))
	if err != nil {
		return err
	}
	l, err := lease.New(witness{lease.Redis(of)}, lease.WithLifetime(processLife))
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, os.Stdin)
	}()
	for i := 0; ; i++ {
		select {
		case <-ended:
			return l.Close(context.Background())
		default:
		}
		n := 1 + i%3
		before := time.Now().UnixNano()
		d, err := l.Take(context.Background(), "k", n)
		switch {
		case errors.Is(err, context.DeadlineExceeded): // a machine that is very busy
		case err != nil:
			return err
		case d.OK():
			if _, err := fmt.Println("s", before, time.Now().UnixNano(), n); err != nil {
				return err
			}
		}
	}
}

// TestProcesses runs four processes on one redis-server, kills one of them in the
// middle, and tries all windows of what they wrote down.
func TestProcesses(t *testing.T) {
	socket := server(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var (
		start  = time.Now()
		deeds  = make(chan deed)
		ended  sync.WaitGroup
		spent  [4]int
		stdins []io.Closer
		all    []*exec.Cmd
	)
	for i := range spent {
		p := exec.Command(self)
		p.Env = append(os.Environ(), spenderSocket+"="+socket)
		p.Stderr = os.Stderr
		stdin, err := p.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := p.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		stdins, all = append(stdins, stdin), append(all, p)
		ended.Go(func() {
			for lines := bufio.NewScanner(stdout); lines.Scan(); {
				var d deed
				var what string
				if _, err := fmt.Sscan(lines.Text(), &what, &d.before, &d.after, &d.n); err != nil {
					break // killed while it wrote
				}
				d.what, d.of = what[0], i
				deeds <- d
			}
			if err := p.Wait(); err != nil && i != 2 {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	go func() {
		ended.Wait()
		close(deeds)
	}()
	// The events that decide are tokens; the timer is for who hangs.
	watchdog := time.AfterFunc(time.Minute, func() {
		for _, p := range all {
			p.Process.Kill()
		}
	})
	defer watchdog.Stop()

	var history []deed
	total, killed := 0, false
	for d := range deeds {
		history = append(history, d)
		if d.what == 's' {
			total += d.n
			spent[d.of]++
		}
		// On a busy machine one may be late to begin: it is waited for.
		if total >= 2000 && spent[2] >= 50 && !killed {
			killed = true
			all[2].Process.Kill() // SIGKILL: with what it has leased
		}
		if total >= 4000 && slices.Min(spent[:]) >= 50 && killed && stdins != nil {
			for _, stdin := range stdins {
				stdin.Close()
			}
			stdins = nil
		}
	}
	whole := time.Since(start)
	t.Logf("%d tokens in %v spends, in %v", total, spent, whole)
	for i, n := range spent {
		if n < 50 {
			t.Errorf("process %d spent %d times only", i, n)
		}
	}
	if most := processLimit.Within(whole); total > most || total < 4000 {
		t.Errorf("%d tokens were spent in %v, at most %d were there", total, whole, most)
	}
	if v := tooMany(history); v != "" {
		t.Error(v)
	}

	// The check can fail: one spend more, of what nobody had leased.
	last := history[len(history)/2]
	for _, n := range []int{processLimit.Within(0) + 200, processLimit.Within(processLife) + 1} {
		if tooMany(append(slices.Clone(history), deed{'s', last.after, last.after + 1, n, 0})) == "" {
			t.Errorf("a spend of %d tokens too many is not found out", n)
		}
	}
}

// tooMany tries every window, from one spend's beginning to another's end: the spends
// that certainly lie within it are at most burst + rate·w and what is leased out, and
// at most burst + rate·(w + lifetime). It returns the first that saw more.
func tooMany(history []deed) string {
	order := func(by func(deed) int64) func(a, b deed) int {
		return func(a, b deed) int { return cmp.Compare(by(a), by(b)) }
	}
	var spends, leases []deed
	for _, d := range history {
		if d.what == 's' {
			spends = append(spends, d)
		} else {
			leases = append(leases, d)
		}
	}
	begun := slices.SortedFunc(slices.Values(spends), order(func(d deed) int64 { return d.before }))
	ended := slices.SortedFunc(slices.Values(spends), order(func(d deed) int64 { return d.after }))
	slices.SortFunc(leases, order(func(d deed) int64 { return d.before }))
	leased, l, e := 0, 0, 0
	for _, first := range begun {
		// Leased out when it begins: at most what may have been leased before
		// it, less what certainly was spent before it.
		for ; l < len(leases) && leases[l].before < first.before; l++ {
			leased += leases[l].n
		}
		for ; e < len(ended) && ended[e].after < first.before; e++ {
			leased -= ended[e].n
		}
		sum := 0
		for _, last := range ended[e:] {
			if last.before < first.before {
				continue
			}
			sum += last.n
			w := time.Duration(last.after - first.before)
			if most := min(processLimit.Within(w)+leased, processLimit.Within(w+processLife)); sum > most {
				return fmt.Sprintf("%d tokens within %v, at most %d are permitted; %d are leased out", sum, w, most, leased)
			}
		}
	}
	return ""
}
