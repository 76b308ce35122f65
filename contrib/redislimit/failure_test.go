package redislimit_test

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/contrib/redislimit"
	"github.com/weir-go/weir/gcra"
)

// states collects what a limiter tells of Redis.
type states struct {
	mu  sync.Mutex
	all []redislimit.State
}

func (s *states) note(st redislimit.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, st)
}

func (s *states) told() []redislimit.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]redislimit.State(nil), s.all...)
}

// ways are how a server may fail, and come back.
var ways = []struct {
	name  string
	fail  func(t *testing.T, s *server, p *proxy)
	mend  func(t *testing.T, s *server, p *proxy)
	empty bool // it comes back with nothing
	sent  bool // what was sent to it meanwhile it does when it is back; it is not answered in time
}{
	{"killed and restarted empty", func(t *testing.T, s *server, _ *proxy) { s.kill() }, func(t *testing.T, s *server, _ *proxy) { s.start() }, true, false},
	{"paused", func(t *testing.T, s *server, _ *proxy) { s.signal(syscall.SIGSTOP) }, func(t *testing.T, s *server, _ *proxy) { s.signal(syscall.SIGCONT) }, false, true},
	{"out of memory", func(t *testing.T, s *server, _ *proxy) { memory(t, s, "1") }, func(t *testing.T, s *server, _ *proxy) { memory(t, s, "0") }, false, false},
	{"too far away", func(t *testing.T, _ *server, p *proxy) { p.delay.Store(int64(time.Hour)) }, func(t *testing.T, _ *server, p *proxy) { p.delay.Store(0) }, false, true},
	{"read only", func(t *testing.T, s *server, _ *proxy) { replica(t, s, "127.0.0.1", "1") }, func(t *testing.T, s *server, _ *proxy) { replica(t, s, "no", "one") }, false, false},
}

func memory(t *testing.T, s *server, bytes string) {
	if err := s.client().ConfigSet(ctx, "maxmemory", bytes).Err(); err != nil {
		t.Fatal(err)
	}
}

// replica makes the server one that may not write, of a master that is not there.
func replica(t *testing.T, s *server, host, port string) {
	c := s.client()
	if err := c.Do(ctx, "replicaof", host, port).Err(); err != nil {
		t.Fatal(err)
	}
}

// TestFailure lets a server fail in each of these ways under each policy: what is
// decided meanwhile, what is asked, what is told, and what is left when it is back.
func TestFailure(t *testing.T) {
	for _, way := range ways {
		for _, policy := range []struct {
			name string
			redislimit.FailurePolicy
		}{{"closed", redislimit.Closed()}, {"open", redislimit.Open()}, {"local", redislimit.Local(1, 2)}} {
			t.Run(way.name+"/"+policy.name, func(t *testing.T) {
				t.Parallel()
				s := newServer(t)
				p := newProxy(t, "unix", s.socket)
				var heard states
				timeout := patient
				if way.sent {
					timeout = time.Second
				}
				l := newLimiter(t, clientOf(t, "tcp", p.addr), "10/h burst 10", policy.FailurePolicy, redislimit.WithNotify(heard.note), redislimit.WithTimeout(timeout))
				limit := l.Limit()
				if d, err := l.Take(ctx, "k", 2); err != nil || d.Remaining() != 8 {
					t.Fatalf("%d left, error %v", d.Remaining(), err)
				}
				way.fail(t, s, p)
				before, granted, tries := l.Count(), 0, 0
				begin := time.Now()
				for ; tries < 50 || time.Since(begin) < 500*time.Millisecond; tries++ {
					d, err := l.Take(ctx, "k", 1)
					granted += d.Granted()
					refused := errors.Is(err, redislimit.ErrUnavailable) && !d.OK() && d.Err() == gcra.ErrLimited && d.RetryAfter() > 0
					if policy.name == "closed" && !refused || policy.name != "closed" && err != nil {
						t.Fatalf("try %d: err %v, error %v", tries, d.Err(), err)
					}
					if want := limitOf(t, "5/h burst 5"); policy.name == "local" && d.Limit() != want {
						t.Fatalf("try %d was decided under %v, want %v", tries, d.Limit(), want)
					}
				}
				asked := int(l.Count() - before)
				if want := map[string]int{"closed": 0, "open": tries, "local": 5}[policy.name]; granted != want {
					t.Errorf("%d of %d granted, want %d", granted, tries, want)
				}
				if most := questions(time.Since(begin)); asked > most {
					t.Errorf("a server that does not answer was asked %d times, want %d at most", asked, most)
				}
				if got := heard.told(); len(got) != 1 || got[0].Up || !errors.Is(got[0].Err, redislimit.ErrUnavailable) {
					t.Errorf("told %v, want that it is down, once", got)
				}
				// It may be the one that asks again; a server without memory can do it.
				if way.name != "out of memory" {
					if err := l.Reset(ctx, "other"); !errors.Is(err, redislimit.ErrUnavailable) {
						t.Errorf("Reset: %v", err)
					}
				}
				way.mend(t, s, p)
				var d gcra.Decision
				eventually(t, func() bool {
					var err error
					d, err = l.Take(ctx, "k", 1)
					return err == nil && d.Limit() == limit && len(heard.told()) > 1
				})
				if got := heard.told(); len(got) != 2 || !got[1].Up || got[1].Err != nil {
					t.Errorf("told %v, want that it is up again, once", got)
				}
				most := 10 - 2 - 1
				if way.empty {
					most = 10 - 1
				}
				least := most
				if way.sent {
					least -= int(l.Count() - before) // each may have been done, or not
				}
				if policy.name == "local" {
					// What was granted here is missing there, and may be so twice
					// where a call carried it whose answer did not come.
					if most, least = most-granted, least-granted; way.sent {
						least -= granted * int(l.Count()-before)
					}
				}
				if policy.name == "open" && !way.sent {
					// Takes that were granted until Limit told.
					least = most - int(l.Count()-before)
				}
				if got := d.Remaining(); got > max(most, 0) || got < max(least, 0) {
					t.Errorf("%d left, want %d to %d", got, least, most)
				}
			})
		}
	}
}

// questions returns how many a server is asked at most that does not answer for so
// long: between them is a back-off that doubles.
func questions(d time.Duration) int {
	n := 1
	for off := 100 * time.Millisecond; d >= off; off = min(2*off, 2*time.Second) {
		d -= off
		n++
	}
	return n
}

// TestSlowIsNotDown: with a time-out that is long enough, 200 ms are only slow.
func TestSlowIsNotDown(t *testing.T) {
	p := newProxy(t, "unix", newServer(t).socket)
	var heard states
	l := newLimiter(t, clientOf(t, "tcp", p.addr), "10/h burst 10", redislimit.Closed(), redislimit.WithNotify(heard.note))
	if _, err := l.Take(ctx, "k", 2); err != nil {
		t.Fatal(err)
	}
	p.delay.Store(int64(200 * time.Millisecond))
	if d, err := l.Take(ctx, "k", 2); err != nil || d.Remaining() != 6 || len(heard.told()) > 0 {
		t.Errorf("%d left, error %v, told %v", d.Remaining(), err, heard.told())
	}
}

// TestLocalDebt: what was booked ahead here is due there, to the token.
func TestLocalDebt(t *testing.T) {
	s := newServer(t)
	l := newLimiter(t, s.client(), "10/h burst 10", redislimit.Local(1, 2))
	s.kill()
	if d, err := l.Take(ctx, "k", 4); err != nil || !d.OK() {
		t.Fatalf("err %v, error %v", d.Err(), err)
	}
	if d, err := l.Debit(ctx, "k", 5); err != nil || d.Granted() != 5 {
		t.Fatalf("%d debited, error %v", d.Granted(), err)
	}
	s.start()
	eventually(t, func() bool {
		d, err := l.Peek(ctx, "other", 1)
		return err == nil && d.Limit() == l.Limit()
	})
	for range 3 { // once
		if got := left(t, l, "k"); got != 1 {
			t.Errorf("%d of 10 left, want 1 after 9 were charged here", got)
		}
	}
}

// TestLocalWaits: Wait, Reserve and Peek go on too, and what is settled.
func TestLocalWaits(t *testing.T) {
	s := newServer(t)
	for _, row := range []struct {
		policy redislimit.FailurePolicy
		fails  bool
		left   int // of 10 after 1 kept
	}{{redislimit.Closed(), true, 0}, {redislimit.Open(), false, 10}, {redislimit.Local(1, 1), false, 8}} {
		s.kill()
		l := newLimiter(t, s.client(), "10/h burst 10", row.policy)
		r, err := l.Reserve(ctx, "k", 3)
		if row.fails != (err != nil) || row.fails == r.OK() {
			t.Errorf("Reserve: ok %v, error %v", r.OK(), err)
		}
		if err := r.Settle(ctx, 1); err != nil {
			t.Errorf("Settle: %v", err)
		}
		if err := l.Wait(ctx, "k"); row.fails != errors.Is(err, redislimit.ErrUnavailable) {
			t.Errorf("Wait: %v", err)
		}
		if d, err := l.Peek(ctx, "k", 1); row.fails == d.OK() || row.fails != (err != nil) || d.OK() && d.Remaining() != row.left {
			t.Errorf("Peek: %d left, error %v, want %d", d.Remaining(), err, row.left)
		}
		j, err := redislimit.Join(l.For("{k}1"), l.For("{k}2"))
		if err != nil {
			t.Fatal(err)
		}
		if d, err := j.Take(ctx, 2); row.fails == d.OK() || row.fails != errors.Is(err, redislimit.ErrUnavailable) {
			t.Errorf("a joint: ok %v, error %v", d.OK(), err)
		}
		if d, err := l.Take(ctx, "k", 11); d.Err() != gcra.ErrExceedsBurst || err != nil {
			t.Errorf("a cost above the burst: err %v, error %v", d.Err(), err)
		}
		if err := l.SetLimit(ctx, gcra.PerHour(20).Burst(10)); err != nil || l.Limit() != gcra.PerHour(20).Burst(10) {
			t.Errorf("SetLimit: %v", err)
		}
		s.start()
		eventually(t, func() bool {
			d, err := l.Peek(ctx, "new", 1)
			return err == nil && d.OK() && d.Limit() == gcra.PerHour(20).Burst(10)
		})
	}
}

// TestCallersContext: a caller who is in a hurry says nothing of the server.
func TestCallersContext(t *testing.T) {
	p := newProxy(t, "unix", newServer(t).socket)
	var heard states
	client := redis.NewClient(&redis.Options{Addr: p.addr, ContextTimeoutEnabled: true, DialTimeout: patient})
	t.Cleanup(func() { client.Close() })
	l := newLimiter(t, client, "10/h burst 10", redislimit.Open(), redislimit.WithNotify(heard.note))
	if _, err := l.Take(ctx, "k", 2); err != nil {
		t.Fatal(err)
	}
	done, cancel := contextDone()
	defer cancel()
	if d, err := l.Take(done, "k", 1); !errors.Is(err, done.Err()) || d.OK() {
		t.Errorf("a context that is done: ok %v, error %v", d.OK(), err)
	}
	p.delay.Store(int64(time.Hour))
	short, cancel2 := contextShort()
	defer cancel2()
	d, err := l.Take(short, "k", 1)
	<-short.Done()
	if !errors.Is(err, short.Err()) || short.Err() == nil || d.OK() || errors.Is(err, redislimit.ErrUnavailable) {
		t.Errorf("a context that ends: ok %v, error %v", d.OK(), err)
	}
	if got := heard.told(); len(got) > 0 {
		t.Errorf("told %v", got)
	}
}

// A bomb is a client that panics.
type bomb struct{ *redis.Client }

func (b bomb) Process(context.Context, redis.Cmder) error { panic("bomb") }

// TestPanic: a client that panics leaves nothing locked, and no probe under way that
// nobody makes.
func TestPanic(t *testing.T) {
	l := newLimiter(t, bomb{newServer(t).client()}, "10/h burst 10", redislimit.Local(1, 2))
	panicked := 0
	for _, ask := range []func(){
		func() { l.Take(ctx, "k", 1) },
		func() { _ = l.Wait(ctx, "k") },
		func() { _, _ = l.Reserve(ctx, "k", 1) },
	} {
		eventually(t, func() (boom bool) {
			defer func() { boom = recover() != nil }()
			ask()
			return false
		})
		panicked++
	}
	if panicked != 3 {
		t.Errorf("%d of 3 panicked", panicked)
	}
	func() {
		defer func() { _ = recover() }()
		_ = l.SetLimit(ctx, gcra.PerHour(1)) // asks the time, which panics
	}()
	if l.Limit() != gcra.PerHour(10).Burst(10) {
		t.Error("the limit changed")
	}
}

func contextDone() (context.Context, context.CancelFunc) {
	c, cancel := context.WithCancel(ctx)
	cancel()
	return c, cancel
}

func contextShort() (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 20*time.Millisecond)
}
