package atomic

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// TestRaiseMeetsAChange: a strict waiter oversleeps by a second, which his cell
// is charged with, unless the limit changes while he reads the clock.
func TestRaiseMeetsAChange(t *testing.T) {
	for _, change := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var c Core
			clk := new(onRead)
			c.Init(gcra.PerSecond(1).Burst(1), WithClock(clk), WithCatchUp(0))
			g, cell := c.Current(), new(Cell)
			cell.Init(g.Fresh())
			cell.Take(g.Limit(), g.At(0), 1)
			turn := c.Turn()
			b, d, _ := cell.Book(g, turn, 1)
			clk.next = func() { // when he wakes
				clk.Advance(2 * time.Second)
				if change {
					c.SetLimit(gcra.PerSecond(2).Burst(1), nil)
				}
			}
			before, _ := cell.State()
			if err := c.Finish(t.Context(), g, turn, 1, b, d, cell); err != nil {
				t.Error(err)
			}
			if tat, _ := cell.State(); (tat == before) != change {
				t.Errorf("the limit changes: %v; the TAT was %d and is %d", change, before, tat)
			}
		})
	}
}

// A booking that is stored nowhere is waited for without a cell.
func TestFinishWithoutACell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, amid := range []bool{false, true} {
			var c Core
			c.Init(gcra.PerSecond(1), WithCatchUp(0))
			g, turn := c.Current(), c.Turn()
			next, _ := gcra.Take(g.Limit(), g.Fresh(), g.At(0), 1)
			b, d := turn.Book(g, next, 1)
			ctx, cancel := context.WithCancel(t.Context())
			if amid {
				cancel()
			}
			err := c.Finish(ctx, g, turn, 1, b, d, nil)
			if cancel(); (err != nil) != amid {
				t.Errorf("given up: %v; %v", amid, err)
			}
		}
	})
}

// TestRefusalSaysWhy: a slot that the longest wait reaches and the context does
// not is the context's fault.
func TestRefusalSaysWhy(t *testing.T) {
	l := gcra.PerSecond(1)
	at := gcra.At(&l, 0)
	next, _ := gcra.Take(&l, gcra.Fresh(&l, at), at, 1)
	d := gcra.Peek(&l, next, at, 1) // a second away
	for _, row := range []struct{ deadline, longest time.Duration }{
		{time.Second - 1, gcra.Never},
		{time.Second - 1, time.Second},
		{time.Second - 1, time.Second - 1},
		{time.Second, time.Second},
		{time.Second, gcra.Never},
		{gcra.Never, time.Second - 1},
	} {
		var c Core
		c.Init(l, WithMaxWait(row.longest), WithClock(new(clock.Manual)))
		err := c.refusal(Turn{deadline: row.deadline}, d)
		want := gcra.ErrLimited
		if row.deadline < time.Second && row.longest >= time.Second {
			want = context.DeadlineExceeded
		}
		if !errors.Is(err, want) {
			t.Errorf("deadline %v, longest wait %v: %v, want %v", row.deadline, row.longest, err, want)
		}
	}
}

// Jitter comes without a deadline too.
func TestJitterWithoutADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(gcra.PerSecond(1), WithJitter(1<<62))
		l.Allow()
		start := time.Now()
		if err := l.Wait(t.Context()); err != nil || time.Since(start) < 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}
