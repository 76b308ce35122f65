package redislimit

import (
	"sync"
	"sync/atomic"

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
}

// A due is what a key's local bucket lacks.
type due struct {
	tokens int
	time   span
}

// note says that the local limiter has decided.
func (o *owing) note(l *Limiter) {
	fill := l.local.Limit().FillTime()
	if now := l.now(); fill < gcra.Never-now {
		o.until.Store(int64(now + fill))
		return
	}
	o.until.Store(int64(gcra.Never))
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

// lacks returns the tokens that the local bucket has to refill, in debt too.
func (o *owing) lacks(l *Limiter, key string) int {
	d := l.local.Peek(key, 0)
	limit := d.Limit()
	lacks := max(limit.Capacity()-d.Remaining(), 0)
	if full := d.ResetAfter(); d.Remaining() == 0 && full != gcra.Never && stepOf(limit) == 0 {
		// Up to whole tokens, as above.
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
