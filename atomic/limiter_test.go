package atomic_test

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What every engine must do is checked by the suite in stress; here is what is
// this package's own.

func TestOptionsPanicOnNonsense(t *testing.T) {
	for _, row := range []struct {
		make func()
		why  string
	}{
		{func() { gatomic.WithClock(nil) }, "no clock"},
		{func() { gatomic.WithCatchUp(-1) }, "a negative catch-up"},
		{func() { gatomic.WithSpin(-1) }, "a negative spin"},
		{func() { gatomic.WithJitter(-1) }, "a negative jitter"},
		{func() { gatomic.WithMaxWait(-1) }, "a negative wait"},
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

func TestMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := gatomic.NewLimiter(gcra.PerSecond(1).Burst(3), gatomic.WithMaxWait(2*time.Second))
		l.Take(3)
		start := time.Now()
		for _, row := range []struct {
			n     int
			want  error
			delay time.Duration
			why   string
		}{
			{3, gcra.ErrLimited, 3 * time.Second, "three tokens are 3 s away"},
			{2, nil, 0, "two are 2 s away, which is not more than 2 s"},
		} {
			err := l.WaitN(t.Context(), row.n)
			if !errors.Is(err, row.want) {
				t.Errorf("WaitN(%d) = %v, want %v: %s", row.n, err, row.want, row.why)
			}
			if refused := new(gatomic.WaitError); errors.As(err, &refused) && refused.Delay != row.delay {
				t.Errorf("WaitN(%d) was refused for %v, want %v", row.n, refused.Delay, row.delay)
			}
		}
		if got := time.Since(start); got != 2*time.Second {
			t.Errorf("waited %v in all, want 2s: a refusal comes at once and books nothing", got)
		}
	})
}

func TestWaitErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, row := range []struct {
			limit gcra.Limit
			ctx   context.Context
			max   time.Duration
			want  error
			why   string
		}{
			{gcra.PerHour(1), soon, gcra.Never, context.DeadlineExceeded, "the deadline is before the slot"},
			{gcra.PerHour(1), soon, time.Minute, gcra.ErrLimited, "both are, and the limiter's own bound is named"},
			{gcra.PerDay(0), soon, gcra.Never, gcra.ErrLimited, "no deadline would do: nothing refills"},
			{gcra.PerDay(0), t.Context(), gcra.Never, gcra.ErrLimited, "nobody can wait for what never comes"},
			{gcra.Limit{}, t.Context(), gcra.Never, gcra.ErrExceedsBurst, "the zero limit has no burst"},
		} {
			l := gatomic.NewLimiter(row.limit, gatomic.WithMaxWait(row.max))
			l.Take(1)
			err := l.Wait(row.ctx)
			if !errors.Is(err, row.want) {
				t.Errorf("%v: Wait = %v, want %v: %s", row.limit, err, row.want, row.why)
			}
			// As who does not unwrap asks: net/http, and os.IsTimeout.
			late, ok := err.(net.Error)
			if timeout := row.want == context.DeadlineExceeded; ok && late.Timeout() != timeout || os.IsTimeout(err) != timeout {
				t.Errorf("%v: %v as a timeout: %v, want %v: %s", row.limit, err, os.IsTimeout(err), timeout, row.why)
			}
		}
	})
}

func TestUnlimitedNeverWaits(t *testing.T) {
	l := gatomic.NewLimiter(gcra.Unlimited(), gatomic.WithMaxWait(0))
	for range 1000 {
		if err := l.WaitN(t.Context(), 1<<30); err != nil {
			t.Fatal(err)
		}
	}
}

// A waiter that gives up after a reset must not take tokens back that others
// have taken since: its cell is dead.
func TestCancelAfterReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := gatomic.NewLimiter(gcra.PerSecond(1))
		l.Allow()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { l.Wait(ctx) })
		synctest.Wait()
		l.Reset()
		if !l.Allow() {
			t.Error("a reset bucket is not full")
		}
		cancel()
		wg.Wait()
		if d := l.Peek(1); d.RetryAfter() != time.Second {
			t.Errorf("the next token comes in %v, want 1s: a booking from before the reset was given back after it", d.RetryAfter())
		}
	})
}

func TestResetWhileCharged(t *testing.T) {
	var clk clock.Manual
	l := gatomic.NewLimiter(gcra.PerSecond(1).Burst(5), gatomic.WithClock(&clk))
	var wg sync.WaitGroup
	const resets = 2000
	granted := make([]int, 2)
	for i := range granted {
		wg.Go(func() {
			for range 5 * resets {
				if l.Allow() {
					granted[i]++
				}
			}
		})
	}
	wg.Go(func() {
		for range resets {
			l.Reset()
		}
	})
	wg.Wait()
	if total := granted[0] + granted[1]; total > 5*(resets+1) {
		t.Errorf("%d tokens granted with %d resets of a burst of 5", total, resets)
	}
	l.Reset()
	if d := l.Take(5); !d.OK() || l.Allow() {
		t.Errorf("after a reset 5 tokens are there and no more; Take(5) = %v", d.Err())
	}
}

func TestJitterKeepsSlotsAndDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const jitter = 300 * time.Millisecond
		l := gatomic.NewLimiter(gcra.PerSecond(1), gatomic.WithJitter(jitter))
		l.Allow()
		start, spread := time.Now(), map[time.Duration]bool{}
		for slot := time.Second; slot <= 50*time.Second; slot += time.Second {
			ctx, cancel := context.WithDeadline(t.Context(), start.Add(slot+jitter/2))
			if err := l.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
			late := time.Since(start) - slot
			if late < 0 || late > jitter/2 {
				t.Fatalf("the slot at %v was entered %v late, want 0 to the deadline's %v", slot, late, jitter/2)
			}
			spread[late] = true
			time.Sleep(slot + 500*time.Millisecond - time.Since(start)) // the next asks at the same phase
		}
		if len(spread) < 10 {
			t.Errorf("50 waits were spread over %d instants", len(spread))
		}
	})
}

// In a bubble time stands still while a goroutine runs, so that spinning would
// not end; the spinner notices and sleeps.
func TestSpinEndsInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := gatomic.NewLimiter(gcra.PerSecond(1), gatomic.WithSpin(time.Minute))
		start := time.Now()
		for range 3 {
			if err := l.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := time.Since(start); got != 2*time.Second {
			t.Errorf("three waits took %v, want 2s", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Wait = %v", err)
		}
	})
}

// The end of the range: the clock stays there, nothing refills, nothing wraps.
func TestEndOfRange(t *testing.T) {
	var clk clock.Manual
	l := gatomic.NewLimiter(gcra.Per(64, time.Nanosecond).Burst(1<<30), gatomic.WithClock(&clk))
	clk.Set(gcra.Never)
	if d := l.Take(1 << 30); !d.OK() {
		t.Fatalf("a full bucket at the end of the range: %v", d.Err())
	}
	d := l.Take(1)
	if d.OK() || d.RetryAfter() != gcra.Never {
		t.Errorf("after the end of the range: ok %v, retry after %v; want a refusal for ever", d.OK(), d.RetryAfter())
	}
	if err := l.Wait(t.Context()); !errors.Is(err, gcra.ErrLimited) {
		t.Errorf("Wait = %v, want ErrLimited", err)
	}
}

// Epochs may lie anywhere, and readings before the first count as the first.
func TestEpochs(t *testing.T) {
	for _, row := range []struct {
		first, second time.Duration
		want          bool
		why           string
	}{
		{-gcra.Never, gcra.Never, true, "the difference is beyond a Duration"},
		{-time.Hour, -time.Hour + time.Second, true, "an epoch in the future"},
		{time.Hour, time.Hour + time.Second - 1, false, "a nanosecond too early"},
		{time.Hour, 0, false, "a reading from before the first"},
		{gcra.Never, -gcra.Never, false, "far before the first"},
	} {
		clk := &twoReadings{row.first, row.second, 2}
		l := gatomic.NewLimiter(gcra.PerSecond(1), gatomic.WithClock(clk))
		clk.left = 1
		l.Allow()
		if got := l.Allow(); got != row.want {
			t.Errorf("emptied at %v, asked at %v: %v, want %v: %s", row.first, row.second, got, row.want, row.why)
		}
	}
}

// twoReadings shows the first reading left times, then the second.
type twoReadings struct {
	first, second time.Duration
	left          int
}

func (c *twoReadings) Now() time.Duration {
	if c.left > 0 {
		c.left--
		return c.first
	}
	return c.second
}
