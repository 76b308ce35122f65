package shard

import (
	"context"
	"sync/atomic"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/invariants"
)

// unstored is the stamp of a booking that stands nowhere. Those of a table's
// resets begin after it.
const unstored = 0

// A spot is where a booking stands in a table.
type spot struct {
	turn  gatomic.Turn
	gen   *gatomic.Generation
	stamp int64
	b     gcra.Booking
	d     gcra.Decision

	turnedAway bool // for want of room: no slot will ever come of it
}

func (t *Table[K]) book(h uint64, st *stripe, ok bool, turn gatomic.Turn, n int) spot {
	for ok {
		b, g := t.current() // after the turn's reading
		p := spot{turn: turn, gen: g}
		if s := t.lookup(b, h); s != nil {
			if s.book(h, &p, n, &t.resets) {
				return p
			}
			continue
		}
		if p.b, p.d = turn.Book(g, g.Fresh(), n); !p.d.OK() || p.b.End == g.Fresh() {
			if !t.inForce(b) {
				continue
			}
			return p
		}
		_, end := t.insert(b, h, st, func(g *gatomic.Generation, tat int64, now time.Duration) (int64, gcra.Decision) {
			p.turn, p.stamp = t.core.Again(turn, now), t.resets.Load()
			if p.b, p.d = p.turn.Book(g, tat, n); !p.d.OK() {
				return tat, p.d
			}
			return p.b.End, p.d
		})
		switch end {
		case decided:
			return p
		case noRoom:
			return t.turnAwayBooking(st, p, n)
		}
	}
	_, g := t.current()
	p := spot{turn: turn, gen: g}
	if p.b, p.d = turn.Book(g, g.Fresh(), n); !p.d.OK() || p.b.End == g.Fresh() {
		return p // as for any key that needs no slot
	}
	return t.turnAwayBooking(st, p, n)
}

func (t *Table[K]) turnAwayBooking(st *stripe, p spot, n int) spot {
	p.d, p.turnedAway, p.stamp = t.policy.turnAway(&t.core, &st.capped, n, p.d), true, unstored
	if at := p.turn.At(p.gen); p.b.Slot > at.Tick {
		p.d = gcra.Refuse(p.gen.Limit(), at, n)
	}
	return p
}

// book books in the slot, if it is still the key's.
func (s *slot) book(h uint64, p *spot, n int, resets *atomic.Int64) (here bool) {
	for {
		tat := s.tat.Load()
		if tat < 0 || s.hash.Load() != h {
			return false
		}
		p.stamp = resets.Load() // between the TAT and the swap: see reset
		p.b, p.d = p.turn.Book(p.gen, tat, n)
		if invariants.On && p.d.OK() {
			invariants.Book(p.gen.Limit(), p.turn.At(p.gen), tat, p.b, n)
		}
		if p.d.OK() && p.b.End != tat {
			if s.tat.CompareAndSwap(tat, p.b.End) {
				return true
			}
		} else if s.tat.Load() == tat {
			return true
		}
	}
}

// Wait waits for one of the key's tokens: see [Table.WaitN].
func (t *Table[K]) Wait(ctx context.Context, key K) error { return t.WaitN(ctx, key, 1) }

// WaitN takes n of the key's tokens as soon as the limit permits. It books its
// slot at once and sleeps until it; slots are given in the order of booking,
// and who sleeps keeps his slot when the limit changes. Its errors are those of
// the Limiter of package atomic.
func (t *Table[K]) WaitN(ctx context.Context, key K, n int) error {
	h, st, ok := t.hash(key)
	turn, err := t.core.Begin(ctx)
	if err != nil {
		t.answerWait(&st.tally, key, err, time.Time{})
		return err
	}
	if t.dry {
		t.Take(key, n)
		return nil
	}
	p := t.book(h, st, ok, turn, n)
	since := t.asleep(p.d.OK() && p.b.Slot > p.turn.At(p.gen).Tick)
	if err = p.d.Err(); err == nil || !p.turnedAway {
		var tat int64
		tat, err = t.core.Sleep(ctx, p.gen, p.turn, p.b, p.d)
		switch {
		case err != nil && p.d.OK():
			t.giveBack(p.gen, h, p.stamp, p.b, n)
		case tat > 0:
			t.raise(p.gen, h, p.stamp, tat)
		}
	}
	t.answerWait(&st.tally, key, err, since)
	return err
}

// Reserve books n of the key's tokens: at once if they are there, else in the
// next slot. Who reserves sleeps for the reservation's Delay by himself, and
// may give back what he does not use. It does not allocate.
func (t *Table[K]) Reserve(key K, n int) gatomic.Reservation {
	return t.reserve(nil, key, gcra.Never, n)
}

// ReserveWithin is Reserve with a bound of its own on how far away the slot may
// be, beside that of WithMaxWait. With 0 it takes the tokens now or not at all,
// as Take does, but can give them back.
func (t *Table[K]) ReserveWithin(key K, d time.Duration, n int) gatomic.Reservation {
	return t.reserve(nil, key, d, n)
}

func (t *Table[K]) reserve(_ gatomic.Debtor, key K, within time.Duration, n int) gatomic.Reservation {
	h, st, ok := t.hash(key)
	if t.dry {
		within = 0
	}
	p := t.book(h, st, ok, t.core.Turn().Within(within), n)
	p.d = t.answer(&st.tally, key, p.d)
	if !ok {
		h = 0 // no key has that, and this one none that will be found again
	}
	return t.core.Loan((*lender[K])(t), h, uint64(p.stamp), p.gen, p.turn, n, p.b, p.d)
}

// A lender is a table as its reservations see it.
type lender[K comparable] Table[K]

func (l *lender[K]) Charge(h uint64, n int) {
	t := (*Table[K])(l)
	st := t.stripe(h)
	t.count(&st.tally, t.take(h, st, h != 0, n, t.debit))
}

func (l *lender[K]) GiveBack(g *gatomic.Generation, h, stamp uint64, b gcra.Booking, n int) {
	(*Table[K])(l).giveBack(g, h, int64(stamp), b, n)
}
