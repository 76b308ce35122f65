package atomic

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// Steps that only a change of limit, or the end of a context, comes between.

// onRead is a clock that calls a function before its next reading.
type onRead struct {
	clock.Manual
	next func()
}

func (c *onRead) Now() time.Duration {
	if f := c.next; f != nil {
		c.next = nil
		f()
	}
	return c.Manual.Now()
}

// TestGiveBackMeetsAChange changes the limit while a give-back reads the clock:
// that reading is of the next generation already, so nothing is given back.
func TestGiveBackMeetsAChange(t *testing.T) {
	for _, change := range []bool{false, true} {
		var c Core
		clk := new(onRead)
		c.Init(gcra.PerSecond(1).Burst(10), WithClock(clk))
		g, cell := c.Current(), new(Cell)
		cell.Init(g.Fresh())
		b, _, _ := cell.Book(g, c.Turn(), 4)
		before, _ := cell.State()
		if change {
			clk.next = func() { c.SetLimit(gcra.PerSecond(2).Burst(10), nil) }
		}
		c.giveBack(g, cell, b, 4)
		if tat, _ := cell.State(); (tat == before) != change {
			t.Errorf("the limit changes: %v; the TAT was %d and is %d", change, before, tat)
		}
	}
}

// TestFrozenIsNotDead: a frozen cell keeps its debt, and hands it on.
func TestFrozenIsNotDead(t *testing.T) {
	l := NewLimiter(gcra.PerSecond(1).Burst(10), WithClock(new(clock.Manual)))
	l.Take(6)
	c := l.cell.Load()
	was, _ := c.State()
	c.Freeze() // as who is stopped before he has put another in its place
	if tat, ok := c.State(); tat != was || !ok {
		t.Errorf("frozen with a TAT of %d, it has one: %v of %d", was, ok, tat)
	}
	l.core.SetLimit(gcra.PerSecond(2).Burst(10), nil)
	if got := l.Peek(0).Remaining(); got != 4 {
		t.Errorf("%d tokens are left after a change of limit, want 4", got)
	}
}

// TestSuccessorMeetsAChange: the limit changes while the successor of a dead cell
// is made. It is full at a reading of the new limit's time, and so of that
// limit: under the old one it would owe all the time since the change.
func TestSuccessorMeetsAChange(t *testing.T) {
	clk := new(onRead)
	l := NewLimiter(gcra.PerSecond(1).Burst(10), WithClock(clk))
	l.Take(10)
	l.Reset()
	clk.next = func() { // the reading of the Take
		clk.next = func() { // that of the successor
			l.core.SetLimit(gcra.PerMinute(1).Burst(10), nil)
			clk.Advance(10 * time.Second)
		}
	}
	if d := l.Take(1); !d.OK() || d.Remaining() != 9 {
		t.Errorf("after a reset %v, and %d tokens are left, want 9", d.Err(), d.Remaining())
	}
}

// TestChangeAfterAClockThatPanicked: the first change is in force, and its
// instant was not read. The second one reads it, or it would be dated before
// all time and its fraction of a burst be made up.
func TestChangeAfterAClockThatPanicked(t *testing.T) {
	var c Core
	clk := new(onRead)
	c.Init(gcra.PerSecond(1).Burst(10), WithClock(clk))
	clk.Advance(time.Second)
	clk.next = func() { panic("stopped") }
	func() {
		defer func() { _ = recover() }()
		c.SetLimit(gcra.PerSecond(2).Burst(10), nil)
	}()
	first := c.gen.Load()
	if first.since.Load() != 0 {
		t.Fatal("the clock was read: nothing is proved")
	}
	second := c.SetLimit(gcra.PerSecond(3).Burst(10), nil)
	if first.since.Load() != int64(time.Second)+1 || first.Fresh() == 0 || second.old.fresh != first.Fresh() {
		t.Errorf("the change before is dated %d, fresh is %d, and the next one counts from %d", first.since.Load(), first.Fresh(), second.old.fresh)
	}
}

// A booking that is stored nowhere is settled without a cell.
func TestSettleWithoutACell(t *testing.T) {
	var c Core
	c.Init(gcra.PerSecond(1).Burst(10), WithClock(new(clock.Manual)))
	g, turn := c.Current(), c.Turn()
	b, d := turn.Book(g, g.Fresh(), 4)
	r := c.Reservation(nil, g, nil, turn, 4, b, d)
	r.Cancel()
}

// endsNow is a context whose deadline has come, and that has not been told.
type endsNow struct {
	context.Context
	end time.Time
}

func (c endsNow) Deadline() (time.Time, bool) { return c.end, true }

// TestAtOnceAtTheDeadline: a token that is there is there at the deadline too,
// and for a reservation even after it.
func TestAtOnceAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(gcra.PerSecond(1).Burst(2))
		if err := l.Wait(endsNow{t.Context(), time.Now()}); err != nil {
			t.Errorf("at the deadline: %v", err)
		}
		if err := l.Wait(endsNow{t.Context(), time.Now().Add(-1)}); err != context.DeadlineExceeded {
			t.Errorf("after the deadline: %v", err)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		r := l.Reserve(1)
		if err := r.Wait(over); err != nil || l.Peek(0).Remaining() != 0 {
			t.Errorf("a reservation that has its token: %v, and %d tokens are left", err, l.Peek(0).Remaining())
		}
	})
}

// TestReservationGivenUp: a context that ends amid the wait gives back, and a
// wait that ends well dozes on, up to the deadline.
func TestReservationGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(gcra.PerSecond(1), WithJitter(1<<62))
		l.Allow()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/2, cancel)
		r, start := l.Reserve(1), time.Now()
		if err := r.Wait(ctx); err != context.Canceled || time.Since(start) != time.Second/2 {
			t.Errorf("%v after %v, want %v after half a second", err, time.Since(start), context.Canceled)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		r, start = l.Reserve(1), time.Now()
		if r.Delay() != time.Second/2 {
			t.Errorf("the slot is %v away, want 500ms: the one before came back", r.Delay())
		}
		if err := r.Wait(ctx); err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v, want no error after 3s", err, time.Since(start))
		}
	})
}

// A counted waiter counts its calls.
type counted struct {
	*Limiter
	calls int
}

func (c *counted) WaitN(ctx context.Context, n int) error {
	c.calls++
	return c.Limiter.WaitN(ctx, n)
}

// reads returns what Read returned, one after the other.
type reads []struct {
	n   int
	err error
}

func (r *reads) Read(p []byte) (int, error) {
	first := (*r)[0]
	*r = (*r)[1:]
	return first.n, first.err
}

// What a Read returns is passed on, an error beside bytes too, and nothing is
// paid for none.
func TestReaderPassesOn(t *testing.T) {
	boom := errors.New("boom")
	lim := &counted{Limiter: NewLimiter(gcra.PerSecond(1).Burst(10))}
	r := NewReader(t.Context(), &reads{{3, boom}, {0, nil}, {0, boom}, {2, nil}, {0, io.EOF}}, lim)
	for i, want := range []struct {
		n     int
		err   error
		calls int
	}{{3, boom, 1}, {0, nil, 1}, {0, boom, 1}, {2, nil, 2}, {0, io.EOF, 2}} {
		n, err := r.Read(make([]byte, 8))
		if n != want.n || err != want.err || lim.calls != want.calls {
			t.Errorf("Read %d: %d, %v with %d calls; want %d, %v with %d", i, n, err, lim.calls, want.n, want.err, want.calls)
		}
	}
}
