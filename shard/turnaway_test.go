package shard

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// bounded is what turns keys away.
type bounded interface {
	keyed[int]
	TakeUpTo(key, n int) gcra.Decision
	SetLimit(gcra.Limit)
	Stats() Stats
}

// crowded returns limiters that have no room for the key 0.
func crowded(limit gcra.Limit, clk clock.Clock) map[string]bounded {
	l := New[int](limit, WithClock(clk), WithMaxKeys(1, Refuse))
	l.Take(1, 1)
	t := NewTable[int](limit, 1, WithClock(clk))
	for key := range 1000 { // many more than it has slots
		t.Take(key+1, 1)
	}
	return map[string]bounded{"Limiter": l, "Table": t}
}

// To ask for more than a burst of what there is, or to have used it, is no
// error, with or without room.
func TestTurnedAwayAboveTheBurst(t *testing.T) {
	for name, l := range crowded(gcra.PerHour(1).Burst(3), new(clock.Manual)) {
		for what, op := range map[string]func(key, n int) gcra.Decision{"TakeUpTo": l.TakeUpTo, "Debit": l.Debit} {
			if d := op(0, 5); d.Err() != gcra.ErrLimited || d.RetryAfter() == gcra.Never {
				t.Errorf("%s: %s of 5 at burst 3 without room: %v, retry after %v", name, what, d.Err(), d.RetryAfter())
			}
		}
	}
}

// Between finding no room and saying so the limit may become one that grants
// nothing. It has to be refused all the same.
func TestTurnedAwayUnderNewLimit(t *testing.T) {
	clk := new(countedClock)
	for name, l := range crowded(gcra.PerHour(1), clk) {
		clk.reads, clk.hook = 0, nil
		l.Take(0, 1)
		last := clk.reads
		clk.reads, clk.hook = 0, func() {
			if clk.reads == last {
				clk.hook = nil
				l.SetLimit(gcra.Limit{})
			}
		}
		if d := l.Take(0, 1); d.OK() || clk.hook != nil {
			t.Errorf("%s: granted %d tokens under %v", name, d.Granted(), d.Limit())
		}
	}
}

// A countedClock runs a hook inside each reading. It is for one goroutine.
type countedClock struct {
	clock.Manual
	reads int
	hook  func()
}

func (c *countedClock) Now() time.Duration {
	c.reads++
	if c.hook != nil {
		c.hook()
	}
	return c.Manual.Now()
}

// Strict mode counts tokens at a late wake-up, but not against a key that was
// reset while its waiter slept.
func TestLateWakeUpAfterReset(t *testing.T) {
	for _, name := range []string{"Limiter", "Table"} {
		synctest.Test(t, func(t *testing.T) {
			var clk clock.Manual
			limit := gcra.PerSecond(10).Burst(10)
			var l interface {
				keyed[int]
				Reset(int)
			} = New[int](limit, WithClock(&clk), WithCatchUp(0))
			if name == "Table" {
				l = NewTable[int](limit, 10, WithClock(&clk), WithCatchUp(0))
			}
			l.Take(0, 10)
			go l.WaitN(t.Context(), 0, 1)
			synctest.Wait()
			l.Reset(0)
			clk.Advance(time.Second) // the waiter's slot was after 100 ms
			time.Sleep(time.Second)
			synctest.Wait()
			if n := l.Peek(0, 1).Remaining(); n != 10 {
				t.Errorf("%s: a key that was reset has %d tokens of 10", name, n)
			}
		})
	}
}
