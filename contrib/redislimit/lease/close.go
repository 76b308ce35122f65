package lease

import (
	"context"
	"errors"
	"time"

	"github.com/weir-go/weir/gcra"
)

// Close ends all leases, and gives back to the store what is left of them: one
// round trip for each key that has something left which the limit has not
// refilled since it was charged. It waits for questions that are under way. If the
// context ends, the rest is not given back; like all that is not, it is lost,
// never spent. It returns the errors of the store, joined, and the context's.
//
// Decisions that are asked for afterwards get [ErrClosed]; those that race with
// Close may pass, of tokens that do not come back. Later calls do nothing.
func (l *Limiter) Close(ctx context.Context) error {
	if l.closed.Swap(true) {
		return nil
	}
	closed := &flight{done: make(chan struct{}), err: ErrClosed}
	close(closed.done)
	var errs []error
	l.keys.of.Range(func(key string, e *entry) bool {
		for {
			f, mine := e.begin(closed)
			if mine {
				break
			}
			if f.gone {
				return true
			}
			select {
			case <-f.done:
			case <-ctx.Done():
				return false
			}
		}
		if err := l.giveBack(ctx, e.block.Load()); err != nil {
			errs = append(errs, err)
		}
		return ctx.Err() == nil
	})
	if err := ctx.Err(); err != nil && !errors.Is(errors.Join(errs...), err) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// giveBack ends the lease and settles it.
func (l *Limiter) giveBack(ctx context.Context, b *block) error {
	now := l.now()
	// In one step with the last spend: what is given back is spent by nobody.
	left := int(b.left.Swap(0))
	if left == 0 {
		return nil
	}
	if now >= b.until || b.settle == nil || refilled(&b.limit, now-b.began, b.granted) {
		l.lost.Add(int64(left))
		return nil
	}
	if err := b.settle(ctx, b.granted-left); err != nil {
		l.lost.Add(int64(left))
		return err
	}
	l.returned.Add(int64(left))
	return nil
}

// refilled reports whether the limit has refilled so many tokens in that time, so
// that nothing would come back.
func refilled(limit *gcra.Limit, d time.Duration, tokens int) bool {
	since := gcra.At(limit, 0)
	_, dec := gcra.TakeUpTo(limit, since.Tick, since, tokens)
	return dec.ResetAfter() <= d
}
