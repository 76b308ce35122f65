package atomic_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
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
		{4 * ms, 0, 0, 0, "strict: the next interval starts at the wake-up"},
		{ms / 2, 0, 0, 0, "strict: by less than an interval too"},
		{4 * ms, ms, 1, 0, "strict: an interval after it there is a token"},
		{4 * ms, ms - 1, 0, 0, "strict: and not a nanosecond before"},
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

// In strict mode one loop, whatever it does between its waits, keeps to the
// limit in the instants at which it woke, however late its timers were: with a
// burst of 1 no gap is shorter than the interval.
func TestStrictKeepsEveryGap(t *testing.T) {
	for _, limit := range []gcra.Limit{
		gcra.PerSecond(1000),
		gcra.PerSecond(3),
		gcra.Per(999_999_937, 1000*time.Second),
		gcra.PerSecond(1000).Burst(5),
		gcra.PerSecond(1000).Burst(5).Start(0),
		gcra.PerSecond(1000).Burst(5).InSteps(2 * time.Millisecond),
	} {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 4))
			clk := &lateClock{start: time.Now()}
			l := gatomic.NewLimiter(limit, gatomic.WithClock(clk), gatomic.WithCatchUp(0))
			interval := limit.Interval()
			type grant struct {
				at time.Duration
				n  int
			}
			var grants []grant
			slept := 0
			for range 2000 {
				n := 1 + rng.IntN(limit.Capacity())
				late := time.AfterFunc(time.Nanosecond, func() {
					slept++
					clk.lateBy(time.Duration(rng.Int64N(int64(3 * interval))))
				})
				if err := l.WaitN(t.Context(), n); err != nil {
					t.Fatal(err)
				}
				late.Stop()
				grants = append(grants, grant{clk.Now(), n})
				sum := 0
				for i := len(grants) - 1; i >= max(0, len(grants)-50); i-- {
					sum += grants[i].n
					w := clk.Now() - grants[i].at
					if sum > limit.Within(w) {
						t.Fatalf("%v: %d tokens in the %v up to wait %d, want at most %d", limit, sum, w, len(grants), limit.Within(w))
					}
				}
				if i := len(grants) - 1; limit.Capacity() == 1 && i > 0 && grants[i].at-grants[i-1].at < interval-1 {
					t.Fatalf("%v: a gap of %v", limit, grants[i].at-grants[i-1].at)
				}
				if rng.IntN(4) == 0 {
					time.Sleep(time.Duration(rng.Int64N(int64(4 * interval))))
				}
			}
			if slept < 500 {
				t.Errorf("%v: only %d timers were late", limit, slept)
			}
		})
	}
}

// What is given up for that is the lateness and no more.
func TestStrictLosesOnlyTheLateness(t *testing.T) {
	pace(t, func(l *gatomic.Limiter, clk *lateClock) {
		l.Allow()
		start := clk.Now()
		for range 100 {
			sleepLate(t, l, clk, 300*time.Microsecond)
		}
		if got := clk.Now() - start; got != 130*time.Millisecond {
			t.Errorf("100 waits of 1 ms, each 300µs late, took %v, want 130ms", got)
		}
	}, gatomic.WithCatchUp(0))
}

// Who had booked before keeps his slot, although the one before him woke late.
func TestStrictKeepsBookedSlots(t *testing.T) {
	pace(t, func(l *gatomic.Limiter, clk *lateClock) {
		l.Allow()
		start := clk.Now()
		woke := make(chan time.Duration, 2)
		for range 2 {
			go func() {
				l.Wait(context.Background())
				woke <- clk.Now() - start
			}()
		}
		synctest.Wait()
		clk.lateBy(300 * time.Microsecond)
		first, second := <-woke, <-woke
		if want := 1300 * time.Microsecond; first != want || second != first+time.Millisecond {
			t.Errorf("woke at %v and %v, want %v and 1 ms later", first, second, want)
		}
		l.Wait(context.Background())
		if got := clk.Now() - start; got != second+time.Millisecond {
			t.Errorf("the next came at %v, want an interval after %v", got, second)
		}
	}, gatomic.WithCatchUp(0))
}

// Many waiters on one limiter get exactly its rate, each slot once.
func TestManyWaitersDeliverTheRate(t *testing.T) {
	const waiters, each = 64, 50
	for _, limit := range []gcra.Limit{
		gcra.PerSecond(1000), gcra.PerSecond(200_000), gcra.PerSecond(1000).Burst(64), gcra.PerSecond(7),
	} {
		for _, opts := range [][]gatomic.Option{nil, {gatomic.WithCatchUp(0)}, {gatomic.WithSpin(time.Millisecond)}} {
			synctest.Test(t, func(t *testing.T) {
				l := gatomic.NewLimiter(limit, opts...)
				start, woke := time.Now(), make(chan time.Duration, waiters*each)
				var wg sync.WaitGroup
				for range waiters {
					wg.Go(func() {
						for range each {
							if err := l.Wait(t.Context()); err != nil {
								t.Error(err)
							}
							woke <- time.Since(start)
						}
					})
				}
				wg.Wait()
				close(woke)
				var got []time.Duration
				for at := range woke {
					got = append(got, at)
				}
				slices.Sort(got)
				n, period := limit.Rate()
				for i, at := range got {
					past := time.Duration(max(i+1-limit.Capacity(), 0)) * period
					if want := (past + time.Duration(n) - 1) / time.Duration(n); at != want {
						t.Fatalf("%v: token %d came at %v, want %v", limit, i+1, at, want)
					}
				}
			})
		}
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

// calledOff is a context that ends when its Done is looked at for the last
// time: a spinning waiter looks each time round.
type calledOff struct {
	context.Context
	looks int // left; below 0 how often it was looked at after its end
	done  chan struct{}
}

func (c *calledOff) Done() <-chan struct{} {
	if c.looks--; c.looks == 0 {
		close(c.done)
	}
	return c.done
}

func (c *calledOff) Err() error {
	if c.looks <= 0 {
		return context.Canceled
	}
	return nil
}

// A spinning waiter ends at once with its context, and gives its tokens back.
func TestSpinEndsWithItsContext(t *testing.T) {
	clk := &lateClock{start: time.Now()}
	for _, looks := range []int{1, 2, 10_000} {
		l := gatomic.NewLimiter(gcra.PerHour(1), gatomic.WithSpin(2*time.Hour), gatomic.WithClock(clk))
		l.Allow()
		ctx := &calledOff{t.Context(), looks, make(chan struct{})}
		if err := l.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Wait = %v", err)
		}
		if ctx.looks != 0 {
			t.Errorf("looked %d more times at a context that had ended after %d", -ctx.looks, looks)
		}
		if d := l.Peek(1); d.RetryAfter() > time.Hour {
			t.Errorf("the next token comes in %v: the booking was not given back", d.RetryAfter())
		}
	}
}

// What spins does not come before its slot, whatever part of the wait it spins.
func TestSpinIsNotEarly(t *testing.T) {
	const interval = 200 * time.Microsecond
	for _, spin := range []time.Duration{1, interval / 2, interval, time.Hour} {
		l := gatomic.NewLimiter(gcra.Every(interval), gatomic.WithSpin(spin), gatomic.WithCatchUp(0))
		l.Allow()
		start := time.Now()
		for i := range time.Duration(5) {
			if err := l.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			// The slots count from before start.
			if got := time.Since(start); got < i*interval {
				t.Errorf("spin %v: wait %d ended after %v", spin, i+1, got)
			}
		}
	}
}
