package atomic_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
)

// lateClock is the bubble's time, and later by lag: in a bubble timers are
// never late, so the clock runs ahead of them instead.
type lateClock struct {
	start time.Time
	lag   atomic.Int64
}

func (c *lateClock) Now() time.Duration {
	return time.Since(c.start) + time.Duration(c.lag.Load())
}

// lateBy makes every waiter that sleeps now wake late.
func (c *lateClock) lateBy(d time.Duration) { c.lag.Add(int64(d)) }

// pace runs f in a bubble with a limiter of 1000/s and a clock that can run
// late.
func pace(t *testing.T, f func(l *gatomic.Limiter, clk *lateClock), opts ...gatomic.Option) {
	synctest.Test(t, func(*testing.T) {
		clk := &lateClock{start: time.Now()}
		f(gatomic.NewLimiter(gcra.PerSecond(1000), append(opts, gatomic.WithClock(clk))...), clk)
	})
}

// sleepLate waits once, and the timer is late by d.
func sleepLate(t *testing.T, l *gatomic.Limiter, clk *lateClock, d time.Duration) {
	t.Helper()
	stop := time.AfterFunc(time.Nanosecond, func() { clk.lateBy(d) })
	defer stop.Stop()
	before := time.Now()
	if err := l.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	if time.Since(before) < time.Nanosecond {
		t.Fatal("the wait did not sleep, so nothing was late")
	}
}

// burst counts the waits that pass without sleeping.
func burst(t *testing.T, l *gatomic.Limiter) (n int) {
	t.Helper()
	for {
		before := time.Now()
		if err := l.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
		if time.Since(before) > 0 {
			return n
		}
		n++
	}
}

func TestCatchUp(t *testing.T) {
	const ms = time.Millisecond
	for _, row := range []struct {
		late    time.Duration
		idle    time.Duration // after the late wake-up
		want    int           // waits that pass at once then
		catchUp time.Duration
		why     string
	}{
		{0, 0, 0, 10 * ms, "a timer that is not late owes nothing"},
		{4 * ms, 0, 4, 10 * ms, "4 ms late is four slots"},
		{4 * ms, ms / 2, 4, 10 * ms, "as long as the key lies behind by no more than that"},
		{4 * ms, 2 * ms, 1, 10 * ms, "the key lies 5 ms behind, more than the timer was late: its schedule is gone"},
		{25 * ms, 0, 1, 10 * ms, "25 ms late is more than the catch-up: the schedule is gone"},
		{4 * ms, 11 * ms, 1, 10 * ms, "one catch-up later the lateness is forgotten: an idle pause is credited nothing"},
		{4 * ms, time.Hour, 1, 10 * ms, "nor a long one"},
		{4 * ms, 0, 1, 0, "strict: only the token of the time since"},
		{4 * ms, 0, 1, 2 * ms, "late by more than this catch-up"},
	} {
		pace(t, func(l *gatomic.Limiter, clk *lateClock) {
			l.Allow()
			sleepLate(t, l, clk, row.late)
			time.Sleep(row.idle)
			if got := burst(t, l); got != row.want {
				t.Errorf("late by %v, idle for %v, catch-up %v: %d waits passed at once, want %d: %s",
					row.late, row.idle, row.catchUp, got, row.want, row.why)
			}
		}, gatomic.WithCatchUp(row.catchUp))
	}
}

// One loop that does nothing else gets the whole rate although every timer is
// late, by any lateness within the catch-up.
func TestLateTimersDeliverTheRate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pace(t, func(l *gatomic.Limiter, clk *lateClock) {
		const waits = 5000
		begin := clk.Now()
		for range waits {
			late := time.AfterFunc(time.Nanosecond, func() { clk.lateBy(time.Duration(rng.IntN(9_000_000))) })
			l.Wait(context.Background())
			late.Stop()
		}
		// The last slot is at waits−1 intervals, entered at most 9 ms late.
		if got := clk.Now() - begin; got < (waits-1)*time.Millisecond || got > (waits-1)*time.Millisecond+9*time.Millisecond {
			t.Errorf("%d waits at 1000/s took %v", waits, got)
		}
	})
}

// Take does not keep to the schedule: only a waiter's own timers were late.
func TestTakeIsNotCaughtUp(t *testing.T) {
	pace(t, func(l *gatomic.Limiter, clk *lateClock) {
		l.Allow()
		sleepLate(t, l, clk, 4*time.Millisecond)
		n := 0
		for l.Allow() {
			n++
		}
		if n != 1 {
			t.Errorf("Take got %d tokens after a late wake-up, want 1: burst is 1", n)
		}
	})
}
