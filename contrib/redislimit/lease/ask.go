package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A flight is one caller's question to the store about a key: who finds one under
// way waits for it. It ends, by its done, after the entry has the answer and no
// longer has the flight.
type flight struct {
	done chan struct{}

	// Read after done, or of a flight that never ends.
	d    gcra.Decision
	err  error // why there is no answer, if that is not the caller's own context
	gone bool  // the entry has left the map, and is not to be used
}

// begin returns the flight that is under way, or one that is the caller's.
func (e *entry) begin(own *flight) (f *flight, mine bool) {
	for {
		if f := e.flight.Load(); f != nil {
			return f, false
		}
		if e.flight.CompareAndSwap(nil, own) {
			return own, true
		}
	}
}

func (e *entry) end(f *flight) {
	// The flight leaves before it wakes anybody: who wakes may begin the next.
	e.flight.Store(nil)
	close(f.done)
}

// ask decides where what is known here is not enough.
func (l *Limiter) ask(ctx context.Context, key string, n int) (gcra.Decision, error) {
	limit := l.store.Limit()
	if rate, _ := limit.Rate(); n <= 0 || n > limit.Capacity() || rate == 0 || limit == gcra.Unlimited() {
		return l.direct(ctx, key, n)
	}
	for {
		if l.closed.Load() {
			return l.refusal(n), ErrClosed
		}
		e := l.entry(key)
		if e == nil {
			return l.direct(ctx, key, n)
		}
		f, mine := e.begin(&flight{done: make(chan struct{})})
		switch {
		case mine:
			if d, err, done := l.fly(ctx, e, f, key, n); done {
				return d, err
			}
		case f.gone:
			continue
		default:
			select {
			case <-f.done:
			case <-ctx.Done():
				return l.refusal(n), ctx.Err()
			}
			if f.err != nil {
				return f.d, f.err
			}
		}
		if d, ok := e.block.Load().decide(l.now(), n); ok {
			return d, nil
		}
	}
}

// direct lets the store decide on this one request.
func (l *Limiter) direct(ctx context.Context, key string, n int) (gcra.Decision, error) {
	if l.closed.Load() {
		return l.refusal(n), ErrClosed
	}
	l.asked.Add(1)
	loan, err := l.store.Lend(ctx, key, n, n)
	if err != nil && loan.Decision.OK() {
		return l.refusal(n), err
	}
	return loan.Decision, err
}

// refusal is the decision that goes with an error: who does not look at that refuses.
func (l *Limiter) refusal(n int) gcra.Decision {
	limit := l.store.Limit()
	if limit == gcra.Unlimited() {
		limit = gcra.Limit{}
	}
	return gcra.Refuse(&limit, gcra.At(&limit, 0), max(n, 1))
}

// fly asks the store, for n tokens and a block, and ends the flight. It is not done
// if the answer came too late for a part of the request.
func (l *Limiter) fly(ctx context.Context, e *entry, f *flight, key string, n int) (d gcra.Decision, err error, done bool) {
	defer e.end(f)
	if l.closed.Load() {
		// Close may have been here already, and would not come again.
		return l.refusal(n), ErrClosed, true
	}
	b := e.block.Load()
	asked := l.now()
	if d, ok := b.decide(asked, n); ok {
		return d, nil, true // another flight ended just before
	}
	l.resize(e, b, asked)
	held := b.takeOut(asked)
	rest := n - held
	most := max(rest, e.size)

	loan, err := l.lend(ctx, key, rest, most)
	d = loan.Decision
	now := l.now()
	if err == nil && d.OK() && now >= asked+l.life {
		l.lost.Add(int64(d.Granted()))
		err = fmt.Errorf("weir: lease: the store answered after %v, when the lease was over: %w", now-asked, context.DeadlineExceeded)
	}
	if err != nil {
		if d.OK() {
			d = l.refusal(n)
		}
		b.putBack(held)
		if ctx.Err() == nil {
			f.d, f.err = d, err
		}
		return d, err, true
	}

	next := answered(d, rest, asked, l.life)
	if d.Granted() < most && d.Remaining() == 0 {
		next.pause(l.life / 100)
	}
	if !d.OK() {
		b.carry(next, held)
		e.block.Store(next)
		if whole, ok := next.refuse(asked, n); ok {
			d = whole // of the request, not only of what it lacked
		}
		return d, nil, true
	}
	if held > 0 && now >= b.until {
		l.lost.Add(int64(held)) // they expired meanwhile
		held = 0
	}
	next.until, next.began = asked+l.life, asked
	next.granted, next.whole = d.Granted(), d.Granted() >= most
	l.leased.Add(int64(next.granted))
	// The request is served before anybody else sees the tokens; or, if what
	// was held has expired, they are there for the next attempt.
	spare := held + next.granted
	if done = spare >= n; done {
		d = next.grant(now, spare, n)
		spare -= n
	}
	if spare > 0 { // else there is nothing to give back, and the way back need not be kept
		next.settle = loan.Settle
	}
	next.left.Store(int64(spare))
	e.block.Store(next)
	return d, nil, done
}

// lend asks the store, and no longer than a lease lasts.
func (l *Limiter) lend(ctx context.Context, key string, least, most int) (Loan, error) {
	ctx, cancel := context.WithTimeout(ctx, l.life)
	defer cancel()
	l.asked.Add(1)
	return l.store.Lend(ctx, key, least, most)
}

// resize sets the size of the key's next block, by what became of the last.
func (l *Limiter) resize(e *entry, b *block, now time.Duration) {
	switch {
	case b.granted == 0:
	case now >= b.until:
		left := b.left.Swap(0)
		l.lost.Add(left)
		e.size = b.granted - int(left)
		b.granted = 0 // it says no more
	case b.whole && now-b.began < l.life/2:
		e.size = 2 * min(e.size, b.granted)
	}
	most := max(1, l.store.Limit().Capacity()/l.parts)
	if l.most > 0 {
		most = min(most, l.most)
	}
	e.size = min(max(e.size, l.first), most)
}
