package atomic_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

const second = time.Second

// hookClock runs a hook once, inside a reading and after it was taken: so a
// test can put anything between a reading and what follows from it.
type hookClock struct {
	clock.Manual
	hooks []func() // of the readings to come; nil for none
}

func (c *hookClock) Now() time.Duration {
	now := c.Manual.Now()
	if len(c.hooks) > 0 {
		hook := c.hooks[0]
		if c.hooks = c.hooks[1:]; hook != nil {
			hook()
		}
	}
	return now
}

// aQueue returns a limiter of one token a second whose clock is moved by hand.
func aQueue(burst int, opts ...gatomic.Option) (*gatomic.Limiter, *hookClock) {
	clk := new(hookClock)
	return gatomic.NewLimiter(gcra.PerSecond(1).Burst(burst), append(opts, gatomic.WithClock(clk))...), clk
}

func TestCancelOfTheEarlierBookingHandsNoSlotOutTwice(t *testing.T) {
	l, _ := aQueue(1)
	l.Take(1)
	first, second := l.Reserve(1), l.Reserve(1)
	first.Cancel()
	if third := l.Reserve(1); first.Delay() != 1e9 || second.Delay() != 2e9 || third.Delay() != 3e9 {
		t.Errorf("slots in %v, %v and, with the first cancelled, %v; want 1s, 2s, 3s", first.Delay(), second.Delay(), third.Delay())
	}
}

func TestCancelAfterTheRefillGrantsNothingExtra(t *testing.T) {
	for _, row := range []struct {
		after time.Duration
		want  int
		why   string
	}{
		{0, 5, "at once: whole"},
		{2 * second, 5, "two are refilled, and three come back"},
		{5 * second, 5, "all is refilled: nothing comes back"},
		{time.Hour, 5, "nor much later"},
	} {
		l, clk := aQueue(5)
		r := l.Reserve(5)
		clk.Advance(row.after)
		if r.Cancel(); l.Peek(0).Remaining() != row.want {
			t.Errorf("cancelled after %v: %d tokens, want %d: %s", row.after, l.Peek(0).Remaining(), row.want, row.why)
		}
		// Others have taken what was refilled: it must not come again.
		l, clk = aQueue(5)
		r = l.Reserve(5)
		clk.Advance(row.after)
		taken := l.TakeUpTo(5).Granted()
		r.Cancel()
		if got := taken + l.TakeUpTo(5).Granted(); got > 5 {
			t.Errorf("cancelled after %v, with %d taken by others: %d tokens in one instant", row.after, taken, got)
		}
	}
}

func TestCancelTwice(t *testing.T) {
	for _, again := range []func(*gatomic.Reservation){
		(*gatomic.Reservation).Cancel,
		func(r *gatomic.Reservation) { r.Settle(1) },
		func(r *gatomic.Reservation) { r.Settle(9) },
	} {
		l, _ := aQueue(5)
		l.Take(2)
		r := l.Reserve(2)
		r.Settle(-1) // is ignored, and settles nothing
		r.Cancel()
		again(&r)
		if got := l.Peek(0).Remaining(); got != 3 {
			t.Errorf("%d tokens after a second settlement, want 3", got)
		}
	}
}

func TestCancelFromManyGoroutinesReturnsOnce(t *testing.T) {
	l, _ := aQueue(10)
	l.Take(5)
	for range 300 {
		r := l.Reserve(3)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(r.Cancel)
		}
		wg.Wait()
		if got := l.Peek(0).Remaining(); got != 5 {
			t.Fatalf("%d tokens, want 5", got)
		}
	}
}

func TestFailedReservationChangesNothing(t *testing.T) {
	for _, row := range []struct {
		limit gcra.Limit
		n     int
		want  error
		delay time.Duration
		why   string
	}{
		{gcra.PerSecond(1).Burst(3), 4, gcra.ErrExceedsBurst, gcra.Never, "above the burst"},
		{gcra.PerSecond(1).Burst(3), -1, gcra.ErrCost, gcra.Never, "a negative cost"},
		{gcra.PerSecond(1).Burst(3), 3, gcra.ErrLimited, 3 * second, "beyond WithMaxWait: how long it would have taken"},
		{gcra.PerSecond(0).Burst(3), 3, gcra.ErrLimited, gcra.Never, "an allowance is not refilled"},
		{gcra.Limit{}, 1, gcra.ErrExceedsBurst, gcra.Never, "none"},
	} {
		var clk clock.Manual
		l := gatomic.NewLimiter(row.limit, gatomic.WithClock(&clk), gatomic.WithMaxWait(2*second))
		l.Take(3)
		before := l.Peek(1)
		for range 3 {
			r := l.Reserve(row.n)
			if r.OK() || !errors.Is(r.Err(), row.want) || r.Delay() != row.delay {
				t.Errorf("%v: Reserve(%d): ok %v, err %v, delay %v; want %v and %v (%s)",
					row.limit, row.n, r.OK(), r.Err(), r.Delay(), row.want, row.delay, row.why)
			}
			r.Cancel()
			r.Settle(2)
		}
		if after := l.Peek(1); after != before {
			t.Errorf("%v: Reserve(%d) failed and left %v and %v to wait, before it was %v (%s)",
				row.limit, row.n, after.Remaining(), after.RetryAfter(), before.RetryAfter(), row.why)
		}
	}
}

func TestContextThatEndsWhileWaitingLeaksNoLastSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := gatomic.NewLimiter(gcra.PerSecond(1))
		l.Allow()
		for i := range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				if err := l.Wait(ctx); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
			synctest.Wait()
			cancel()
			wg.Wait()
			if d := l.Peek(1); d.RetryAfter() != second {
				t.Fatalf("after %d waiters that gave up the next token comes in %v", i+1, d.RetryAfter())
			}
		}
	})
}

func TestReservationFromBefore(t *testing.T) {
	for _, row := range []struct {
		meanwhile func(l *gatomic.Limiter)
		want      int
		why       string
	}{
		{func(l *gatomic.Limiter) { l.Reset(); l.Take(4) }, 1, "a reset"},
		{func(l *gatomic.Limiter) { l.Reset(); l.SetLimit(gcra.PerSecond(2).Burst(5)); l.Take(4) }, 1, "a reset and a change"},
		{func(l *gatomic.Limiter) { l.SetLimit(gcra.PerSecond(2).Burst(5)) }, 1, "a change of limit"},
		{func(l *gatomic.Limiter) {
			l.SetLimit(gcra.Unlimited())
			l.SetLimit(gcra.PerSecond(1).Burst(5))
			l.Take(4)
		}, 1, "two changes, to the same limit"},
		{func(l *gatomic.Limiter) { l.SetLimit(l.Limit()) }, 5, "an equal limit is no change"},
	} {
		l, _ := aQueue(5)
		r := l.Reserve(4)
		row.meanwhile(l)
		if r.Cancel(); l.Peek(0).Remaining() != row.want {
			t.Errorf("cancelled after %s: %d tokens, want %d", row.why, l.Peek(0).Remaining(), row.want)
		}
	}
}

func TestHugeWaitStarvesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := gatomic.NewLimiter(gcra.PerSecond(1).Burst(3600), gatomic.WithMaxWait(10*second))
		l.Take(3600)
		var refused *gatomic.WaitError
		if err := l.WaitN(t.Context(), 3600); !errors.As(err, &refused) || !errors.Is(err, gcra.ErrLimited) || refused.Delay != time.Hour {
			t.Fatalf("WaitN of an hour: %v; want a refusal with 1h", err)
		}
		start := time.Now()
		if err := l.Wait(t.Context()); err != nil || time.Since(start) != second {
			t.Errorf("the next waiter: %v after %v, want its token after 1s", err, time.Since(start))
		}
	})
}

func TestSettleUpwardsIsExact(t *testing.T) {
	for _, row := range []struct {
		opts   []gatomic.Option
		actual int
		retry  time.Duration // of one token afterwards
		why    string
	}{
		{nil, 2, 0, "what was reserved"},
		{nil, 5, second, "the whole burst"},
		{nil, 9, 5 * second, "four tokens into debt"},
		{nil, 10, 6 * second, "one burst of debt, the default bound"},
		{nil, 1 << 30, 6 * second, "and no more"},
		{[]gatomic.Option{gatomic.WithMaxDebt(0)}, 9, second, "no debt"},
		{[]gatomic.Option{gatomic.WithMaxDebt(1000)}, 105, 101 * second, "a hundred tokens"},
	} {
		l, clk := aQueue(5, row.opts...)
		r := l.Reserve(2)
		r.Settle(row.actual)
		if d := l.Peek(1); d.RetryAfter() != row.retry {
			t.Errorf("settled 2 for %d: one token in %v, want %v: %s", row.actual, d.RetryAfter(), row.retry, row.why)
		}
		clk.Advance(row.retry) // a debt is paid by time alone, and exactly
		if row.retry > 0 && (!l.Allow() || l.Allow()) {
			t.Errorf("settled 2 for %d: not exactly one token after %v", row.actual, row.retry)
		}
	}
}

func TestDebitNeverOverflows(t *testing.T) {
	const huge = int(^uint(0) >> 1)
	for _, limit := range []gcra.Limit{
		gcra.PerSecond(1), gcra.PerSecond(99).Burst(1 << 30), gcra.Per(0, second).Burst(7), gcra.Per(64, 1), gcra.Every(1 << 58),
	} {
		clk := new(hookClock)
		l := gatomic.NewLimiter(limit, gatomic.WithClock(clk), gatomic.WithMaxDebt(huge))
		for i := range 50 {
			d := l.Debit(huge)
			if d.Granted() < 0 || l.Allow() || l.Peek(0).Remaining() != 0 || i > 1 && d.OK() && d.Granted() > huge/2 {
				t.Fatalf("%v: debit %d of all that there is charged %d", limit, i, d.Granted())
			}
			clk.Advance(1)
		}
		if clk.Set(gcra.Never); limit.FillTime() < time.Hour && !l.Peek(0).OK() {
			t.Errorf("%v: at the end of time: %v", limit, l.Peek(0).Err())
		}
	}
}

// TestReserveUnderLoad lets goroutines reserve, settle and take at instants
// that stand still while they race. What was really executed keeps to law L1:
// tokens at their slots. And where nobody waits nothing is lost.
func TestReserveUnderLoad(t *testing.T) {
	const racers, rounds, burst = 4, 1500, 20
	limit := gcra.PerSecond(1000).Burst(burst)
	var clk clock.Manual
	l := gatomic.NewLimiter(limit, gatomic.WithClock(&clk), gatomic.WithMaxDebt(0))
	var used [racers]map[time.Duration]int // tokens by slot
	var rngs [racers]*rand.Rand
	for i := range racers {
		used[i], rngs[i] = map[time.Duration]int{}, rand.New(rand.NewPCG(uint64(i), 3))
	}
	for range rounds {
		now := clk.Now()
		var wg sync.WaitGroup
		for i := range racers {
			wg.Go(func() {
				for range 6 {
					n := 1 + rngs[i].IntN(3)
					if rngs[i].IntN(3) == 0 {
						used[i][now] += l.TakeUpTo(n).Granted()
						continue
					}
					r := l.Reserve(n)
					actual := rngs[i].IntN(n + 1)
					if r.Delay() > 0 && rngs[i].IntN(2) == 0 {
						actual = 0 // nobody sleeps here
					}
					r.Settle(actual)
					used[i][now+r.Delay()] += actual
				}
			})
		}
		wg.Wait()
		clk.Advance(time.Duration(rngs[0].Int64N(int64(30 * time.Millisecond))))
	}
	total := map[time.Duration]int{}
	for i := range racers {
		for at, n := range used[i] {
			total[at] += n
		}
	}
	checkWindows(t, limit, total)

	// Conservation: bookings of what is there, all cancelled, come back whole.
	clk.Advance(time.Hour)
	for range 300 {
		var wg sync.WaitGroup
		for i := range racers {
			wg.Go(func() {
				for range 10 {
					r := l.Reserve(1 + rngs[i].IntN(burst/racers))
					r.Cancel()
				}
			})
		}
		wg.Wait()
		if got := l.Peek(0).Remaining(); got != burst {
			t.Fatalf("%d tokens after all was cancelled in the instant that it was booked, want %d", got, burst)
		}
	}
}
