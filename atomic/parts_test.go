package atomic

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/gcra"
)

// TestReservationWaits: a reservation waits as its limiter would, also if it is
// made of parts.
func TestReservationWaits(t *testing.T) {
	for _, parts := range []int{0, 1, 2} {
		for _, row := range []struct {
			taken int           // before, of a burst of 2 at one a second
			end   time.Duration // the context's deadline, 0 for none
			want  error
			slept time.Duration
			left  int // after it and another second
			why   string
		}{
			{0, 0, nil, 0, 2, "there at once"},
			{0, time.Nanosecond, nil, 0, 2, "there at once, with a deadline"},
			{2, 0, nil, time.Second, 1, "in a second"},
			{2, 2 * time.Second, nil, time.Second, 1, "before the deadline"},
			{2, time.Second, nil, time.Second, 1, "at the deadline"},
			{2, time.Second - 1, context.DeadlineExceeded, 0, 1, "after the deadline"},
			{3, 0, gcra.ErrExceedsBurst, 0, 2, "above the burst"},
		} {
			synctest.Test(t, func(t *testing.T) {
				slow, fast := NewLimiter(gcra.PerSecond(1).Burst(2)), NewLimiter(gcra.PerSecond(10).Burst(2))
				n := 1
				if row.want == gcra.ErrExceedsBurst {
					n = 3
				} else {
					slow.Take(row.taken)
				}
				r := slow.Reserve(n)
				switch parts {
				case 1:
					r = Joined(slow.Peek(0), n, []Part{{slow.cloneless(n, &r), 1}})
				case 2:
					if r.OK() {
						fast.Take(row.taken) // so that both wait, or none
						r = Joined(gcra.Both(r.Decision(), fast.Peek(0)), n, []Part{{fast.Reserve(n), 1}, {slow.cloneless(n, &r), 1}})
					}
				}
				if parts > 0 && row.want == gcra.ErrExceedsBurst {
					return // a joint is not made of what is not OK
				}
				ctx := t.Context()
				if row.end > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, row.end)
					defer cancel()
				}
				start := time.Now()
				err := r.Wait(ctx)
				if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) || time.Since(start) != row.slept {
					t.Errorf("%d parts, %s: %v after %v, want %v after %v", parts, row.why, err, time.Since(start), row.want, row.slept)
				}
				time.Sleep(time.Second)
				if got := slow.Peek(0).Remaining(); got != row.left {
					t.Errorf("%d parts, %s: %d tokens a second later, want %d", parts, row.why, got, row.left)
				}
			})
		}
	}
}

// cloneless books anew what r, which is canceled, had booked: a reservation is
// not to be copied.
func (l *Limiter) cloneless(n int, r *Reservation) Reservation {
	r.Cancel()
	return l.Reserve(n)
}

// TestReservationWaitsForTheLast: the limiter of the latest slot says how to
// sleep, so its jitter counts and not that of others.
func TestReservationWaitsForTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := NewLimiter(gcra.PerSecond(1))
		fast := NewLimiter(gcra.PerSecond(10), WithJitter(1000*time.Hour))
		for _, l := range []*Limiter{slow, fast} {
			l.Allow()
		}
		r := Joined(slow.Peek(0), 1, []Part{{fast.Reserve(1), 1}, {slow.Reserve(1), 1}})
		if r.last() != &slow.core || r.Delay() != time.Second {
			t.Errorf("it waits for another than the last, and %v", r.Delay())
		}
		inner := func() Reservation { return Joined(slow.Peek(0), 1, []Part{{slow.Reserve(1), 1}}) }
		outer := Joined(slow.Peek(0), 1, []Part{{fast.Reserve(1), 1}, {inner(), 1}})
		if outer.last() != &slow.core || outer.Delay() != 2*time.Second {
			t.Errorf("a joint in a joint waits for another than the last, and %v", outer.Delay())
		}
	})
}

func TestTurnWithin(t *testing.T) {
	for _, row := range []struct{ d, deadline, longest time.Duration }{
		{-5, 0, 0}, {0, 0, 0}, {6, 6, 6}, {8, 8, 7}, {20, 10, 7},
	} {
		turn := Turn{deadline: 10, longest: 7}.Within(row.d)
		if turn.deadline != row.deadline || turn.longest != row.longest {
			t.Errorf("within %d: deadline %d, longest %d; want %d and %d", row.d, turn.deadline, turn.longest, row.deadline, row.longest)
		}
	}
}

// A lentTo is a lender that remembers what it is told.
type lentTo struct{ charged, returned []int }

func (l *lentTo) Charge(key uint64, n int) { l.charged = append(l.charged, int(key), n) }
func (l *lentTo) GiveBack(g *Generation, key, stamp uint64, b gcra.Booking, n int) {
	l.returned = append(l.returned, int(key), int(stamp), n)
}

func TestSettleOfALoan(t *testing.T) {
	for _, row := range []struct {
		actual            int
		charged, returned []int
	}{
		{0, nil, []int{7, 9, 4}}, {3, nil, []int{7, 9, 1}}, {5, []int{7, 1}, nil}, {9, []int{7, 5}, nil}, {-1, nil, nil},
	} {
		var c Core
		c.Init(gcra.PerSecond(1).Burst(10))
		g, turn, l := c.Current(), c.Turn(), new(lentTo)
		b, d := turn.Book(g, g.Fresh(), 4)
		r := c.Loan(l, 7, 9, g, turn, 4, b, d)
		for range 2 {
			r.Settle(row.actual)
		}
		if !slices.Equal(l.charged, row.charged) || !slices.Equal(l.returned, row.returned) {
			t.Errorf("%d of 4 were used: charged %v, returned %v; want %v and %v", row.actual, l.charged, l.returned, row.charged, row.returned)
		}
		dry := c.Loan(l, 7, 9, g, turn, 4, b, gcra.Refuse(g.Limit(), turn.At(g), 4).DryRun())
		before := len(l.charged) + len(l.returned)
		if dry.Settle(6); len(l.charged)+len(l.returned) != before {
			t.Error("a dry run is settled")
		}
	}
}

func TestSettleOfParts(t *testing.T) {
	once, twice := NewLimiter(gcra.PerHour(1).Burst(20)), NewLimiter(gcra.PerHour(1).Burst(20))
	r := Joined(once.Peek(0), 4, []Part{{once.Reserve(4), 1}, {twice.Reserve(8), 2}})
	for range 2 {
		r.Settle(3) // 3 and 6
	}
	if a, b := once.Peek(0).Remaining(), twice.Peek(0).Remaining(); a != 17 || b != 14 {
		t.Errorf("%d and %d are left, want 17 and 14", a, b)
	}
}

func TestTurnAgain(t *testing.T) {
	var c Core
	c.Init(gcra.PerSecond(1), WithMaxWait(20))
	for _, row := range []struct{ deadline, now, left, longest time.Duration }{
		{30, 8, 27, 20}, {10, 8, 7, 7}, {10, 15, 0, 0}, {10, 16, 0, 0}, {10, 5, 10, 10}, {gcra.Never, 8, gcra.Never, 20},
	} {
		got := c.Again(Turn{now: 5, late: 3, deadline: row.deadline, longest: 1}, row.now)
		if want := (Turn{now: row.now, deadline: row.left, longest: row.longest}); got != want {
			t.Errorf("at %d again, with %d left at 5: %+v, want %+v", row.now, row.deadline, got, want)
		}
	}
}
