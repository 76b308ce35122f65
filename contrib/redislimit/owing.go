package redislimit

import (
	"sync"
	"sync/atomic"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
)

// owing brings what the local limiter charged to Redis, once that answers again.
// A bucket that decided here lacks what it has not refilled since at its share of
// the rate; that much is charged there, by the first decision about the key.
//
// The local bucket is settled when Redis has confirmed the charge, and one call at
// a time carries it. So nothing is lost; and what a call carried that ended without
// an answer is carried again, twice if it had arrived.
type owing struct {
	until atomic.Int64 // by then all local buckets are full, in ns of the limiter's clock
	mu    sync.Mutex
	on    map[string]bool // the keys whose debt is under way

	// blank is the local bucket of a key never seen, once the limit has changed:
	// what it lacks after a raise of the burst nobody was granted. It is set while
	// the limiter's mu is held.
	blank *gatomic.Limiter
}

// A due is what a key's local bucket lacks.
type due struct {
	tokens int
	time   span
}

// note says that the local limiter has decided, or was settled.
func (o *owing) note(l *Limiter) {
	limit := l.local.Limit()
	until := l.within(times(limit.FillTime(), 1+ceil(l.localDebt(limit), limit.Capacity())))
	until = max(until, l.within(limit.FillTime()+l.cfg.maxWait))
	for old := o.until.Load(); old < until && !o.until.CompareAndSwap(old, until); {
		old = o.until.Load()
	}
}

// change changes the local limiter's limit. What buckets lack, in tokens, they go
// on lacking, and may take longer to fill.
func (o *owing) change(l *Limiter, limit gcra.Limit) {
	old := l.local.Limit()
	if o.blank == nil {
		o.blank = gatomic.NewLimiter(old)
	}
	l.local.SetLimit(limit)
	o.blank.SetLimit(limit) // after the other, or it would lack less
	now := int64(l.now())
	if left := o.until.Load() - now; left > 0 && limit.Capacity() > 0 {
		lacks := old.Within(time.Duration(left))
		o.until.Store(l.within(times(limit.FillTime(), 1+ceil(lacks, limit.Capacity()))))
	}
}

// localDebt is how many tokens a local bucket may go below empty.
func (l *Limiter) localDebt(limit gcra.Limit) int {
	if l.cfg.debtSet {
		return l.cfg.debt
	}
	return limit.Capacity()
}

// within is that much from now, in ns of the limiter's clock; it saturates.
func (l *Limiter) within(d time.Duration) int64 {
	if now := l.now(); d >= 0 && d < gcra.Never-now {
		return int64(now + d)
	}
	return int64(gcra.Never)
}

func times(d time.Duration, n int) time.Duration {
	if n <= 0 || d > gcra.Never/time.Duration(n) { // it was too large for an int
		return gcra.Never
	}
	return d * time.Duration(n)
}

// ceil is a/b, rounded up; 0 for b = 0.
func ceil(a, b int) int {
	if b == 0 || a == 0 {
		return 0
	}
	return (a-1)/b + 1
}

// settled reports whether nothing is due of any key.
func (o *owing) settled(l *Limiter) bool {
	until := o.until.Load()
	return l.local == nil || until == 0 || int64(l.now()) > until
}

// begin returns what a call about the key has to carry. End has to follow.
func (o *owing) begin(l *Limiter, g *generation, key string) due {
	if o.settled(l) {
		return due{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	lacks := o.lacks(l, key)
	s, ok := g.time(uint64(lacks))
	if lacks == 0 || !ok || o.on[key] {
		return due{}
	}
	if o.on == nil {
		o.on = make(map[string]bool)
	}
	o.on[key] = true
	return due{lacks, s}
}

// lacks returns the tokens that the key's local bucket has to refill, in debt too,
// beyond what that of a key never seen has to.
func (o *owing) lacks(l *Limiter, key string) int {
	none := 0
	if o.blank != nil {
		none = tokens(o.blank.Peek(0)) // first, or it would lack less
	}
	return max(tokens(l.local.Peek(key, 0))-none, 0)
}

// tokens returns how many the bucket lacks, rounded up.
func tokens(d gcra.Decision) int {
	limit := d.Limit()
	lacks := max(limit.Capacity()-d.Remaining(), 0)
	if full := d.ResetAfter(); d.Remaining() == 0 && full != gcra.Never && stepOf(limit) == 0 {
		// In debt.
		lacks = max(lacks, limit.Within(full+limit.Interval()-1)-limit.Capacity())
	}
	return lacks
}

// end settles the local bucket, if the charge arrived.
func (o *owing) end(l *Limiter, key string, d due, arrived bool) {
	if d.tokens == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.on, key)
	if arrived {
		more := o.lacks(l, key) - d.tokens // charged while the call was under way
		if l.local.Reset(key); more > 0 {
			l.local.Debit(key, more)
		}
	}
}
