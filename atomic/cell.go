package atomic

import (
	"math"
	"sync/atomic"

	"github.com/weir-go/weir/gcra"
)

// dead is the sign bit alone. A cell that holds it was forgotten or reset: it
// never changes again, and its key reads as one that was never seen.
const dead = math.MinInt64

// A Cell is one key's TAT and the compare-and-swap that moves it: what engines
// are made of. A program that limits one thing wants [Limiter].
//
// The zero Cell is a full bucket. It must not be copied after first use; its
// methods are safe for concurrent use, never block and never allocate. One
// cell is to be used with one limit, in ticks of one engine.
//
// Every method that decides also reports whether the cell was alive. If not,
// nothing was decided: the caller looks for the key's present cell, or makes
// one, after a new reading of the clock.
type Cell struct{ word atomic.Int64 }

// Init sets the TAT of a cell that no other goroutine knows yet.
func (c *Cell) Init(tat int64) { c.word.Store(tat) }

// Allow decides on n tokens, as gcra.Allow does.
func (c *Cell) Allow(l *gcra.Limit, at gcra.Instant, n int) (ok, alive bool) {
	for {
		tat := c.word.Load()
		if tat < 0 {
			return false, false
		}
		next, ok := gcra.Allow(l, tat, at, n)
		if !ok || next == tat || c.word.CompareAndSwap(tat, next) {
			return ok, true
		}
	}
}

// Take decides on n tokens, as gcra.Take does.
func (c *Cell) Take(l *gcra.Limit, at gcra.Instant, n int) (d gcra.Decision, alive bool) {
	for {
		// The word is loaded after the clock was read, and a word that is
		// ahead of the reading only makes the decision stricter: a stale
		// instant gives no credit.
		tat := c.word.Load()
		if tat < 0 {
			return gcra.Decision{}, false
		}
		next, d := gcra.Take(l, tat, at, n)
		// The swap publishes the grant. If it came after a blind store, two
		// goroutines could both spend the tokens of one word.
		if next == tat || c.word.CompareAndSwap(tat, next) {
			return d, true
		}
	}
}

// TakeUpTo decides on at most n tokens, as gcra.TakeUpTo does.
func (c *Cell) TakeUpTo(l *gcra.Limit, at gcra.Instant, n int) (d gcra.Decision, alive bool) {
	for {
		tat := c.word.Load()
		if tat < 0 {
			return gcra.Decision{}, false
		}
		next, d := gcra.TakeUpTo(l, tat, at, n)
		if next == tat || c.word.CompareAndSwap(tat, next) {
			return d, true
		}
	}
}

// Peek tells what Take would decide and writes nothing.
func (c *Cell) Peek(l *gcra.Limit, at gcra.Instant, n int) (d gcra.Decision, alive bool) {
	tat := c.word.Load()
	if tat < 0 {
		return gcra.Decision{}, false
	}
	return gcra.Peek(l, tat, at, n), true
}

// Book takes n tokens at the turn's instant or in a later slot, unless that
// slot is later than the turn's last.
func (c *Cell) Book(l *gcra.Limit, t Turn, n int) (b gcra.Booking, d gcra.Decision, alive bool) {
	for {
		tat := c.word.Load()
		if tat < 0 {
			return gcra.Booking{}, gcra.Decision{}, false
		}
		b, d := t.Book(l, tat, n)
		if !d.OK() || b.End == tat || c.word.CompareAndSwap(tat, b.End) {
			return b, d, true
		}
	}
}

// GiveBack returns n tokens of a booking that was made in this cell, as
// gcra.GiveBack says, and nothing to a dead cell. A booking is to be given
// back at most once.
func (c *Cell) GiveBack(l *gcra.Limit, at gcra.Instant, b gcra.Booking, n int) {
	for {
		tat := c.word.Load()
		if tat < 0 {
			return
		}
		next := gcra.GiveBack(l, tat, at, b, n)
		if next == tat || c.word.CompareAndSwap(tat, next) {
			return
		}
	}
}

// Forget kills the cell if its bucket is full and fresh, the TAT of keys
// without a cell, has passed: only then does the key read the same without it.
// It reports whether the cell is dead.
func (c *Cell) Forget(fresh int64, at gcra.Instant) bool {
	for {
		tat := c.word.Load()
		if tat == dead {
			return true
		}
		if tat > at.Tick || fresh > at.Tick {
			return false
		}
		// One step with the check: a charge that comes in between makes the
		// swap fail, and a charger that comes after it meets a dead cell.
		if c.word.CompareAndSwap(tat, dead) {
			return true
		}
	}
}

// Reset kills the cell if that leaves its key no worse off, and reports
// whether the cell is dead.
func (c *Cell) Reset(fresh int64, at gcra.Instant) bool {
	for {
		tat := c.word.Load()
		if tat == dead {
			return true
		}
		if tat <= max(fresh, at.Tick) {
			return false
		}
		if c.word.CompareAndSwap(tat, dead) {
			return true
		}
	}
}

// Forgotten reports whether the cell is dead. It will never be alive again.
func (c *Cell) Forgotten() bool { return c.word.Load() == dead }
