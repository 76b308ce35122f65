package atomic_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// lateCtx has a deadline that has passed, and its timer has not told it yet.
type lateCtx struct{ context.Context }

func (lateCtx) Deadline() (time.Time, bool) { return time.Now().Add(-time.Nanosecond), true }

func TestDeadlineThatPassedUntold(t *testing.T) {
	l := gatomic.NewLimiter(gcra.PerHour(1))
	if err := l.Wait(lateCtx{t.Context()}); !errors.Is(err, context.DeadlineExceeded) || !l.Allow() {
		t.Errorf("Wait = %v, and then a token is there: %v", err, l.Allow())
	}
}

// slowCtx is done, and tells so only after the slot has come too.
type slowCtx struct {
	context.Context
	done  chan struct{}
	asked bool
}

func (c *slowCtx) Err() error {
	if c.asked {
		return context.Canceled
	}
	return nil
}

func (c *slowCtx) Done() <-chan struct{} {
	c.asked = true
	time.Sleep(2 * time.Second)
	return c.done
}

func TestSlotWinsTie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 40 { // a select chooses among what is ready
			l := gatomic.NewLimiter(gcra.PerSecond(1))
			l.Allow()
			c := &slowCtx{Context: t.Context(), done: make(chan struct{})}
			close(c.done)
			if err := l.Wait(c); err != nil {
				t.Fatalf("slot and context were both there: %v", err)
			}
		}
	})
}

// slowClock is the bubble's time. Who reads it is descheduled after the reading
// for as long as lag.
type slowClock struct {
	start time.Time
	lag   time.Duration
}

func (c *slowClock) Now() time.Duration {
	defer time.Sleep(c.lag)
	return time.Since(c.start)
}

// The jitter used to be cut to a deadline that was a moment too late, and then
// the context's end took away a token whose slot had come.
func TestJitterLosesNoToken(t *testing.T) {
	for _, end := range []time.Duration{time.Second + 2*time.Millisecond, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			clk := &slowClock{start: time.Now()}
			l := gatomic.NewLimiter(gcra.PerSecond(1), gatomic.WithClock(clk), gatomic.WithJitter(1000*time.Hour))
			l.Allow()
			ctx, cancel := context.WithTimeout(t.Context(), end)
			defer cancel()
			clk.lag = time.Millisecond
			start := time.Now()
			if err := l.Wait(ctx); err != nil || time.Since(start) > end {
				t.Errorf("the slot came before the deadline in %v: %v after %v", end, err, time.Since(start))
			}
		})
	}
}

// Who was late to replace a dead cell leaves the one that is there.
func TestDeadCellIsReplacedOnce(t *testing.T) {
	for _, row := range []struct {
		end func(l *gatomic.Limiter)
		why string
	}{
		{(*gatomic.Limiter).Reset, "dead"},
		{func(l *gatomic.Limiter) { l.Take(2); l.Reset(); l.Peek(1); l.Take(2); l.Reset() }, "the second of two"},
	} {
		l, clk := aQueue(2)
		l.Take(2)
		row.end(l)
		// The second reading is the one of the replacement.
		clk.hooks = append(clk.hooks, nil, func() { l.Take(2) })
		if l.Allow() || len(clk.hooks) > 0 {
			t.Errorf("a charge was lost to a second replacement: %s", row.why)
		}
	}
}

// An engine that is made between two steps keeps to the steps of the clock.
func TestStepsFromTheClocksEpoch(t *testing.T) {
	var clk clock.Manual
	clk.Set(second)
	l := gatomic.NewLimiter(gcra.Per(6, 3*second).Burst(10).InSteps(3*second), gatomic.WithClock(&clk))
	for _, row := range []struct {
		n, granted, left int
		why              string
	}{
		{3, 3, 7, "of 10"},
		{5, 5, 2, "the step has not come"},
		{7, 7, 1, "at 3 s six tokens have come"},
		{9, 1, 0, "what is there"},
	} {
		d := l.TakeUpTo(row.n)
		if d.Granted() != row.granted || d.Remaining() != row.left {
			t.Errorf("at %v: granted %d of %d, left %d; want %d and %d: %s",
				clk.Now(), d.Granted(), row.n, d.Remaining(), row.granted, row.left, row.why)
		}
		clk.Advance(second)
	}
}

// TestCatchUp says what a lateness is worth at once; here is when it ends,
// while somebody keeps the key's TAT so near that its age alone decides.
func TestLatenessEnds(t *testing.T) {
	const ms = time.Millisecond
	// idle lets the key rest for d in all, and lie 3 ms behind at the end.
	idle := func(d time.Duration) func(*gatomic.Limiter) {
		return func(l *gatomic.Limiter) {
			time.Sleep(d - 3*ms)
			l.Allow()
			time.Sleep(3 * ms)
		}
	}
	for _, row := range []struct {
		late time.Duration
		then func(l *gatomic.Limiter)
		want int // waits that pass at once then
		why  string
	}{
		{4 * ms, idle(8 * ms), 3, "2 ms behind, 8 ms after a lateness of 4"},
		{4 * ms, idle(10 * ms), 3, "the same, 10 ms after: one catch-up"},
		{4 * ms, idle(10*ms + 1), 1, "the same, a nanosecond later"},
		{4 * ms, idle(11 * ms), 1, "the same, 11 ms after"},
		{4 * ms, idle(time.Hour), 1, "the same, an hour after"},
		{ms, idle(8 * ms), 1, "2 ms behind, and late by one"},
		{11 * ms, func(*gatomic.Limiter) {}, 11, "behind by 10 ms, the default catch-up"},
		{11*ms + 1, func(*gatomic.Limiter) {}, 1, "behind by more"},
		{50 * ms, idle(8 * ms), 3, "more than the catch-up counts as that: here it is enough"},
		{4 * ms, func(l *gatomic.Limiter) {
			time.Sleep(2 * ms)
			l.Allow()
			l.Wait(context.Background())
			time.Sleep(3 * ms)
		}, 1, "a timer that was on time clears it"},
	} {
		pace(t, func(l *gatomic.Limiter, clk *lateClock) {
			l.Allow()
			sleepLate(t, l, clk, row.late)
			row.then(l)
			if got := burst(t, l); got != row.want {
				t.Errorf("late by %v: %d waits passed at once, want %d: %s", row.late, got, row.want, row.why)
			}
		})
	}
}
