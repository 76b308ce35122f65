package redislimit

import (
	"context"
	"sync/atomic"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A Reservation is what Reserve, ReserveUpTo and ReserveWithin booked. Methods are
// safe for concurrent use.
//
// One call settles it, the first of Cancel and Settle; later ones do nothing, also
// if the first one's way to Redis failed: then what it would have given back stays
// taken, until the limit has refilled it. Nobody has to settle: a reservation that
// is forgotten has used its tokens.
type Reservation struct {
	parts []part
	d     gcra.Decision
	delay time.Duration
	n     int
	local *booking // made here, while Redis did not answer
	done  atomic.Bool
}

// A part is what one key's bucket was asked for.
type part struct {
	l     *Limiter
	g     *generation
	key   string
	times int
	found found
}

// A booking is one of the local limiter.
type booking struct {
	gatomic.Reservation
	of *Limiter
}

// OK reports whether the tokens were booked.
func (r *Reservation) OK() bool { return r.d.OK() }

// Err returns nil if the tokens were booked, and else what a Decision would:
// gcra.ErrLimited if the slot is further away than WithMaxWait.
func (r *Reservation) Err() error { return r.d.Err() }

// Granted returns how many tokens were booked.
func (r *Reservation) Granted() int {
	if !r.OK() {
		return 0
	}
	return r.n
}

// Delay returns the time from the answer to the slot, in whole microseconds: 0 if
// the tokens were there. If they were not booked it is how long that would have
// taken, or gcra.Never.
func (r *Reservation) Delay() time.Duration { return r.delay }

// Decision returns what was decided: for a slot in the future a grant, with 0
// remaining.
func (r *Reservation) Decision() gcra.Decision { return r.d }

// Cancel gives back what was booked: the last booking, before its slot, whole;
// else what the limit has not refilled since, and nothing while others wait for
// more than a burst. Nothing comes back across a Reset, a change of limit, or the
// key's expiry, when its bucket was full.
func (r *Reservation) Cancel(ctx context.Context) error { return r.Settle(ctx, 0) }

// Settle says what was really used, once it is known. If it is less than was
// reserved, the rest comes back as far as Cancel would give it; a part does not
// come back before its slot, nor after the time in which the limit refills the
// whole. If it is more, the rest is charged as by Debit. A negative number is
// ignored and settles nothing.
func (r *Reservation) Settle(ctx context.Context, actual int) error {
	if actual < 0 || !r.OK() || !r.done.CompareAndSwap(false, true) {
		return nil
	}
	if r.local != nil {
		r.local.Settle(actual)
		r.local.of.owing.note(r.local.of) // which may be long after the outage's last decision
		return nil
	}
	var first error
	for i := len(r.parts) - 1; i >= 0; i-- {
		if err := r.parts[i].settle(ctx, r.n, actual); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (p *part) settle(ctx context.Context, n, actual int) error {
	took, _ := gcra.Cost(n, p.times)
	used, _ := gcra.Cost(actual, p.times)
	t := p.l.begin()
	defer p.l.end()
	switch {
	case used > took:
		_, err := p.l.debit(ctx, t, p.key, used-took)
		return err
	case used == took || t.g != p.g || p.g.trivial || p.found.stamp == "":
		return nil
	}
	defer p.l.memory.forget()
	whole := "0"
	if used == 0 {
		whole = "1"
	}
	back, _ := p.g.time(uint64(took - used))
	all, _ := p.g.time(uint64(took))
	f := p.found
	_, err := p.l.one(ctx, t, p.key, back, query{op: "back", a: whole, b: all.text(), c: f.from.text() + " " + f.end.text(), stamp: f.stamp})
	return err
}

// Reserve books n tokens of the key: at once if they are there, else in the next
// slot. Who reserves sleeps for [Reservation.Delay] by himself, and may give back
// what he does not use. The error is for questions without an answer, as in
// [Limiter.Take]; a reservation comes with it, which is not OK.
func (l *Limiter) Reserve(ctx context.Context, key string, n int) (*Reservation, error) {
	return l.ReserveWithin(ctx, key, gcra.Never, n)
}

// ReserveWithin is Reserve with a bound of its own on how far away the slot may
// be, beside that of WithMaxWait. With 0 it takes the tokens now or not at all, as
// Take does, but can give them back.
func (l *Limiter) ReserveWithin(ctx context.Context, key string, d time.Duration, n int) (*Reservation, error) {
	t := l.begin()
	defer l.end()
	return l.reserve(ctx, t, key, d, 0, n)
}

// ReserveUpTo takes as many tokens of the key as there are, at most n, and can give
// them back: Granted tells how many. It is not OK if there is none.
func (l *Limiter) ReserveUpTo(ctx context.Context, key string, n int) (*Reservation, error) {
	t := l.begin()
	defer l.end()
	d, a, err := l.takeUpTo(ctx, t, key, n)
	r := &Reservation{d: d, n: d.Granted(), delay: d.RetryAfter()}
	if a != nil && d.OK() {
		r.parts = []part{{l, t.g, key, 1, a.keys[0]}}
	}
	return r, err
}

func (l *Limiter) reserve(ctx context.Context, t turn, key string, within, late time.Duration, n int) (*Reservation, error) {
	g := t.g
	switch {
	case g.trivial:
		d := g.without(gcra.Take, n)
		return &Reservation{d: d, n: n, delay: d.RetryAfter()}, nil
	case n < 0 || n > g.limit.Capacity():
		d := l.misfit(ctx, t, key, n)
		return &Reservation{d: d, delay: d.RetryAfter()}, nil
	case n == 0:
		d, err := l.peek(ctx, t, key, 0)
		return &Reservation{d: d, delay: d.RetryAfter()}, err
	}
	cost, _ := g.time(uint64(n))
	// Who waits next may be so late, and goes on where the last one's slot ended.
	keep := span{w: uint64((l.cfg.catchUp + time.Millisecond - 1) / time.Millisecond)}
	a, err := l.one(ctx, t, key, cost, query{op: "book", a: keep.whole(), b: micros(min(within, g.wait)), c: micros(late)})
	if err != nil {
		return l.reserveLocally(g, key, within, n, err)
	}
	f := a.keys[0]
	tat, at := g.before(f.missing, f.off)
	r := &Reservation{n: n}
	if !a.ok {
		r.d = gcra.Peek(&g.limit, tat, at, n)
		r.delay = r.d.RetryAfter()
		return r, nil
	}
	_, r.d = gcra.Book(&g.limit, tat, at, at.Tick, n)
	r.delay = time.Duration(a.delay) * time.Microsecond
	r.parts = []part{{l, g, key, 1, f}}
	return r, nil
}

func (l *Limiter) reserveLocally(g *generation, key string, within time.Duration, n int, err error) (*Reservation, error) {
	var kept *booking
	d, err := l.failed(g, key, n, err, gcra.Take, func(of *shard.Limiter[string], key string, n int) gcra.Decision {
		kept = &booking{of.ReserveWithin(key, within, n), l}
		return kept.Decision()
	})
	r := &Reservation{d: d, n: n, delay: d.RetryAfter(), local: kept}
	if kept != nil {
		r.delay = kept.Delay()
	}
	return r, err
}

// micros is a duration as the script reads it.
func micros(d time.Duration) string { return span{w: uint64(max(d, 0).Microseconds())}.whole() }
