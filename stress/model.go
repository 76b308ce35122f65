package stress

import (
	"math/big"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A bucket is the exact token bucket: a level in rational tokens, filled by
// the time that passed. It shares with gcra only the reading of instants and
// the number of ticks in a token, which it works out from the outside.
type bucket struct {
	limit gcra.Limit
	burst *big.Rat
	ticks int64 // in a token
	level *big.Rat
	last  int64 // the tick that the level is of
	start *big.Rat
	unit  time.Duration // of the clock
}

// bucket returns newBucket's for the subject's clock.
func (s Subject) bucket(limit gcra.Limit, start int) *bucket {
	b := newBucket(limit, start)
	b.unit = s.unit()
	return b
}

// newBucket returns the bucket of a key never seen, in an engine that is made
// at its first reading.
func newBucket(limit gcra.Limit, start int) *bucket {
	at, b := gcra.At(&limit, 0), limit.Capacity()
	empty := limit.Start(0)
	return &bucket{
		limit: limit,
		burst: big.NewRat(int64(b), 1),
		ticks: (gcra.Fresh(&empty, at) - at.Tick) / int64(b),
		level: big.NewRat(int64(start), 1),
		last:  at.Tick,
		start: big.NewRat(int64(start), 1),
		unit:  1,
	}
}

func (b *bucket) fillTo(elapsed time.Duration) {
	now := gcra.At(&b.limit, elapsed).Tick
	b.level.Add(b.level, big.NewRat(now-b.last, b.ticks))
	if b.level.Cmp(b.burst) > 0 {
		b.level.Set(b.burst)
	}
	b.last = now
}

func (b *bucket) whole() int {
	if b.level.Sign() < 0 {
		return 0
	}
	return int(new(big.Int).Quo(b.level.Num(), b.level.Denom()).Int64())
}

// reset makes the level that of a key never seen, if that is more.
func (b *bucket) reset(elapsed time.Duration) {
	b.fillTo(elapsed)
	fresh := newBucket(b.limit, int(b.start.Num().Int64()))
	fresh.fillTo(elapsed)
	if fresh.level.Cmp(b.level) > 0 {
		b.level.Set(fresh.level)
	}
}

// check compares a decision on n tokens at elapsed with the bucket's, and then
// makes that decision here too. upTo and peek say how it was asked.
func (b *bucket) check(elapsed time.Duration, n int, upTo, peek bool, d gcra.Decision) error {
	b.fillTo(elapsed)
	want, err := n, error(nil)
	switch {
	case n < 0:
		want, err = 0, gcra.ErrCost
	case upTo:
		if want = min(n, b.whole()); want == 0 && n > 0 {
			err = gcra.ErrLimited
		}
		n = min(n, 1) // what it waits for
	case n > b.limit.Capacity():
		want, err = 0, gcra.ErrExceedsBurst
	case n > b.whole():
		want, err = 0, gcra.ErrLimited
	}
	if peek {
		want = 0
	}
	b.level.Sub(b.level, big.NewRat(int64(want), 1))
	switch {
	case d.Err() != err || d.OK() != (err == nil):
		return errorf("err %v, want %v", d.Err(), err)
	case d.Granted() != want:
		return errorf("granted %d, want %d", d.Granted(), want)
	case d.Remaining() != b.whole():
		return errorf("remaining %d, want %d", d.Remaining(), b.whole())
	case err == nil && d.RetryAfter() != 0:
		return errorf("a grant has to wait %v", d.RetryAfter())
	case (err == gcra.ErrCost || err == gcra.ErrExceedsBurst) && d.RetryAfter() != gcra.Never:
		return errorf("retry after %v, want never", d.RetryAfter())
	case d.Limit() != b.limit:
		return errorf("limit %v, want %v", d.Limit(), b.limit)
	}
	if err == gcra.ErrLimited {
		if err := b.tight(elapsed, d.RetryAfter(), big.NewRat(int64(n), 1)); err != nil {
			return errorf("retry after %v: %w", d.RetryAfter(), err)
		}
	}
	if err := b.tight(elapsed, d.ResetAfter(), b.burst); err != nil {
		return errorf("reset after %v: %w", d.ResetAfter(), err)
	}
	return nil
}

// tight checks that the level reaches want after the wait and not in an earlier
// unit of the clock.
func (b *bucket) tight(elapsed, wait time.Duration, want *big.Rat) error {
	there := func(w time.Duration) bool {
		w = (w + b.unit - 1) / b.unit * b.unit
		later := big.NewRat(gcra.At(&b.limit, elapsed+w).Tick-b.last, b.ticks)
		return later.Add(later, b.level).Cmp(want) >= 0
	}
	switch rate, _ := b.limit.Rate(); {
	case wait == gcra.Never:
		if rate > 0 && there(10*time.Hour*24*365) {
			return errorf("never, but it will be there")
		}
	case !there(wait):
		return errorf("not there by then")
	case wait > 0 && there(wait-b.unit):
		return errorf("there a unit of the clock earlier")
	}
	return nil
}
