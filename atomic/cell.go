package atomic

import (
	"math"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/invariants"
)

// dead is the sign bit alone. A cell that holds it was forgotten or reset: it
// never changes again, and its key reads as one that was never seen.
//
// The sign bit beside a TAT is a frozen cell: one whose balance goes into a
// cell of a newer generation. It never changes again either, and whoever meets
// it can work out that balance; nobody may take it for dead, which would lose
// the debt, or charge it, which would be lost.
const dead = math.MinInt64

// A Cell is one key's TAT and the compare-and-swap that moves it: what engines
// are made of. A program that limits one thing wants [Limiter].
//
// The zero Cell is a full bucket. It must not be copied after first use; its
// methods are safe for concurrent use, never block and never allocate. One
// cell is to be used with one limit, in ticks of one engine.
//
// Every method that decides also reports whether the cell was alive, neither
// dead nor frozen. If not, nothing was decided: the caller looks for the key's
// present cell, or makes one, after a new reading of the clock.
type Cell struct{ word invariants.Word }

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
		if invariants.On && ok {
			invariants.Charge(l, at, tat, next, n, 0)
		}
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
		if invariants.On {
			invariants.Charge(l, at, tat, next, d.Granted(), 0)
		}
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
		if invariants.On {
			invariants.Charge(l, at, tat, next, d.Granted(), 0)
		}
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

// Debit takes n tokens that were already used, as gcra.Debit does.
func (c *Cell) Debit(l *gcra.Limit, at gcra.Instant, n, debt int) (d gcra.Decision, alive bool) {
	for {
		tat := c.word.Load()
		if tat < 0 {
			return gcra.Decision{}, false
		}
		next, d := gcra.Debit(l, tat, at, n, debt)
		if invariants.On {
			invariants.Charge(l, at, tat, next, d.Granted(), debt)
		}
		if next == tat || c.word.CompareAndSwap(tat, next) {
			return d, true
		}
	}
}

// Book takes n tokens at the turn's instant or in a later slot, if the turn
// can wait for that.
func (c *Cell) Book(g *Generation, t Turn, n int) (b gcra.Booking, d gcra.Decision, alive bool) {
	for {
		tat := c.word.Load()
		if tat < 0 {
			return gcra.Booking{}, gcra.Decision{}, false
		}
		b, d := t.Book(g, tat, n)
		if invariants.On && d.OK() {
			invariants.Book(g.Limit(), t.At(g), tat, b, n)
		}
		if !d.OK() || b.End == tat || c.word.CompareAndSwap(tat, b.End) {
			return b, d, true
		}
	}
}

// GiveBack returns n tokens of a booking that was made in this cell, as
// gcra.GiveBack says, and reports whether it did: not if the TAT is no longer
// tat. That has to be loaded before the clock is read, so that whatever was
// charged was charged at an instant up to at: what was refilled between two
// later charges would come back a second time.
func (c *Cell) GiveBack(l *gcra.Limit, tat int64, at gcra.Instant, b gcra.Booking, n int) bool {
	next := gcra.GiveBack(l, tat, at, b, n)
	if invariants.On {
		invariants.GiveBack(l, at, tat, next, b, n)
		return next == tat || invariants.Lower(&c.word, tat, next)
	}
	return next == tat || c.word.CompareAndSwap(tat, next)
}

// Raise makes the TAT at least tat, and reports whether the cell was alive.
func (c *Cell) Raise(tat int64) (alive bool) {
	for {
		old := c.word.Load()
		if old < 0 {
			return false
		}
		if old >= tat || c.word.CompareAndSwap(old, tat) {
			return true
		}
	}
}

// State returns the TAT, that of a frozen cell too, and whether there is one:
// a dead cell has none.
func (c *Cell) State() (tat int64, ok bool) {
	tat = c.word.Load()
	return tat &^ dead, tat != dead
}

// Dead reports whether the cell was forgotten or reset. It will never be alive
// again.
func (c *Cell) Dead() bool { return c.word.Load() == dead }

// Freeze ends the cell's life with its balance kept, for the conversion into a
// cell of a newer generation, and returns what State does.
func (c *Cell) Freeze() (tat int64, ok bool) {
	for {
		tat := c.word.Load()
		// One step with the reading: a charge that came in between would not
		// be in the balance that is converted.
		if tat < 0 || c.word.CompareAndSwap(tat, tat|dead) {
			return tat &^ dead, tat != dead
		}
	}
}

// Forget ends the life of a cell of generation g if under the current one its
// bucket is full, and fresh, the TAT of keys without a cell, has passed: only
// then does the key read the same without it. It reports whether the key can
// do without the cell, which is then dead, or frozen for good.
func (c *Cell) Forget(g, current *Generation, at gcra.Instant) bool {
	for {
		word := c.word.Load()
		if word == dead {
			return true
		}
		// By the current limit: a bucket that is full under its old one may
		// owe time under this.
		if g.Forward(word&^dead, current) > at.Tick || current.Fresh() > at.Tick {
			return false
		}
		// One step with the check: a charge that comes in between makes the
		// swap fail, and a charger that comes after it meets a dead cell.
		if invariants.On {
			invariants.Forget(current.Limit(), at, g.Forward(word&^dead, current), current.Fresh())
		}
		if word < 0 || c.word.CompareAndSwap(word, dead) {
			return true
		}
	}
}

// Reset kills a cell of generation g if its key would not be worse off. It
// reports false if the cell is frozen: then nothing was done.
func (c *Cell) Reset(g *Generation, at gcra.Instant) bool {
	for {
		tat := c.word.Load()
		if tat < 0 {
			return tat == dead
		}
		if invariants.On && tat > max(g.Fresh(), at.Tick) {
			invariants.Reset(at, tat, max(g.Fresh(), at.Tick), g.Fresh())
		}
		if tat <= max(g.Fresh(), at.Tick) || c.word.CompareAndSwap(tat, dead) {
			return true
		}
	}
}

// Alive reports whether the cell was neither dead nor frozen.
func (c *Cell) Alive() bool { return c.word.Load() >= 0 }
