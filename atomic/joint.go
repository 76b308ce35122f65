package atomic

import (
	"context"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A Part is one limiter's share in a joint reservation: it was asked for Times
// as many tokens as the whole.
type Part struct {
	Reservation
	Times int
}

// Joined returns the reservation of n tokens that its parts, in the order in
// which they were booked, make together, where d is what they decided together.
// Its slot is the latest of theirs. To settle it is to settle the parts, the
// last one first. It keeps the slice.
func Joined(d gcra.Decision, n int, parts []Part) Reservation {
	delay := d.RetryAfter()
	if d.OK() {
		delay = 0
		for i := range parts {
			delay = max(delay, parts[i].delay)
		}
	}
	return Reservation{d: d, n: n, delay: delay, parts: parts}
}

func (r *Reservation) settleParts(actual int) {
	for i := len(r.parts) - 1; i >= 0; i-- {
		p := &r.parts[i]
		used, _ := gcra.Cost(actual, p.Times)
		p.Settle(used)
	}
}

// Decision returns what was decided: for a slot in the future a grant, with 0
// remaining.
func (r *Reservation) Decision() gcra.Decision { return r.d }

// Wait sleeps for Delay from now, in the limiter's way: it spins and jitters.
// If the context ends before, or its deadline is nearer than that, it cancels
// the reservation and returns the error that a limiter's Wait would. A
// reservation that is not OK returns its error at once.
func (r *Reservation) Wait(ctx context.Context) error {
	if err := r.Err(); !r.OK() {
		if err == gcra.ErrLimited {
			err = &WaitError{r.delay, err}
		}
		return err
	}
	if r.delay <= 0 {
		return nil
	}
	err := ctx.Err()
	if err == nil {
		err = r.sleep(ctx)
	}
	if err != nil {
		r.Cancel()
	}
	return err
}

func (r *Reservation) sleep(ctx context.Context) error {
	room := gcra.Never
	if end, ok := ctx.Deadline(); ok {
		if room = time.Until(end) - r.delay; room < 0 {
			return &WaitError{r.delay, context.DeadlineExceeded}
		}
	}
	c := r.last()
	if err := c.pause(ctx, r.delay); err != nil {
		return err
	}
	c.linger(ctx, room)
	return nil
}

// last returns the core whose slot the reservation has to wait for.
func (r *Reservation) last() *Core {
	for i := range r.parts {
		if p := &r.parts[i].Reservation; p.delay == r.delay {
			return p.last()
		}
	}
	return r.core
}

// MaxWait returns the bound that WithMaxWait set, or gcra.Never.
func (c *Core) MaxWait() time.Duration { return c.maxWait }

// Within bounds how far away the turn's slot may be, counted from its reading.
// With 0 it is now or not at all.
func (t Turn) Within(d time.Duration) Turn {
	d = max(d, 0)
	t.deadline, t.longest = min(t.deadline, d), min(t.longest, d)
	return t
}
