package atomic

import (
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A Reservation is what Reserve booked. It is returned by value and used by
// its address; it must not be copied after first use. Methods are safe for
// concurrent use. The zero Reservation is one that took nothing.
//
// One call settles it, the first of Cancel and Settle; later ones do nothing.
// Nobody has to: a reservation that is forgotten has used its tokens.
type Reservation struct {
	core  *Core
	owner Debtor
	gen   *Generation
	cell  *Cell
	from  Lender // if it was not booked in a cell; then owner is nil too
	key   uint64
	stamp uint64
	b     gcra.Booking
	d     gcra.Decision
	delay time.Duration
	n     int
	parts []Part // of a joint one; then core, gen and cell are nil
	done  atomic.Bool
}

// A Debtor is who pays when more was used than was reserved.
type Debtor interface {
	Debit(n int) gcra.Decision
}

// A Lender is an engine that keeps its words elsewhere than in cells, and finds
// the one that was booked from again by a number. It gives back what the stamp,
// a number of its own, permits.
type Lender interface {
	Charge(key uint64, n int)
	GiveBack(g *Generation, key, stamp uint64, b gcra.Booking, n int)
}

// Loan returns the reservation of a booking that a lender made.
func (c *Core) Loan(from Lender, key, stamp uint64, g *Generation, t Turn, n int, b gcra.Booking, d gcra.Decision) Reservation {
	return Reservation{core: c, from: from, key: key, stamp: stamp, gen: g, b: b, d: d, delay: t.until(g, b, d), n: n}
}

// Reservation returns the reservation of a booking in the cell, which is nil if
// the booking was stored nowhere.
func (c *Core) Reservation(owner Debtor, g *Generation, cell *Cell, t Turn, n int, b gcra.Booking, d gcra.Decision) Reservation {
	return Reservation{core: c, owner: owner, gen: g, cell: cell, b: b, d: d, delay: t.until(g, b, d), n: n}
}

// until is the time from the turn's reading to the slot, or to where it would be.
func (t Turn) until(g *Generation, b gcra.Booking, d gcra.Decision) time.Duration {
	if !d.OK() {
		return d.RetryAfter()
	}
	return gcra.Until(g.Limit(), b.Slot, t.At(g))
}

// OK reports whether the tokens were booked.
func (r *Reservation) OK() bool { return r.d.OK() }

// Err returns nil if the tokens were booked, and else what a Decision would:
// gcra.ErrLimited if the slot is further away than WithMaxWait or lies past
// the range.
func (r *Reservation) Err() error { return r.d.Err() }

// Delay returns the time from the reservation to its slot: 0 if the tokens were
// there. If they were not booked it is how long that would have taken, or
// gcra.Never.
func (r *Reservation) Delay() time.Duration { return r.delay }

// Cancel gives back what was booked: the last booking, before its slot, whole;
// else what the limit has not refilled since, and nothing while others wait
// for more than a burst. A slot in the middle of the queue stays empty. Nothing
// comes back across a Reset or a change of limit, and after a Move it comes back
// where it was booked.
func (r *Reservation) Cancel() { r.Settle(0) }

// Settle says what was really used, once it is known. If it is less than was
// reserved, the rest comes back as far as Cancel would give it; a part does
// not come back before its slot, nor after the time in which the limit refills
// the whole. So estimate low: if it is more, the rest is charged by Debit,
// which is exact. A negative number is ignored and settles nothing.
func (r *Reservation) Settle(actual int) {
	if actual < 0 || !r.d.OK() || !r.done.CompareAndSwap(false, true) {
		return
	}
	switch {
	case r.core == nil:
		r.settleParts(actual)
	case r.d.Err() != nil:
		// A dry run let it pass, and goes on as if it had not.
	case r.from != nil && actual > r.n:
		r.from.Charge(r.key, actual-r.n)
	case r.from != nil:
		r.from.GiveBack(r.gen, r.key, r.stamp, r.b, r.n-actual)
	case actual > r.n:
		r.owner.Debit(actual - r.n)
	case actual < r.n && r.cell != nil:
		r.core.giveBack(r.gen, r.cell, r.b, r.n-actual)
	}
}
