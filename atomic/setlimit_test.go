package atomic_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// Law L5 is checked by the suite in stress; here is what it does not reach.

func TestRaisingALimitLocksNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := gatomic.NewLimiter(gcra.PerSecond(1).Burst(10))
		l.Take(10)
		l.SetLimit(gcra.PerSecond(100).Burst(10))
		start := time.Now()
		if err := l.Wait(t.Context()); err != nil || time.Since(start) != 10*time.Millisecond {
			t.Errorf("the next token came after %v, err %v; want 10ms", time.Since(start), err)
		}
	})
}

func TestChangesKeepDebt(t *testing.T) {
	for _, row := range []struct {
		to  []gcra.Limit
		pay time.Duration
		why string
	}{
		{[]gcra.Limit{gcra.PerSecond(100).Burst(10)}, 60 * time.Millisecond, "raised: nobody's debt is freed"},
		{[]gcra.Limit{gcra.PerMinute(1).Burst(10)}, 6 * time.Minute, "lowered"},
		{[]gcra.Limit{gcra.PerSecond(1).Burst(1)}, 6 * second, "a smaller burst"},
		{[]gcra.Limit{gcra.PerSecond(0).Burst(5), gcra.PerSecond(1).Burst(10)}, 6 * second, "by way of an allowance"},
		{[]gcra.Limit{{}, gcra.PerSecond(1).Burst(10)}, 6 * second, "by way of none"},
		{[]gcra.Limit{gcra.Unlimited(), gcra.PerSecond(1).Burst(10)}, 0, "unlimited pays it"},
		{[]gcra.Limit{gcra.PerSecond(3).Burst(9), gcra.PerSecond(0), gcra.PerSecond(1).Burst(2).InSteps(second), gcra.PerSecond(4)}, 1500 * time.Millisecond, "one after the other"},
	} {
		l, _ := aQueue(10)
		l.Debit(15) // five tokens below empty
		for _, limit := range row.to {
			l.SetLimit(limit)
		}
		if d := l.Peek(1); d.RetryAfter() != row.pay {
			t.Errorf("a token in %v, want %v: %s", d.RetryAfter(), row.pay, row.why)
		}
	}
}

func TestEqualLimitKeepsReservations(t *testing.T) {
	l, _ := aQueue(5)
	r := l.Reserve(5)
	for range 1000 {
		l.SetLimit(gcra.PerSecond(1).Burst(5))
	}
	if r.Cancel(); l.Peek(0).Remaining() != 5 {
		t.Errorf("%d tokens, want 5", l.Peek(0).Remaining())
	}
	if n := testing.AllocsPerRun(100, func() { l.SetLimit(gcra.PerSecond(1).Burst(5)) }); n != 0 {
		t.Errorf("an equal limit costs %v allocations", n)
	}
}

func TestSleepersKeepTheirSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := gatomic.NewLimiter(gcra.PerSecond(1))
		l.Allow()
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				if err := l.Wait(t.Context()); err != nil || time.Since(start) != time.Duration(i+1)*second {
					t.Errorf("waiter %d: %v after %v", i, err, time.Since(start))
				}
			})
			synctest.Wait()
		}
		l.SetLimit(gcra.PerSecond(10))
		// Their three tokens and its own are paid at the new rate.
		if err := l.Wait(t.Context()); err != nil || time.Since(start) != 400*time.Millisecond {
			t.Errorf("who comes after the change: %v after %v, want 400ms", err, time.Since(start))
		}
		wg.Wait()
	})
}

// Decisions of every kind are stopped between their reading of the clock and
// what they do with it, while the limit changes twice, time passes and others
// take. Each is one of the serial order: after the changes.
func TestStaleDecidersAcrossTwoChanges(t *testing.T) {
	for _, row := range []struct {
		name string
		ask  func(l *gatomic.Limiter) int // tokens that it took
	}{
		{"AllowN", func(l *gatomic.Limiter) int { return granted(l.AllowN(2), 2) }},
		{"Take", func(l *gatomic.Limiter) int { return l.Take(2).Granted() }},
		{"TakeUpTo", func(l *gatomic.Limiter) int { return l.TakeUpTo(9).Granted() }},
		{"Debit", func(l *gatomic.Limiter) int { return l.Debit(2).Granted() }},
		{"Reserve", func(l *gatomic.Limiter) int { r := l.Reserve(2); return granted(r.OK(), 2) }},
		{"WaitN", func(l *gatomic.Limiter) int { return granted(l.WaitN(t.Context(), 2) == nil, 2) }},
		{"Peek", func(l *gatomic.Limiter) int { l.Peek(2); return 0 }},
		{"Reset", func(l *gatomic.Limiter) int { l.Reset(); return 0 }},
		{"a cancelled Reserve", func(l *gatomic.Limiter) int { r := l.Reserve(2); r.Cancel(); return 0 }},
	} {
		for _, between := range []gcra.Limit{gcra.Every(4 * second).Burst(10), gcra.PerSecond(0).Burst(10), gcra.PerSecond(7).Burst(10)} {
			meanwhile := func(l *gatomic.Limiter, clk *hookClock) {
				l.Take(2)
				l.SetLimit(between)
				clk.Advance(20 * second)
				l.TakeUpTo(2)
				l.SetLimit(gcra.PerSecond(1).Burst(10))
			}
			l, clk := aQueue(10)
			l.Take(4)
			clk.hooks = append(clk.hooks, func() { meanwhile(l, clk) })
			quiet, again := aQueue(10) // what it would be without the decision that was stopped
			quiet.Take(4)
			meanwhile(quiet, again)
			before := int(quiet.Peek(1).ResetAfter() / second)
			took := row.ask(l)
			if row.name == "Reset" {
				if got := l.Peek(0).Remaining(); got != 10 {
					t.Errorf("%s across %v: %d tokens, want 10", row.name, between, got)
				}
				continue
			}
			if got := int(l.Peek(1).ResetAfter() / second); got != before+took {
				t.Errorf("%s across %v: %d tokens are missing, want %d and the %d that it took", row.name, between, got, before, took)
			}
		}
	}
}

func granted(ok bool, n int) int {
	if ok {
		return n
	}
	return 0
}

// TestSetLimitWhileThousandsDecide: the clock stands still, so what a thousand
// goroutines get while the limit changes under them is what was there.
func TestSetLimitWhileThousandsDecide(t *testing.T) {
	const deciders, burst = 1000, 500
	limits := []gcra.Limit{
		gcra.PerSecond(1000).Burst(burst), gcra.PerSecond(250).Burst(burst), gcra.Per(0, second).Burst(burst),
		gcra.PerSecond(500).Burst(burst).InSteps(4 * time.Millisecond), gcra.Every(3 * time.Millisecond).Burst(burst), gcra.PerSecond(99).Burst(burst),
	}
	for round := range 5 {
		var clk clock.Manual
		l := gatomic.NewLimiter(limits[round%len(limits)], gatomic.WithClock(&clk))
		l.Take(burst / 5)
		there := l.Peek(0).Remaining()
		var got atomic.Int64
		var over atomic.Bool
		var wg, setter sync.WaitGroup
		changed := 0
		setter.Go(func() {
			for i := 0; !over.Load() || changed < 100; i++ {
				l.SetLimit(limits[i%len(limits)])
				changed++
				runtime.Gosched()
			}
		})
		for range deciders {
			wg.Go(func() {
				for range 5 {
					got.Add(int64(l.TakeUpTo(1).Granted()))
					runtime.Gosched()
				}
			})
		}
		wg.Wait()
		over.Store(true)
		setter.Wait()
		if got.Load() != int64(there) {
			t.Fatalf("round %d: %d tokens granted in one instant with %d changes, %d were there", round, got.Load(), changed, there)
		}
	}
}
