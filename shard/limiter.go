package shard

import (
	"context"
	"hash/maphash"
	"iter"
	"sync/atomic"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/invariants"
)

// A Limiter limits each key of type K by a bucket of its own. Make it with
// [New]; the zero Limiter is not usable. It must not be copied, and all
// methods are safe for concurrent use. Decisions on keys that are present
// neither lock nor allocate; a new key costs about 70 bytes, with a key of one
// word, until it is forgotten.
//
// Keys are exact: they are compared, never taken for one another by their
// hash. A key that is not equal to itself (NaN) is never remembered and gets
// the policy of [WithMaxKeys]. A key whose dynamic type cannot be compared
// panics, as it does in a map.
type Limiter[K comparable] struct {
	core   gatomic.Core
	seed   maphash.Seed
	bins   []bin[K]
	most   int64 // keys, 0 for no bound
	policy Policy
	report[K]

	keys      invariants.Counter // entries in the maps, exactly
	forgotten atomic.Int64
	capped    atomic.Int64
	roomHand  atomic.Uint64 // the bin where the search for room goes on
	ahead     atomic.Pointer[ahead]
}

// A cell belongs to one generation, which says whose ticks it counts.
type cell struct {
	gatomic.Cell
	gen *gatomic.Generation
}

// New returns a limiter that gives every key that limit.
func New[K comparable](limit gcra.Limit, opts ...Option) *Limiter[K] {
	cfg := config{shards: 64}
	for _, opt := range opts {
		opt(&cfg)
	}
	l := &Limiter[K]{
		seed: maphash.MakeSeed(),
		bins: make([]bin[K], cfg.shards),
		most: cfg.most, policy: cfg.policy, report: newReport[K](&cfg),
	}
	for i := range l.bins {
		l.bins[i].init()
	}
	l.core.Init(limit, cfg.core...)
	return l
}

func (l *Limiter[K]) bin(key K) *bin[K] {
	return &l.bins[l.index(key)]
}

func (l *Limiter[K]) index(key K) uint64 {
	return maphash.Comparable(l.seed, key) & uint64(len(l.bins)-1)
}

// find reads the clock, then finds the key's cell, then the generation in
// force, in that order: a charge under the old limit must not be dated after
// the change. The cell may be nil, dead, frozen or of an older generation.
func (l *Limiter[K]) find(b *bin[K], key K) (now time.Duration, c *cell, g *gatomic.Generation) {
	now = l.core.Now()
	c, _ = b.cells.Load(key)
	return now, c, l.core.Current()
}

// still reports whether what balance said of the cell is what the key had at one
// instant, under that generation. A decision that writes nothing asks it before
// it is given; one that writes reads all anew. Otherwise a cell that was found
// before the key was charged, or reset, could be converted to a limit that was
// set after that.
func (l *Limiter[K]) still(b *bin[K], key K, c *cell, g *gatomic.Generation) bool {
	if c != nil && c.gen == g && !c.Dead() {
		return true // frozen or not: it was the key's until the generation's end
	}
	now, _ := b.cells.Load(key) // cells do not come back
	return now == c && l.core.Current() == g
}

// read returns a key's TAT, for who will not write it, and its generation.
func (l *Limiter[K]) read(b *bin[K], key K) (now time.Duration, tat int64, g *gatomic.Generation) {
	for {
		now, c, g := l.find(b, key)
		tat := balance(c, g)
		if l.still(b, key, c, g) {
			return now, tat, g
		}
	}
}

// balance returns the TAT of a key under the generation.
func balance(c *cell, g *gatomic.Generation) int64 {
	if c == nil {
		return g.Fresh()
	}
	tat, ok := c.State()
	if !ok {
		return g.Fresh()
	}
	return c.gen.Forward(tat, g)
}

// Allow reports whether one token was there for the key, and takes it.
func (l *Limiter[K]) Allow(key K) bool { return l.Take(key, 1).OK() }

// AllowN reports whether n tokens were there, and takes them all or none.
func (l *Limiter[K]) AllowN(key K, n int) bool { return l.Take(key, n).OK() }

// Take takes n of the key's tokens or none. It is refused with
// gcra.ErrExceedsBurst if n is above the burst, and with gcra.ErrCost if it is
// negative.
func (l *Limiter[K]) Take(key K, n int) gcra.Decision {
	b := l.bin(key)
	for {
		now, c, g := l.find(b, key)
		if c != nil && c.gen == g {
			if d, alive := c.Take(g.Limit(), g.At(now), n); alive {
				return l.answer(&b.tally, key, d)
			}
		}
		if d, done := l.takeNew(b, key, c, g, now, n, gcra.Take); done {
			return l.answer(&b.tally, key, d)
		}
	}
}

// TakeUpTo takes as many of the key's tokens as there are, at most n. It is
// refused if there is none.
func (l *Limiter[K]) TakeUpTo(key K, n int) gcra.Decision {
	b := l.bin(key)
	for {
		now, c, g := l.find(b, key)
		if c != nil && c.gen == g {
			if d, alive := c.TakeUpTo(g.Limit(), g.At(now), n); alive {
				return l.answer(&b.tally, key, d)
			}
		}
		if d, done := l.takeNew(b, key, c, g, now, n, gcra.TakeUpTo); done {
			return l.answer(&b.tally, key, d)
		}
	}
}

// Peek tells what Take would decide, takes nothing and writes nothing. It does
// not know whether there is room for a new key.
func (l *Limiter[K]) Peek(key K, n int) gcra.Decision {
	now, tat, g := l.read(l.bin(key), key)
	d := gcra.Peek(g.Limit(), tat, g.At(now), n)
	if l.dry {
		return d.DryRun()
	}
	return d
}

// Debit takes n tokens that were already used, whether they are there or not:
// down to an empty bucket, and on into debt, as far as WithMaxDebt. Granted
// tells how many of them fitted; it is refused if none did.
func (l *Limiter[K]) Debit(key K, n int) gcra.Decision {
	b := l.bin(key)
	for {
		now, c, g := l.find(b, key)
		if c != nil && c.gen == g {
			if d, alive := c.Debit(g.Limit(), g.At(now), n, l.core.MaxDebt(g.Limit())); alive {
				return l.answer(&b.tally, key, d)
			}
		}
		d, done := l.takeNew(b, key, c, g, now, n, func(limit *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
			return gcra.Debit(limit, tat, at, n, l.core.MaxDebt(limit))
		})
		if done {
			return l.answer(&b.tally, key, d)
		}
	}
}

// Wait waits for one of the key's tokens: see [Limiter.WaitN].
func (l *Limiter[K]) Wait(ctx context.Context, key K) error { return l.WaitN(ctx, key, 1) }

// WaitN takes n of the key's tokens as soon as the limit permits. It books its
// slot at once and sleeps until it; slots are given in the order of booking,
// and who sleeps keeps his slot when the limit changes. Its errors are those of
// the Limiter of package atomic.
func (l *Limiter[K]) WaitN(ctx context.Context, key K, n int) error {
	bin := l.bin(key)
	t, err := l.core.Begin(ctx)
	if err != nil {
		l.answerWait(&bin.tally, key, err, time.Time{})
		return err
	}
	if l.dry {
		l.Take(key, n)
		return nil
	}
	p := l.book(bin, key, t, n)
	since := l.asleep(p.d.OK() && p.b.Slot > p.turn.At(p.gen).Tick)
	if err = p.d.Err(); err == nil || !p.turnedAway {
		err = l.core.Finish(ctx, p.gen, p.turn, n, p.b, p.d, p.held())
	}
	l.answerWait(&bin.tally, key, err, since)
	return err
}

// Reserve books n of the key's tokens: at once if they are there, else in the
// next slot. Who reserves sleeps for the reservation's Delay by himself, and
// may give back what he does not use. It allocates what Settle may need to find
// the key again.
func (l *Limiter[K]) Reserve(key K, n int) gatomic.Reservation {
	return l.reserve(nil, key, gcra.Never, n)
}

// ReserveWithin is Reserve with a bound of its own on how far away the slot may
// be, beside that of WithMaxWait. With 0 it takes the tokens now or not at all,
// as Take does, but can give them back.
func (l *Limiter[K]) ReserveWithin(key K, d time.Duration, n int) gatomic.Reservation {
	return l.reserve(nil, key, d, n)
}

func (l *Limiter[K]) reserve(owner gatomic.Debtor, key K, within time.Duration, n int) gatomic.Reservation {
	if owner == nil {
		owner = l.For(key)
	}
	bin := l.bin(key)
	if l.dry {
		within = 0
	}
	p := l.book(bin, key, l.core.Turn().Within(within), n)
	p.d = l.answer(&bin.tally, key, p.d)
	return l.core.Reservation(owner, p.gen, p.held(), p.turn, n, p.b, p.d)
}

// A place is where a booking stands. Its cell is nil if it stands nowhere.
type place struct {
	turn gatomic.Turn
	gen  *gatomic.Generation
	cell *cell
	b    gcra.Booking
	d    gcra.Decision

	turnedAway bool // for want of room: no slot will ever come of it
}

func (p *place) held() *gatomic.Cell {
	if p.cell == nil {
		return nil
	}
	return &p.cell.Cell
}

func (l *Limiter[K]) book(bin *bin[K], key K, t gatomic.Turn, n int) place {
	for {
		c, ok := bin.cells.Load(key) // after the turn's reading
		if g := l.core.Current(); ok && c.gen == g {
			if b, d, alive := c.Book(g, t, n); alive {
				return place{turn: t, gen: g, cell: c, b: b, d: d}
			}
		}
		if p, done := l.bookNew(bin, key, c, t, n); done {
			return p
		}
	}
}

// Reset makes the key what it would be if nothing had ever been taken from it.
// Waiters that sleep keep their slots, and nothing that was booked before is
// given back after.
func (l *Limiter[K]) Reset(key K) {
	b := l.bin(key)
	for {
		now, c, g := l.find(b, key)
		switch {
		case c == nil, c.Dead(), c.gen == g && c.Reset(g, g.At(now)):
			// A dead cell stays, whatever its generation, until a charge
			// replaces it or a sweep finds it.
			return
		case c.gen != g:
			l.renew(b, key, c)
		}
	}
}

// Limit returns the limit in force.
func (l *Limiter[K]) Limit() gcra.Limit { return *l.core.Current().Limit() }

// Len returns the number of keys that are remembered: those that owe time and
// those that have not been forgotten yet.
func (l *Limiter[K]) Len() int { return int(l.keys.Load()) }

// All iterates over the keys that are remembered, with what a Peek of 0 says
// of each. It sees every key that is there from beginning to end of the
// iteration, and may see those that come or go meanwhile. The loop may use the
// limiter.
func (l *Limiter[K]) All() iter.Seq2[K, gcra.Decision] {
	return func(yield func(K, gcra.Decision) bool) {
		more := true
		for i := range l.bins {
			l.bins[i].cells.Range(func(key K, c *cell) bool {
				now := l.core.Now()
				g := l.core.Current()
				if !c.Dead() {
					more = yield(key, gcra.Peek(g.Limit(), balance(c, g), g.At(now), 0))
				}
				return more
			})
			if !more {
				return
			}
		}
	}
}

// For returns the view of one key.
func (l *Limiter[K]) For(key K) View[K] { return View[K]{l, key} }

func (l *Limiter[K]) maxWait() time.Duration { return l.core.MaxWait() }
