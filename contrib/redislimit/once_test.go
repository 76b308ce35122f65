package redislimit_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/contrib/redislimit"
	"github.com/weir-go/weir/gcra"
)

// patient is a time-out that no machine is too slow for.
const patient = 2 * time.Minute

// newLimiter makes a limiter that is patient, unless an option says otherwise.
func newLimiter(t *testing.T, client redis.Scripter, limit string, policy redislimit.FailurePolicy, opts ...redislimit.Option) *redislimit.Limiter {
	t.Helper()
	l, err := redislimit.New(client, limitOf(t, limit), policy, append([]redislimit.Option{redislimit.WithTimeout(patient)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// left is what a limiter says remains.
func left(t *testing.T, l *redislimit.Limiter, key string) int {
	t.Helper()
	d, err := l.Peek(ctx, key, 0)
	if err != nil {
		t.Fatal(err)
	}
	return d.Remaining()
}

// TestChargedOnce swallows answers after Redis has charged: the request is charged
// exactly once, and the caller is told that nobody knows. Its twin sends the
// command as go-redis does by default, and is charged twice.
func TestChargedOnce(t *testing.T) {
	mini := miniredis.RunT(t)
	t.Run("miniredis", func(t *testing.T) { chargedOnce(t, "tcp", mini.Addr()) })
	t.Run("redis-server", func(t *testing.T) { chargedOnce(t, "unix", newServer(t).socket) })
}

func chargedOnce(t *testing.T, network, addr string) {
	p := newProxy(t, network, addr)
	direct := newLimiter(t, clientOf(t, network, addr), "1/h burst 100", redislimit.Closed())
	for _, row := range []struct {
		name     string
		careless bool
		ask      func(l *redislimit.Limiter, key string) error
		left     int
	}{
		{"Take", false, func(l *redislimit.Limiter, k string) error { _, err := l.Take(ctx, k, 3); return err }, 97},
		{"TakeUpTo", false, func(l *redislimit.Limiter, k string) error { _, err := l.TakeUpTo(ctx, k, 3); return err }, 97},
		{"Debit", false, func(l *redislimit.Limiter, k string) error { _, err := l.Debit(ctx, k, 3); return err }, 97},
		{"Reserve", false, func(l *redislimit.Limiter, k string) error { _, err := l.Reserve(ctx, k, 3); return err }, 97},
		{"WaitN", false, func(l *redislimit.Limiter, k string) error { return l.WaitN(ctx, k, 3) }, 97},
		{"Settle", false, func(l *redislimit.Limiter, k string) error {
			r, err := l.Reserve(ctx, k, 3)
			if err != nil {
				return err
			}
			p.swallow.Store(1)
			err = r.Settle(ctx, 1) // comes back, and nobody hears of it
			if again := r.Settle(ctx, 0); again != nil {
				t.Errorf("a second settlement: %v", again)
			}
			return err
		}, 99},
		{"careless twin", true, func(l *redislimit.Limiter, k string) error { _, err := l.Take(ctx, k, 3); return err }, 94},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLimiter(t, clientOf(t, "tcp", p.addr), "1/h burst 100", redislimit.Closed())
			if _, err := l.Take(ctx, "other", 1); err != nil { // the script is there, and a connection
				t.Fatal(err)
			}
			if row.careless {
				l.Careless()
			}
			if p.swallow.Store(1); row.name == "Settle" {
				p.swallow.Store(0)
			}
			err := row.ask(l, row.name)
			if row.careless != (err == nil) || !row.careless && !errors.Is(err, redislimit.ErrUnavailable) {
				t.Errorf("an answer was lost, and the error is %v", err)
			}
			if p.swallow.Load() > 0 {
				t.Error("no answer was swallowed")
			}
			if got := left(t, direct, row.name); got != row.left {
				t.Errorf("%d of 100 tokens are left, want %d", got, row.left)
			}
		})
	}
}

// TestScriptFlush: a server that has forgotten the script gets it again.
func TestScriptFlush(t *testing.T) {
	mini := miniredis.RunT(t)
	for name, client := range map[string]*redis.Client{"miniredis": clientOf(t, "tcp", mini.Addr()), "redis-server": newServer(t).client()} {
		l := newLimiter(t, client, "1/h burst 10", redislimit.Closed())
		l.Count()
		for i, want := range []int64{2, 3, 5} { // sent
			if i == 2 {
				if err := client.ScriptFlush(ctx).Err(); err != nil {
					t.Fatal(err)
				}
			}
			if d, err := l.Take(ctx, "k", 1); err != nil || d.Remaining() != 9-i || l.Count() != want {
				t.Errorf("%s, take %d: %d left, error %v, %d commands; want %d, %d", name, i, d.Remaining(), err, l.Count(), 9-i, want)
			}
		}
	}
}

// TestRestart: a server that comes back empty has full buckets and no script, and
// connections that are dead.
func TestRestart(t *testing.T) {
	s := newServer(t)
	l := newLimiter(t, s.client(), "1/h burst 10", redislimit.Closed())
	for _, want := range []int{6, 2} {
		if d, err := l.Take(ctx, "k", 4); err != nil || d.Remaining() != want {
			t.Fatalf("%d left, error %v, want %d", d.Remaining(), err, want)
		}
	}
	s.kill()
	s.start()
	eventually(t, func() bool {
		d, err := l.Take(ctx, "k", 1)
		return err == nil && d.Remaining() == 9
	})
}

// eventually asks until it is so.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	watchdog := time.NewTimer(patient)
	defer watchdog.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-watchdog.C:
			t.Fatal("it did not come to be so")
		}
	}
}

// TestValues: what is not ours is left alone, and told.
func TestValues(t *testing.T) {
	mini := miniredis.RunT(t)
	for name, client := range map[string]*redis.Client{"miniredis": clientOf(t, "tcp", mini.Addr()), "redis-server": newServer(t).client()} {
		for _, policy := range []redislimit.FailurePolicy{redislimit.Closed(), redislimit.Open(), redislimit.Local(1, 2)} {
			l := newLimiter(t, client, "1/h burst 10", policy, redislimit.WithPrefix("p:"))
			client.Del(ctx, "p:list")
			client.RPush(ctx, "p:list", "x")
			id, nines := "3600000000:1:10:0", strings.Repeat("9", 400)
			for key, value := range map[string]string{"words": "some words of others", "number": "1735689600", "empty": "", "almost": "1 2 3 x y", "more": "1 2 3 x 1:2:3:0 4", "minus": "-1 0 0 x 1:2:3:0", "none": "0 0 0 x ::: ",
				"past numbers": nines + " 0 5 x 1:1:1:0", "past doubles": "6099999999999537210295569 0 60374209866998 s " + id, "rest": "60374210295569 99999999999999999993 60374210295569 s " + id,
				"rest too great": "60374210295569 1 60374210295569 s " + id, "other's rest": "60374210295569 2 60374210295569 s 1000000:2:9:0", "limit": "0 0 0 x 1:" + nines + ":1:0", "parts of nothing": "0 0 0 x 1:0:1:0"} {
				client.Set(ctx, "p:"+key, value, 0)
				for what, ask := range map[string]func() (gcra.Decision, error){
					"Take":     func() (gcra.Decision, error) { return l.Take(ctx, key, 1) },
					"TakeUpTo": func() (gcra.Decision, error) { return l.TakeUpTo(ctx, key, 1) },
					"Peek":     func() (gcra.Decision, error) { return l.Peek(ctx, key, 1) },
					"Debit":    func() (gcra.Decision, error) { return l.Debit(ctx, key, 1) },
					"Reserve": func() (gcra.Decision, error) {
						r, err := l.Reserve(ctx, key, 1)
						return r.Decision(), err
					},
					"Reset": func() (gcra.Decision, error) { return refusal(), l.Reset(ctx, key) },
				} {
					d, err := ask()
					if !errors.Is(err, redislimit.ErrValue) || errors.Is(err, redislimit.ErrUnavailable) || d.OK() {
						t.Errorf("%s, %s of %q: ok %v, error %v", name, what, value, d.OK(), err)
					}
				}
				if got := client.Get(ctx, "p:"+key).Val(); got != value {
					t.Errorf("%s: %q became %q", name, value, got)
				}
			}
			if d, err := l.Take(ctx, "list", 1); !errors.Is(err, redislimit.ErrValue) || d.OK() {
				t.Errorf("%s: a list: ok %v, error %v", name, d.OK(), err)
			}
			if d, err := l.Take(ctx, "fine", 1); err != nil || !d.OK() {
				t.Errorf("%s: after all that: ok %v, error %v", name, d.OK(), err)
			}
			client.Del(ctx, "p:fine")
		}
	}
}

// TestKeys: any string is a key of its own.
func TestKeys(t *testing.T) {
	mini := miniredis.RunT(t)
	long := string(make([]byte, 1<<16))
	for name, client := range map[string]*redis.Client{"miniredis": clientOf(t, "tcp", mini.Addr()), "redis-server": newServer(t).client()} {
		l := newLimiter(t, client, "1/h burst 100", redislimit.Closed(), redislimit.WithPrefix(""))
		keys := []string{"", " ", "a b", "\x00", "a\x00b", "{a}", "{a}b", "{}", "}{", "\r\n", "\xff\xfe", "%d", "[", "ключ", long, long + "x"}
		for i, k := range keys {
			if d, err := l.Take(ctx, k, i+1); err != nil || !d.OK() {
				t.Fatalf("%s, %.20q: ok %v, error %v", name, k, d.OK(), err)
			}
		}
		for i, k := range keys {
			if got := left(t, l, k); got != 99-i {
				t.Errorf("%s, %.20q has %d left, want %d", name, k, got, 99-i)
			}
		}
	}
}

// refusal is a decision that is not OK.
func refusal() gcra.Decision {
	l := gcra.PerHour(1)
	return gcra.Refuse(&l, gcra.At(&l, 0), 1)
}
