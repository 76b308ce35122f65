package lease

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A block is the store's last answer about a key, and the tokens that are left of
// the last one that granted some. Who finds it in its entry may read and swap left
// and out, and read what they need to decide; the loan belongs to who has the
// entry's flight.
type block struct {
	left atomic.Int64 // tokens that whoever swaps them out may spend
	out  atomic.Int64 // tokens that a larger request took out and may put back, or has

	// The answer, in ticks of the limit. It holds for the instant asked at the
	// earliest, so that the bucket is never fuller than it says, but for
	// what comes back to it.
	limit gcra.Limit
	asked time.Duration // the clock's reading before the store was asked
	fresh time.Duration // until then a refusal may follow from it
	shift time.Duration // from the clock's readings to those that At is to be given
	tat   int64
	token int64 // ticks in a token, 0 for a block without an answer
	span  int64 // ticks in a burst

	until time.Duration // the tokens are spent before that

	// The loan. A block that carries the tokens of one before it has that
	// one's.
	began   time.Duration // when it was asked for
	granted int
	whole   bool // it was as large as was asked for
	settle  func(context.Context, int) error
}

// answered returns the block without tokens of an answer on n tokens that was
// asked for at that reading.
func answered(d gcra.Decision, n int, asked, life time.Duration) *block {
	b := &block{limit: d.Limit(), asked: asked, fresh: asked + life}
	l := &b.limit
	start := gcra.Instant{Tick: 1}
	next, _ := gcra.Allow(l, start.Tick, start, 1)
	if b.token = next - start.Tick; b.token == 0 {
		return b
	}
	b.span = b.token * int64(l.Capacity())
	// Where the refill comes in steps, one of them fills the bucket: the
	// readings are moved to where the clock shows that one.
	reset := d.ResetAfter()
	if full := add(asked, reset); l.Birth(full) != full {
		b.shift = l.Birth(full) - full + l.Birth(era)
	}
	// The TAT is above what each of the answer's numbers shows, since they are tight.
	// The most of these is not above it, so that no refusal outlasts it; and for the
	// instant and the request of the answer its numbers follow from it, exactly.
	b.tat = b.at(asked).Tick + b.span - b.token*int64(d.Remaining()+1) + 1
	if reset > 0 {
		b.tat = max(b.tat, b.at(add(asked, reset-1)).Tick+1)
	}
	if retry := d.RetryAfter(); retry > 0 && retry != gcra.Never {
		b.tat = max(b.tat, b.at(add(asked, retry-1)).Tick+b.span-b.token*int64(n)+1)
	}
	return b
}

// pause makes of the answer that the bucket is empty one that it stays so for d, or
// until half of it could be full, if that is sooner: so no token is lost for want of
// room. Else a key whose tokens are in demand would be asked about for each one
// that comes.
func (b *block) pause(d time.Duration) {
	if b.token == 0 {
		return
	}
	d = min(d, b.limit.FillTime()/2)
	b.tat = max(b.tat, b.at(add(b.asked, d)).Tick+b.span-b.token)
}

// era is more than a step, or steps there are shown late by as much as is lacking.
const era = 100 * 24 * time.Hour

// add is now + d, at most the end of a Duration.
func add(now, d time.Duration) time.Duration {
	if d > gcra.Never-now {
		return gcra.Never
	}
	return now + d
}

func (b *block) at(now time.Duration) gcra.Instant {
	return gcra.At(&b.limit, add(b.shift, now))
}

// spend takes n of the tokens, if so many are left and the lease lives.
func (b *block) spend(now time.Duration, n int) (gcra.Decision, bool) {
	if now >= b.until {
		return gcra.Decision{}, false
	}
	for {
		left := b.left.Load()
		if left < int64(n) {
			return gcra.Decision{}, false
		}
		// The swap is the spend. With a blind subtraction in its place two
		// who found one token left would both have it.
		if b.left.CompareAndSwap(left, left-int64(n)) {
			return b.grant(now, int(left), n), true
		}
	}
}

// grant is the decision on n tokens that were taken while there were held in
// the block.
func (b *block) grant(now time.Duration, held, n int) gcra.Decision {
	at := b.at(now)
	// What is held is in the bucket, as far as this process is asked. No higher
	// than that, since whoever waits at the store has no claim to it; and the clock
	// may have been read before the answer.
	tat := min(b.tat, at.Tick+b.span) - int64(held)*b.token
	_, d := gcra.Take(&b.limit, tat, at, n)
	return d
}

// refuse returns the refusal of n tokens, if they could not be granted even if
// nobody else asked. Tokens that are out count as here: they may come back.
func (b *block) refuse(now time.Duration, n int) (gcra.Decision, bool) {
	if b.token == 0 || now >= b.fresh {
		return gcra.Decision{}, false
	}
	held := int64(0)
	if now < b.until {
		// In this order, since they are out before they are no longer left, and
		// stay out for good: else a request could be refused for want of tokens
		// that come back. What counts twice only makes the store be asked.
		held = b.left.Load()
		held += b.out.Load()
	}
	_, d := gcra.Take(&b.limit, b.tat-held*b.token, b.at(now), n)
	return d, d.Err() == gcra.ErrLimited
}

// takeOut empties the block for a request that needs more than is in it, and returns
// what there was; 0 if the lease is over. Only who asks the store may call it.
func (b *block) takeOut(now time.Duration) int {
	if now >= b.until {
		return 0
	}
	for {
		left := b.left.Load()
		b.out.Store(left)
		if b.left.CompareAndSwap(left, 0) {
			return int(left)
		}
	}
}

// putBack undoes takeOut.
func (b *block) putBack(n int) { b.left.Add(int64(n)) }

// carry moves the n tokens that were taken out of the block into that of a later
// answer, with their lifetime and the way back.
func (b *block) carry(to *block, n int) {
	to.until, to.began, to.granted, to.whole, to.settle = b.until, b.began, b.granted, b.whole, b.settle
	to.left.Store(int64(n))
}
