package shard_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What every engine must do is checked by the suite in stress; here is what is
// this package's own.

func TestOptionsPanicOnNonsense(t *testing.T) {
	for _, row := range []struct {
		make func()
		why  string
	}{
		{func() { shard.WithClock(nil) }, "no clock"},
		{func() { shard.WithCatchUp(-1) }, "a negative catch-up"},
		{func() { shard.WithSpin(-1) }, "a negative spin"},
		{func() { shard.WithJitter(-1) }, "a negative jitter"},
		{func() { shard.WithMaxWait(-1) }, "a negative wait"},
		{func() { shard.WithShards(0) }, "no shard"},
		{func() { shard.WithShards(1<<16 + 1) }, "more shards than there is any use for"},
		{func() { shard.WithMaxKeys(0, shard.Refuse) }, "a cap of no keys"},
		{func() { shard.WithMaxKeys(1, shard.Admit+1) }, "a policy that there is not"},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic: %s", row.why)
				}
			}()
			row.make()
		}()
	}
}

func TestShardCounts(t *testing.T) {
	for _, n := range []int{1, 2, 3, 64, 100, 1 << 10} {
		l := shard.New[int](gcra.PerHour(1), shard.WithShards(n))
		for key := range 500 {
			if !l.Allow(key) || l.Allow(key) {
				t.Fatalf("%d shards: key %d was not limited by its own bucket", n, key)
			}
		}
		if l.Len() != 500 {
			t.Errorf("%d shards: %d keys remembered, want 500", n, l.Len())
		}
	}
}

// keysOf checks one type of key: two keys, each with its own bucket.
func keysOf[K comparable](t *testing.T, a, b K) {
	t.Helper()
	l := shard.New[K](gcra.PerHour(1))
	if !l.Allow(a) || !l.Allow(b) || l.Allow(a) || l.Allow(b) {
		t.Errorf("%T: keys %v and %v do not have a bucket each", a, a, b)
	}
	if n := testing.AllocsPerRun(100, func() { l.Allow(a) }); n != 0 {
		t.Errorf("%T: %v allocations a decision", a, n)
	}
}

func TestKeyTypes(t *testing.T) {
	keysOf(t, "a", "b")
	keysOf(t, "", "\x00")
	keysOf(t, 1, 2)
	keysOf(t, 1.5, math.Inf(1))
	keysOf(t, [16]byte{1}, [16]byte{15: 1})
	keysOf(t, netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/9"))
	keysOf(t, struct {
		tenant string
		id     int
	}{"a", 1}, struct {
		tenant string
		id     int
	}{"a", 2})
	keysOf[any](t, "1", 1)
	keysOf(t, new(int), new(int))
}

// A key that is not equal to itself cannot be found again: it gets the policy.
func TestNaN(t *testing.T) {
	nan := math.NaN()
	for _, row := range []struct {
		policy shard.Policy
		want   bool
	}{{shard.Refuse, false}, {shard.Admit, true}} {
		l := shard.New[float64](gcra.PerSecond(1), shard.WithMaxKeys(1000, row.policy))
		for range 100 {
			if got := l.Allow(nan); got != row.want {
				t.Errorf("policy %d: Allow(NaN) = %v", row.policy, got)
			}
		}
		if s := l.Stats(); s.Keys != 0 || s.Capped != 100 {
			t.Errorf("policy %d: %d keys remembered and %d turned away, want 0 and 100", row.policy, s.Keys, s.Capped)
		}
		if err := l.WaitN(t.Context(), nan, 1); (err == nil) != row.want {
			t.Errorf("policy %d: Wait(NaN) = %v", row.policy, err)
		}
	}
	if shard.New[float64](gcra.PerSecond(1)).Allow(nan) {
		t.Error("without a cap NaN is refused, as by default")
	}
}

// What cannot be compared panics as in a map, and leaves no lock held.
func TestKeyThatPanics(t *testing.T) {
	l := shard.New[any](gcra.PerHour(1), shard.WithShards(1))
	for range 3 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a slice was taken for a key")
				}
			}()
			l.Allow([]int{1})
		}()
	}
	if !l.Allow("a") || l.Sweep() != 0 || l.Len() != 1 {
		t.Error("the limiter is not usable after a key that panics")
	}
}

// At the cap, Admit lets pass what may go at once and refuses to queue: all
// the waiters whose slots nobody stores would wake together.
func TestAdmitDoesNotQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := gcra.PerSecond(1).Burst(2).Start(1)
		l := shard.New[string](limit, shard.WithMaxKeys(1, shard.Admit))
		l.Take("first", 1)
		if err := l.WaitN(t.Context(), "second", 1); err != nil {
			t.Errorf("a wait that could go at once: %v", err)
		}
		if err := l.WaitN(t.Context(), "second", 2); !errors.Is(err, gcra.ErrLimited) {
			t.Errorf("a wait that could not go at once: %v, want ErrLimited", err)
		}
		if s := l.Stats(); s.Capped != 2 || s.Keys != 1 {
			t.Errorf("capped %d, keys %d; want 2 and 1", s.Capped, s.Keys)
		}
	})
}

// A wait by a key that has no cell books in the cell it makes.
func TestWaitOfNewKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := shard.New[int](gcra.PerSecond(1).Start(0), shard.WithStats())
		start := time.Now()
		var wg sync.WaitGroup
		for key := range 10 {
			wg.Go(func() {
				for i := range 3 {
					if err := l.Wait(t.Context(), key); err != nil {
						t.Error(err)
					}
					if got, want := time.Since(start), time.Duration(i+1)*time.Second; got != want {
						t.Errorf("key %d: wait %d ended at %v, want %v", key, i, got, want)
					}
				}
			})
		}
		wg.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := l.Wait(ctx, 99); !errors.Is(err, nil) {
			t.Errorf("a full bucket: %v", err)
		}
		if err := l.Wait(ctx, 99); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an empty one: %v", err)
		}
		want := shard.Stats{Keys: 11, Granted: 31, Refused: 1, Waited: 30, WaitMicros: 30_000_000}
		if s := l.Stats(); s != want {
			t.Errorf("stats %+v, want %+v", s, want)
		}
	})
}

func TestCancelAfterReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := shard.New[int](gcra.PerSecond(1))
		l.Allow(1)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { l.Wait(ctx, 1) })
		synctest.Wait()
		l.Reset(1)
		if !l.Allow(1) {
			t.Error("a reset key does not have a full bucket")
		}
		cancel()
		wg.Wait()
		if d := l.Peek(1, 1); d.RetryAfter() != time.Second {
			t.Errorf("the next token comes in %v, want 1s: a booking from before the reset was given back after it", d.RetryAfter())
		}
	})
}

func TestStats(t *testing.T) {
	var clk clock.Manual
	l := shard.New[string](gcra.PerSecond(1).Burst(2), shard.WithClock(&clk), shard.WithStats())
	for range 5 {
		l.Allow("a")
	}
	l.TakeUpTo("b", 9)
	l.AllowN("b", 9)
	l.Peek("c", 1)
	if got, want := l.Stats(), (shard.Stats{Keys: 2, Granted: 3, Refused: 4, Invalid: 1}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
	clk.Advance(2 * time.Second)
	l.Sweep()
	if got, want := l.Stats(), (shard.Stats{Granted: 3, Refused: 4, Invalid: 1, Forgotten: 2}); got != want {
		t.Errorf("after a sweep %+v, want %+v", got, want)
	}
}

func TestAll(t *testing.T) {
	var clk clock.Manual
	l := shard.New[string](gcra.PerSecond(1).Burst(5), shard.WithClock(&clk))
	want := map[string]int{}
	for i := range 5 {
		key := fmt.Sprint("key ", i)
		l.Take(key, i+1)
		want[key] = 5 - (i + 1)
	}
	l.Take("reset", 3)
	l.Reset("reset")
	got := map[string]int{}
	for key, d := range l.All() {
		got[key] = d.Remaining()
		l.Allow("the loop may use the limiter")
	}
	delete(got, "the loop may use the limiter")
	if !maps.Equal(got, want) {
		t.Errorf("All gave %v, want %v", got, want)
	}
	for range l.All() {
		break
	}
}

func TestViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := shard.New[string](gcra.PerSecond(1))
		a, b := l.For("a"), l.For("b")
		if a == b || a != l.For("a") {
			t.Error("views are not equal exactly if limiter and key are")
		}
		start := time.Now()
		if !a.Allow() || a.Allow() || a.Wait(t.Context()) != nil || time.Since(start) != time.Second || !b.Allow() {
			t.Error("a view does not do what its limiter does for the key")
		}
		if n := testing.AllocsPerRun(10, func() { a.Allow() }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func TestResetKeepsWhatIsBetter(t *testing.T) {
	var clk clock.Manual
	l := shard.New[string](gcra.PerSecond(1).Burst(10).Start(2), shard.WithClock(&clk))
	for _, row := range []struct {
		do   func()
		want int
		why  string
	}{
		{func() { l.Reset("a") }, 2, "a key never seen starts with 2"},
		{func() { l.Take("a", 2); l.Reset("a") }, 2, "reset is a key never seen"},
		{func() { clk.Advance(3 * time.Second); l.Take("a", 1); l.Reset("a") }, 5, "which has gained 3 meanwhile"},
		{func() { l.Reset("a"); l.Reset("a") }, 5, "twice is once"},
	} {
		row.do()
		if got := l.Peek("a", 0).Remaining(); got != row.want {
			t.Errorf("%d tokens, want %d: %s", got, row.want, row.why)
		}
	}
	if keys := slices.Collect(maps.Keys(maps.Collect(l.All()))); len(keys) > 1 {
		t.Errorf("keys %v", keys)
	}
}
