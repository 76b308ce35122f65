package redislimit

import (
	"context"
	"errors"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
)

// A lag is how late the last Wait that slept was after its slot, as far as it is
// made up for. It counts from before the way to Redis, since the slot may have
// been that early by this clock.
type lag struct{ woke, late time.Duration }

// Wait waits for one token of the key: see [Limiter.WaitN].
func (l *Limiter) Wait(ctx context.Context, key string) error { return l.WaitN(ctx, key, 1) }

// WaitN takes n tokens of the key as soon as the limit permits. It books its slot
// in one round trip and sleeps until it, counted from the answer, so never less
// than it has to; slots are given in the order in which Redis is reached.
//
// It returns an error without having taken anything if the context is done, if
// its deadline or WithMaxWait is before the slot (an atomic.WaitError, which is
// context.DeadlineExceeded or gcra.ErrLimited), if n is above the burst
// (gcra.ErrExceedsBurst) or negative (gcra.ErrCost). If the context ends while it
// sleeps it gives the tokens back, as far as nobody has booked behind them, in a
// round trip that the context's end does not cut short, and returns the context's
// error. If it ends while Redis is asked, that may have been booked, and stays so: as
// of any call without an answer nothing is known of it. If Redis does not answer it waits by the policy: Closed returns an error,
// Open nil, Local waits for the local limiter.
func (l *Limiter) WaitN(ctx context.Context, key string, n int) error {
	deadline, err := left(ctx)
	if err != nil {
		return err
	}
	t, r, err := l.book(ctx, key, deadline, n)
	switch {
	case err != nil:
		return err
	case !r.OK():
		return refusal(r.d, deadline, t.g.wait)
	case r.delay <= 0:
		return nil
	}
	if err := r.sleep(ctx); err != nil {
		return err
	}
	woke := l.now()
	if owed := min(woke-t.began-r.delay, l.cfg.catchUp); owed > 0 {
		l.lag.Store(&lag{woke, owed})
	}
	return nil
}

// book books for a wait, on the key's schedule.
func (l *Limiter) book(ctx context.Context, key string, deadline time.Duration, n int) (turn, *Reservation, error) {
	t := l.begin()
	defer l.end()
	late := time.Duration(0)
	if g := l.lag.Load(); g != nil && t.began-g.woke <= l.cfg.catchUp {
		late = g.late
	}
	r, err := l.reserve(ctx, t, key, deadline, late, n)
	return t, r, err
}

// left returns the time until the context's deadline, or its error.
func left(ctx context.Context) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	end, ok := ctx.Deadline()
	if !ok {
		return gcra.Never, nil
	}
	d := time.Until(end)
	if d < 0 {
		return 0, context.DeadlineExceeded // before its timer told the context
	}
	return d, nil
}

// sleep sleeps until the slot. If the context ends before, the booking goes back.
func (r *Reservation) sleep(ctx context.Context) error {
	start := time.Now()
	timer := time.NewTimer(r.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
	}
	// Ask the time, not the timer: one that is due may not have been run, and the
	// slot wins.
	if time.Since(start) >= r.delay {
		return nil
	}
	if err := r.Cancel(context.WithoutCancel(ctx)); err != nil && !errors.Is(err, ErrUnavailable) {
		return errors.Join(ctx.Err(), err)
	}
	return ctx.Err()
}

// refusal is what a Wait returns that booked nothing.
func refusal(d gcra.Decision, deadline, most time.Duration) error {
	err := d.Err()
	if err != gcra.ErrLimited {
		return err
	}
	delay := d.RetryAfter()
	if delay > deadline && delay <= most && delay != gcra.Never {
		err = context.DeadlineExceeded
	}
	return &gatomic.WaitError{Delay: delay, Err: err}
}
