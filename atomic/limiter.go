package atomic

import (
	"context"
	"sync/atomic"

	"github.com/weir-go/weir/gcra"
)

// A Limiter limits the rate of one thing. Make it with [NewLimiter]; the zero
// Limiter is not usable. It must not be copied, and all methods are safe for
// concurrent use and never block, except that Wait and WaitN sleep.
type Limiter struct {
	pacer Pacer
	limit gcra.Limit
	fresh int64
	// The cell has a line of its own, apart from all that is only read.
	cell atomic.Pointer[lineCell]
}

type lineCell struct {
	Cell
	_ [56]byte
}

// NewLimiter returns a limiter whose bucket is full, or holds what the limit's
// Start says.
func NewLimiter(limit gcra.Limit, opts ...Option) *Limiter {
	l := &Limiter{limit: limit}
	l.pacer.Init(limit, opts...)
	l.fresh = gcra.Fresh(&l.limit, gcra.At(&l.limit, l.pacer.Now()))
	l.cell.Store(l.newCell())
	return l
}

func (l *Limiter) newCell() *lineCell {
	c := new(lineCell)
	c.Init(l.fresh)
	return c
}

// replace puts a cell that was never charged in the place of a dead one,
// unless somebody else has.
func (l *Limiter) replace(dead *lineCell) { l.cell.CompareAndSwap(dead, l.newCell()) }

// Every decision reads the clock first and the cell after it. Who meets a dead
// cell starts again with a new reading, so that no reading from before a reset
// is used after it.
func (l *Limiter) now() gcra.Instant { return gcra.At(&l.limit, l.pacer.Now()) }

// Allow reports whether one token was there, and takes it.
func (l *Limiter) Allow() bool { return l.AllowN(1) }

// AllowN reports whether n tokens were there, and takes them all or none.
func (l *Limiter) AllowN(n int) bool {
	for {
		at, c := l.now(), l.cell.Load()
		if ok, alive := c.Allow(&l.limit, at, n); alive {
			return ok
		}
		l.replace(c)
	}
}

// Take takes n tokens or none. It is refused with gcra.ErrExceedsBurst if n is
// above the burst, and with gcra.ErrCost if it is negative.
func (l *Limiter) Take(n int) gcra.Decision {
	for {
		at, c := l.now(), l.cell.Load()
		if d, alive := c.Take(&l.limit, at, n); alive {
			return d
		}
		l.replace(c)
	}
}

// TakeUpTo takes as many tokens as there are, at most n. It is refused if
// there is none.
func (l *Limiter) TakeUpTo(n int) gcra.Decision {
	for {
		at, c := l.now(), l.cell.Load()
		if d, alive := c.TakeUpTo(&l.limit, at, n); alive {
			return d
		}
		l.replace(c)
	}
}

// Peek tells what Take would decide, takes nothing and writes nothing.
func (l *Limiter) Peek(n int) gcra.Decision {
	for {
		at, c := l.now(), l.cell.Load()
		if d, alive := c.Peek(&l.limit, at, n); alive {
			return d
		}
		l.replace(c)
	}
}

// Wait waits for one token: see [Limiter.WaitN].
func (l *Limiter) Wait(ctx context.Context) error { return l.WaitN(ctx, 1) }

// WaitN takes n tokens as soon as the limit permits. It books its slot at once
// and sleeps until it; slots are given in the order of booking.
//
// It returns an error without having taken anything if the context is done,
// if its deadline or WithMaxWait is before the slot (a [WaitError], which is
// context.DeadlineExceeded or gcra.ErrLimited), if n is above the burst
// (gcra.ErrExceedsBurst) or negative (gcra.ErrCost). If the context ends while
// it sleeps it gives the tokens back, as far as nobody has booked behind them,
// and returns the context's error.
func (l *Limiter) WaitN(ctx context.Context, n int) error {
	t, err := l.pacer.Begin(ctx, &l.limit)
	if err != nil {
		return err
	}
	for {
		c := l.cell.Load()
		if b, d, alive := c.Book(&l.limit, t, n); alive {
			return l.pacer.Finish(ctx, &l.limit, t, n, b, d, &c.Cell)
		}
		l.replace(c)
		t = l.pacer.Again(&l.limit, t)
	}
}

// Limit returns the limit.
func (l *Limiter) Limit() gcra.Limit { return l.limit }

// Reset makes the bucket what it would be if nothing had ever been taken from
// it. Waiters that sleep keep their slots.
func (l *Limiter) Reset() {
	at, c := l.now(), l.cell.Load()
	if c.Reset(l.fresh, at) {
		l.replace(c)
	}
}
