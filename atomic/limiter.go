package atomic

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/invariants"
)

// A Limiter limits the rate of one thing. Make it with [NewLimiter]; the zero
// Limiter is not usable. It must not be copied, and all methods are safe for
// concurrent use and never block, except that Wait and WaitN sleep.
type Limiter struct {
	core Core
	// The cell has a line of its own, apart from all that is only read.
	cell atomic.Pointer[lineCell]
}

type lineCell struct {
	Cell
	gen *Generation
	_   [48]byte
}

// NewLimiter returns a limiter whose bucket is full, or holds what the limit's
// Start says.
func NewLimiter(limit gcra.Limit, opts ...Option) *Limiter {
	l := new(Limiter)
	l.core.Init(limit, opts...)
	g := l.core.Current()
	c := &lineCell{gen: g}
	c.Init(g.Fresh())
	l.cell.Store(c)
	return l
}

// find returns the cell, if it is of the generation in force: the way that
// nearly all decisions take. It may be dead.
func (l *Limiter) find() *lineCell {
	c := l.cell.Load()
	if c.gen == l.core.gen.Load() { // settled, or there would be no cell of it
		return c
	}
	return l.present()
}

// present returns the cell if it belongs to the generation in force, and else
// puts its successor in its place: whoever meets a cell whose life is over
// does that, and waits for nobody. Decisions read the clock before they call
// it, and again if they have to come back: so no reading from before a reset
// or a change of limit is used after it.
func (l *Limiter) present() *lineCell {
	for {
		c := l.cell.Load()
		dead := c.Dead()
		now := l.core.Now()
		g := l.core.Current() // after the cell, which is after the clock
		if c.gen == g && !dead {
			return c
		}
		next := &lineCell{gen: g}
		if dead {
			// Full since now, which is after the reset, and not since long
			// ago: else a decision whose reading is from before the reset
			// would find credit there that this reading cannot have.
			next.Init(max(g.Fresh(), g.At(now).Tick))
		} else if tat, ok := c.Freeze(); ok {
			next.Init(c.gen.Forward(tat, g))
		} else {
			continue // it has just died
		}
		if invariants.On {
			invariants.Replace(c.Alive(), c.gen.chain, g.chain, 0, next.word.Load())
		}
		if l.cell.CompareAndSwap(c, next) && invariants.On {
			invariants.Happened(invariants.Replaced)
		}
	}
}

// Allow reports whether one token was there, and takes it.
func (l *Limiter) Allow() bool { return l.AllowN(1) }

// AllowN reports whether n tokens were there, and takes them all or none.
func (l *Limiter) AllowN(n int) bool {
	for {
		now, c := l.core.Now(), l.find()
		if ok, alive := c.Allow(c.gen.Limit(), c.gen.At(now), n); alive {
			return ok
		}
		l.present()
	}
}

// Take takes n tokens or none. It is refused with gcra.ErrExceedsBurst if n is
// above the burst, and with gcra.ErrCost if it is negative.
func (l *Limiter) Take(n int) gcra.Decision {
	for {
		now, c := l.core.Now(), l.find()
		if d, alive := c.Take(c.gen.Limit(), c.gen.At(now), n); alive {
			return d
		}
		l.present()
	}
}

// TakeUpTo takes as many tokens as there are, at most n. It is refused if
// there is none.
func (l *Limiter) TakeUpTo(n int) gcra.Decision {
	for {
		now, c := l.core.Now(), l.find()
		if d, alive := c.TakeUpTo(c.gen.Limit(), c.gen.At(now), n); alive {
			return d
		}
		l.present()
	}
}

// Peek tells what Take would decide, takes nothing and writes nothing.
func (l *Limiter) Peek(n int) gcra.Decision {
	for {
		now, c := l.core.Now(), l.find()
		if d, alive := c.Peek(c.gen.Limit(), c.gen.At(now), n); alive {
			return d
		}
		l.present()
	}
}

// Debit takes n tokens that were already used, whether they are there or not:
// down to an empty bucket, and on into debt, as far as WithMaxDebt. Granted
// tells how many of them fitted; it is refused if none did. Nothing is granted
// to anybody until the debt is paid.
func (l *Limiter) Debit(n int) gcra.Decision {
	for {
		now, c := l.core.Now(), l.find()
		limit := c.gen.Limit()
		if d, alive := c.Debit(limit, c.gen.At(now), n, l.core.MaxDebt(limit)); alive {
			return d
		}
		l.present()
	}
}

// Reserve books n tokens: at once if they are there, else in the next slot. Who
// reserves sleeps for [Reservation.Delay] by himself, and may give back what
// he does not use.
func (l *Limiter) Reserve(n int) Reservation { return l.reserve(l.core.Turn(), n) }

// ReserveWithin is Reserve with a bound of its own on how far away the slot may
// be, beside that of WithMaxWait. With 0 it takes the tokens now or not at all,
// as Take does, but can give them back: for who refuses rather than waits, and
// learns what a request cost when it is over.
func (l *Limiter) ReserveWithin(d time.Duration, n int) Reservation {
	return l.reserve(l.core.Turn().Within(d), n)
}

func (l *Limiter) reserve(t Turn, n int) Reservation {
	for {
		c := l.find()
		if b, d, alive := c.Book(c.gen, t, n); alive {
			return l.core.Reservation(l, c.gen, &c.Cell, t, n, b, d)
		}
		l.present()
		t = l.core.Again(t, l.core.Now())
	}
}

// Wait waits for one token: see [Limiter.WaitN].
func (l *Limiter) Wait(ctx context.Context) error { return l.WaitN(ctx, 1) }

// WaitN takes n tokens as soon as the limit permits. It books its slot at once
// and sleeps until it; slots are given in the order of booking, and who sleeps
// keeps his slot when the limit changes.
//
// It returns an error without having taken anything if the context is done,
// if its deadline or WithMaxWait is before the slot (a [WaitError], which is
// context.DeadlineExceeded or gcra.ErrLimited), if n is above the burst
// (gcra.ErrExceedsBurst) or negative (gcra.ErrCost). If the context ends while
// it sleeps it gives the tokens back, as far as nobody has booked behind them,
// and returns the context's error.
func (l *Limiter) WaitN(ctx context.Context, n int) error {
	t, err := l.core.Begin(ctx)
	if err != nil {
		return err
	}
	for {
		c := l.find()
		if b, d, alive := c.Book(c.gen, t, n); alive {
			return l.core.Finish(ctx, c.gen, t, n, b, d, &c.Cell)
		}
		l.present()
		t = l.core.Again(t, l.core.Now())
	}
}

// MaxWait returns the bound that WithMaxWait set, or gcra.Never.
func (l *Limiter) MaxWait() time.Duration { return l.core.MaxWait() }

// Limit returns the limit in force.
func (l *Limiter) Limit() gcra.Limit { return *l.core.Current().Limit() }

// SetLimit changes the limit. The bucket keeps its tokens, the fraction of one
// included, and at most the new burst; debt stays, in tokens, and is paid at
// the new rate. The limit's Start means nothing here. An equal limit changes
// nothing. Decisions go on meanwhile, and who sleeps in Wait keeps his slot.
func (l *Limiter) SetLimit(limit gcra.Limit) {
	l.core.SetLimit(limit, nil)
	l.present()
}

// Reset makes the bucket what it would be if nothing had ever been taken from
// it. Waiters that sleep keep their slots, and nothing that was booked before
// is given back after.
func (l *Limiter) Reset() {
	for {
		now, c := l.core.Now(), l.find()
		if c.Reset(c.gen, c.gen.At(now)) {
			return
		}
	}
}
