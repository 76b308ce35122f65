package lease

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// ErrClosed reports a decision that was asked for after Close.
var ErrClosed = errors.New("weir: lease: limiter is closed")

// A Limiter decides by leases of a shared Store. Make it with [New]; the zero
// Limiter is not usable. It must not be copied, and all methods are safe for
// concurrent use. A decision by what is leased takes no lock, does not allocate,
// and costs a reading of the clock and a look into a map; any other costs a round
// trip, or waits for that of another.
type Limiter struct {
	store Store
	life  time.Duration
	first int
	most  int // 0 for no bound
	parts int
	clock clock.Clock
	born  time.Duration

	keys   keys
	closed atomic.Bool
	tally
}

// New returns a limiter that takes leases of the store. It fails if there is no
// store, or if the options ask for a first block that is larger than the largest.
func New(store Store, opts ...Option) (*Limiter, error) {
	cfg := config{life: time.Second, first: 1, parts: 8, keys: 1 << 20, clock: clock.System()}
	for _, opt := range opts {
		opt(&cfg)
	}
	switch {
	case store == nil:
		return nil, errors.New("weir: lease: New without a store")
	case cfg.most > 0 && cfg.first > cfg.most:
		return nil, fmt.Errorf("weir: lease: a first block of %d tokens is above the maximum of %d", cfg.first, cfg.most)
	}
	l := &Limiter{
		store: store, life: cfg.life, first: cfg.first, most: cfg.most, parts: cfg.parts,
		clock: cfg.clock, born: cfg.clock.Now(),
	}
	l.keys.init(cfg.keys)
	return l, nil
}

// now is the time since the limiter was made; an earlier reading counts as that.
func (l *Limiter) now() time.Duration { return max(l.clock.Now()-l.born, 0) }

// Limit returns the store's limit in force.
func (l *Limiter) Limit() gcra.Limit { return l.store.Limit() }

// Allow reports whether one of the key's tokens was there, and takes it. It is
// false where Take has an error.
func (l *Limiter) Allow(ctx context.Context, key string) bool {
	d, err := l.Take(ctx, key, 1)
	return err == nil && d.OK()
}

// Decide is Take, by the name that package httplimit has for it.
func (l *Limiter) Decide(ctx context.Context, key string, n int) (gcra.Decision, error) {
	return l.Take(ctx, key, n)
}

// Take takes n of the key's tokens or none: of the lease, or of the store. It is
// refused with gcra.ErrExceedsBurst if n is above the burst, and with gcra.ErrCost
// if it is negative. See the package's comment for what the decision's numbers
// mean.
//
// The error is the context's if it is done or ends while the store is asked, then
// nothing was taken here, though the store may have charged what it was asked for;
// [ErrClosed]; or the store's. Then the decision is a refusal. A refusal is no error.
func (l *Limiter) Take(ctx context.Context, key string, n int) (gcra.Decision, error) {
	if err := ctx.Err(); err != nil {
		return l.refusal(n), err
	}
	if n > 0 && !l.closed.Load() {
		// The clock before the block: a reading that is older than the block
		// makes its lease look longer by no more than this call takes.
		now := l.now()
		if e, ok := l.keys.of.Load(key); ok {
			if d, ok := e.block.Load().decide(now, n); ok {
				return d, nil
			}
		}
	}
	return l.ask(ctx, key, n)
}

// decide decides by what is known here, if that is enough.
func (b *block) decide(now time.Duration, n int) (gcra.Decision, bool) {
	if d, ok := b.spend(now, n); ok {
		return d, true
	}
	return b.refuse(now, n)
}
