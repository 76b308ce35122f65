package redislimit_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/contrib/redislimit"
	"github.com/weir-go/weir/gcra"
)

// unlike is a Scripter that cannot send a command as it is.
type unlike struct{ redis.Scripter }

func TestNewRefuses(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // never asked
	defer client.Close()
	ring := redis.NewRing(&redis.RingOptions{})
	defer ring.Close()
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer cluster.Close()
	fine := gcra.PerSecond(1)
	closed := redislimit.Closed()
	for _, row := range []struct {
		client redis.Scripter
		limit  gcra.Limit
		policy redislimit.FailurePolicy
		opt    redislimit.Option
		want   string // in the error
	}{
		{client, fine, closed, redislimit.WithPrefix(""), ""},
		{client, gcra.Unlimited(), closed, redislimit.WithPrefix(""), ""},
		{client, gcra.Limit{}, redislimit.Local(1, 2), redislimit.WithPrefix(""), ""},
		{client, gcra.PerSecond(3).Burst(7), redislimit.Local(1, 1<<20), redislimit.WithMaxDebt(0), ""},
		{nil, fine, closed, redislimit.WithPrefix(""), "nil"},
		{unlike{client}, fine, closed, redislimit.WithPrefix(""), "Process"},
		{client.Pipeline(), fine, closed, redislimit.WithPrefix(""), "executed"},
		{client.TxPipeline(), fine, closed, redislimit.WithPrefix(""), "executed"},
		{ring, fine, closed, redislimit.WithPrefix(""), "ContextTimeoutEnabled"},
		{cluster, fine, closed, redislimit.WithPrefix(""), "ContextTimeoutEnabled"},
		{client, fine, redislimit.FailurePolicy{}, redislimit.WithPrefix(""), "policy"},
		{client, fine, redislimit.Local(0, 1), redislimit.WithPrefix(""), "Local(0, 1)"},
		{client, fine, redislimit.Local(3, 2), redislimit.WithPrefix(""), "Local(3, 2)"},
		{client, fine, redislimit.Local(-1, -1), redislimit.WithPrefix(""), "Local(-1, -1)"},
		{client, gcra.PerDay(1), redislimit.Local(1, 1<<20), redislimit.WithPrefix(""), "too fine"},
		{client, fine, closed, redislimit.WithTimeout(0), "WithTimeout(0s)"},
		{client, fine, closed, redislimit.WithMaxWait(-1), "WithMaxWait(-1ns)"},
		{client, fine, closed, redislimit.WithMaxWait(gcra.Never), "WithMaxWait"},
		{client, fine, closed, redislimit.WithMaxDebt(-1), "WithMaxDebt(-1)"},
		{client, fine, closed, redislimit.WithCatchUp(-1), "WithCatchUp(-1ns)"},
		{client, fine, closed, redislimit.WithMemory(-1), "WithMemory(-1ns)"},
		{client, fine.Burst(2).Start(1), closed, redislimit.WithPrefix(""), "start"},
		{client, fine.Burst(2).Start(2), closed, redislimit.WithPrefix(""), "start"},
		{client, fine.InSteps(time.Microsecond + 1), closed, redislimit.WithPrefix(""), "step"},
		{client, gcra.Every(1<<58 - 1), closed, redislimit.WithPrefix(""), "2^52"},
		{client, gcra.PerHour(1).Burst(1 << 30), closed, redislimit.WithPrefix(""), "35 years"},
		{client, gcra.PerSecond(1).Burst(10), closed, redislimit.WithMaxDebt(1 << 40), "debt"},
		{client, gcra.Per(1<<50, 1<<50).Burst(1), closed, redislimit.WithPrefix(""), "2^52 / 1000"},
		{client, gcra.Per(10, 1).Burst(1 << 53), closed, redislimit.WithPrefix(""), "burst"},
	} {
		l, err := redislimit.New(row.client, row.limit, row.policy, row.opt)
		switch {
		case row.want == "" && (err != nil || l.Limit() != row.limit):
			t.Errorf("%v: %v", row.limit, err)
		case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
			t.Errorf("%T, %v: error %v, want one of %q", row.client, row.limit, err, row.want)
		}
		if row.want == "" || row.client != client || row.policy != closed {
			continue
		}
		if fine, err := redislimit.New(client, fine, closed); err != nil || row.limit != gcra.PerSecond(1) && fine.SetLimit(ctx, row.limit) == nil && !strings.Contains(row.want, "start") && row.want != "debt" {
			t.Errorf("SetLimit(%v) does not refuse, error %v", row.limit, err)
		}
	}
}

func TestJoinRefuses(t *testing.T) {
	mini := miniredis.RunT(t)
	one, two := clientOf(t, "tcp", mini.Addr()), clientOf(t, "tcp", mini.Addr())
	l := newLimiter(t, one, "1/s burst 5", redislimit.Closed())
	same := newLimiter(t, one, "1/s burst 9", redislimit.Closed())
	other := newLimiter(t, one, "1/s burst 9", redislimit.Closed(), redislimit.WithPrefix("other:"))
	far := newLimiter(t, two, "1/s", redislimit.Closed(), redislimit.WithPrefix("far:"))
	for _, row := range []struct {
		views []redislimit.View
		want  string
	}{
		{nil, "nothing"},
		{[]redislimit.View{{}}, "no limiter"},
		{[]redislimit.View{l.For("a"), {}}, "no limiter"},
		{[]redislimit.View{l.For("a"), l.For("b")}, "slot"},
		{[]redislimit.View{l.For("{a}"), far.For("{a}")}, "client"},
		{[]redislimit.View{l.For("{a}"), same.For("{a}")}, "prefix"},
		{[]redislimit.View{l.For("a"), l.For("a")}, ""},
		{[]redislimit.View{l.For("{a}1"), other.For("{a}1"), same.For("{a}2")}, ""},
	} {
		_, err := redislimit.Join(row.views...)
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%d views: error %v, want one of %q", len(row.views), err, row.want)
		}
	}
	j, err := redislimit.Join(l.For("{a}1"), other.For("{a}1"), l.For("{a}1"))
	if err != nil {
		t.Fatal(err)
	}
	if d, err := j.Take(ctx, 2); err != nil || d.Granted() != 2 || d.Remaining() != 0 || d.Limit() != l.Limit() || j.Limit() != l.Limit() {
		t.Errorf("granted %d, %d left, error %v", d.Granted(), d.Remaining(), err)
	}
	if a, b := left(t, l, "{a}1"), left(t, other, "{a}1"); a != 1 || b != 7 {
		t.Errorf("%d and %d left, want 1 and 7", a, b)
	}
	if d, err := j.Take(ctx, 3); err != nil || d.Err() != gcra.ErrExceedsBurst {
		t.Errorf("twice 3 of a burst of 5: err %v, error %v", d.Err(), err)
	}
}

// TestSum takes from many goroutines and two processes' clients: every token is
// granted once.
func TestSum(t *testing.T) {
	mini := miniredis.RunT(t)
	for name, connect := range map[string]func() *redis.Client{
		"miniredis":    func() *redis.Client { return clientOf(t, "tcp", mini.Addr()) },
		"redis-server": newServer(t).client,
	} {
		const burst = 3000
		var granted, tries atomic.Int64
		var wg sync.WaitGroup
		var ls []*redislimit.Limiter
		for range 2 {
			ls = append(ls, newLimiter(t, connect(), "0/s burst 3000", redislimit.Closed()))
		}
		for i := range 8 {
			wg.Go(func() {
				rng, l := rand.New(rand.NewPCG(uint64(i), 0)), ls[i%2]
				for {
					n := 1 + rng.IntN(4)
					ask := l.TakeUpTo
					if i%4 > 1 {
						ask = l.Take
					}
					d, err := ask(ctx, "k", n)
					if err != nil {
						t.Error(err)
						return
					}
					tries.Add(1)
					granted.Add(int64(d.Granted()))
					if !d.OK() && n == 1 {
						return
					}
				}
			})
		}
		wg.Wait()
		if got := left(t, ls[0], "k"); granted.Load() != burst || got != 0 {
			t.Errorf("%s: %d of %d granted and %d left", name, granted.Load(), burst, got)
		}
	}
}

// TestExpiry: a key goes when its bucket is full and not before, by Redis' own time.
func TestExpiry(t *testing.T) {
	client := newServer(t).client()
	for _, row := range []struct {
		limit string
		take  int
		debt  int
	}{
		{"1/h burst 10", 1, 0}, {"1/h burst 10", 10, 10}, {"1/s burst 3", 3, 0}, {"1000/s burst 1000", 500, 0}, {"99/s burst 99", 98, 5},
		{"6/m burst 6 step 30s", 4, 0}, {"1/30d burst 3", 3, 3},
	} {
		l := newLimiter(t, client, row.limit, redislimit.Closed(), redislimit.WithPrefix(row.limit))
		if _, err := l.Take(ctx, "k", row.take); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Debit(ctx, "k", row.debt); err != nil {
			t.Fatal(err)
		}
		// Asked before, it does not go sooner than it is full, however long that
		// takes; asked after, not much later.
		before := must(t, client.PTTL(ctx, row.limit+"k"))
		d, err := l.Peek(ctx, "k", 0)
		after := must(t, client.PTTL(ctx, row.limit+"k"))
		if full := d.ResetAfter(); err != nil || before < full && full > 0 || after > full+time.Second+31*time.Second {
			t.Errorf("%s: it goes in %v or %v and is full in %v, error %v", row.limit, before, after, full, err)
		}
	}
	l := newLimiter(t, client, "0/s burst 3", redislimit.Closed(), redislimit.WithPrefix("never"))
	if d, err := l.Take(ctx, "k", 1); err != nil || d.ResetAfter() != gcra.Never || must(t, client.TTL(ctx, "neverk")) != -1 {
		t.Errorf("a one-time allowance goes in %v, error %v", must(t, client.TTL(ctx, "neverk")), err)
	}
	fast := newLimiter(t, client, "1000/s burst 20", redislimit.Closed(), redislimit.WithPrefix("fast"))
	if _, err := fast.Take(ctx, "k", 20); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		there := must(t, client.Exists(ctx, "fastk")) == 1
		d, err := fast.Peek(ctx, "k", 20)
		if err != nil {
			t.Fatal(err)
		}
		return !there && d.OK()
	})
	// After the burst was raised, keys that are not there lack what is new of it,
	// and who was charged is not forgotten before they are full.
	raised := newLimiter(t, client, "1/h burst 1", redislimit.Closed(), redislimit.WithPrefix("raised"))
	if err := raised.SetLimit(ctx, gcra.PerHour(1).Burst(100)); err != nil {
		t.Fatal(err)
	}
	if d, err := raised.Take(ctx, "k", 1); err != nil || !d.OK() || d.Remaining() != 0 {
		t.Errorf("err %v, %d left, error %v", d.Err(), d.Remaining(), err)
	}
	if ttl := must(t, client.PTTL(ctx, "raisedk")); ttl < 99*time.Hour {
		t.Errorf("forgotten in %v", ttl)
	}
	// A refusal, a Peek and a cost of 0 write nothing.
	if d, err := raised.Take(ctx, "new", 2); err != nil || d.OK() {
		t.Errorf("ok %v, error %v", d.OK(), err)
	}
	if _, err := raised.Take(ctx, "new", 0); err != nil {
		t.Error(err)
	}
	if must(t, client.Exists(ctx, "raisednew")) != 0 {
		t.Error("a refusal made a key")
	}
}

// TestClockBack lets a key's time go back, as after a failover to a server whose
// clock is behind: a little, and there is no credit until it has caught up; further
// than any bucket of this limit could be ahead, and what was missing is missing now.
func TestClockBack(t *testing.T) {
	mini := miniredis.RunT(t)
	now := 100 * time.Hour
	l, err := redislimit.NewVirtual(clientOf(t, "tcp", mini.Addr()), limitOf(t, "1/s burst 10"), redislimit.Closed(), func() time.Duration { return now }, redislimit.WithMaxWait(time.Minute), redislimit.WithMemory(0))
	if err != nil {
		t.Fatal(err)
	}
	check := func(at time.Duration, remaining int, retry time.Duration) {
		t.Helper()
		now = at
		if d, err := l.Peek(ctx, "k", 1); err != nil || d.Remaining() != remaining || d.RetryAfter() != retry {
			t.Errorf("at %v: %d left and one in %v, error %v; want %d, %v", at, d.Remaining(), d.RetryAfter(), err, remaining, retry)
		}
	}
	if _, err := l.Take(ctx, "k", 10); err != nil {
		t.Fatal(err)
	}
	check(now, 0, time.Second)
	check(100*time.Hour-30*time.Second, 0, 31*time.Second)
	check(100*time.Hour+time.Second, 1, 0)
	check(10*time.Hour, 0, time.Second)
	if _, err := l.Debit(ctx, "k", 1); err != nil {
		t.Fatal(err)
	}
	check(10*time.Hour+3*time.Second, 2, 0)
}
