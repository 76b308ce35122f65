package stress

import (
	"math/big"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A Changer is an Engine whose limit can be changed.
type Changer interface {
	SetLimit(limit gcra.Limit)
}

// Checks of law L5: what becomes of balances when the limit changes.

// carried goes through what a key has after a change, case by case.
func carried(s Subject) error {
	for _, row := range []struct {
		from  string
		taken int
		to    string
		left  int
		next  time.Duration // until one token is there
		why   string
	}{
		{"1/s burst 10", 10, "100/s burst 10", 0, 10 * time.Millisecond, "raised: nobody is locked out at the old rate"},
		{"100/s burst 10", 10, "1/s burst 10", 0, time.Second, "lowered: nobody goes on at the old one"},
		{"1/s burst 10", 10, "1/s burst 100", 0, time.Second, "a larger burst is no gift"},
		{"1/s burst 10", 1, "1/s burst 100", 9, 0, "nor a loss"},
		{"1/s burst 10", 0, "1/s burst 100", 10, 0, "a key never seen has its tokens, as one that is full"},
		{"1/s burst 100", 1, "1/s burst 10", 10, 0, "a smaller burst caps"},
		{"1/s burst 100", 95, "1/s burst 10", 5, 0, "and takes no more than that"},
		{"1/s burst 10", 4, "0/s burst 10", 6, 0, "an allowance of what was there"},
		{"0/s burst 10", 4, "1/s burst 10", 6, 0, "and back"},
		{"1/s burst 10", 3, "unlimited", int(^uint(0) >> 1), 0, "unlimited"},
		{"unlimited", 3, "1/s burst 10", 10, 0, "leaves a full bucket"},
		{"none", 0, "1/s burst 10", 0, time.Second, "none leaves an empty one"},
		{"1/s burst 10", 3, "none", 0, gcra.Never, "none"},
		{"1/s burst 10", 4, "1/s burst 10 start 2", 6, 0, "start is for new limiters"},
		{"6/3s burst 10 step 3s", 10, "1/s burst 10", 0, time.Second, "steps to none"},
	} {
		clk := s.clock()
		e := s.New(limitOf(row.from), clk)
		e.Take(1, row.taken)
		e.(Changer).SetLimit(limitOf(row.to))
		d := e.Peek(1, 1)
		if d.Remaining() != row.left || d.RetryAfter() != row.next || d.Limit() != limitOf(row.to) {
			return errorf("%d taken under %s, then %s: %d left and one in %v under %v, want %d and %v: %s",
				row.taken, row.from, row.to, d.Remaining(), d.RetryAfter(), d.Limit(), row.left, row.next, row.why)
		}
	}
	return nil
}

// sameLimit sets an equal limit again and again.
func sameLimit(s Subject) error {
	for _, limit := range []string{"3/s burst 7", "99/s burst 99", "5/s burst 10 start 3 step 1s"} {
		clk := s.clock()
		e := s.New(limitOf(limit), clk)
		clk.Advance(time.Second / 3)
		e.TakeUpTo(1, 2)
		clk.Advance(time.Second / 7)
		before, other := e.Peek(1, 1), e.Peek(2, 1)
		for range s.rounds(1000) {
			e.(Changer).SetLimit(limitOf(limit))
		}
		if e.Peek(1, 1) != before || e.Peek(2, 1) != other {
			return errorf("%s set again and again changed a balance", limit)
		}
	}
	return nil
}

// sequences compares every decision of random histories, in which the limit
// changes all the time, with the exact bucket. Nothing about them is inexact but
// one number: at a change the balance is rounded down to whole ticks of the new
// limit, of which a token has at least one and mostly millions. One key is
// hardly ever touched, so that it comes through hundreds of changes at once.
func sequences(s Subject) error {
	for seed := range uint64(6) {
		rng, clk := seeded(50+seed), s.clock()
		first := rows[rng.IntN(len(rows))]
		limit := limitOf(first.limit)
		e := s.New(limit, clk)
		keys := 5
		if s.OneKey {
			keys = 1
		}
		fresh := s.bucket(limit, first.start)
		buckets := make([]*bucket, keys)
		for i := range buckets {
			buckets[i] = s.bucket(limit, first.start)
		}
		for op := range s.rounds(4000) {
			burst, fill := limit.Capacity(), min(limit.FillTime(), time.Hour)
			switch rng.IntN(10) {
			case 0:
				clk.Advance(pause(rng, 2*fill+2))
			case 1, 2, 3:
				clk.Advance(pause(rng, 2*fill/time.Duration(burst)+2))
			case 4, 5:
				limit = limitOf(rows[rng.IntN(len(rows))].limit)
				now := clk.now()
				for _, b := range append(buckets, fresh) {
					b.change(limit, now)
				}
				e.(Changer).SetLimit(limit)
				continue
			}
			i := rng.IntN(keys)
			if i == 4 && op%500 != 0 {
				i = 0
			}
			key, b, now := keyOf(i), buckets[i], clk.now()
			n := [...]int{0, 1, 1, 2, burst, burst + 1, 1 + rng.IntN(burst)}[rng.IntN(7)]
			var err error
			switch rng.IntN(8) {
			default:
				err = b.check(now, n, false, false, e.Take(key, n))
			case 0, 1:
				err = b.check(now, n, true, false, e.TakeUpTo(key, n))
			case 2:
				err = b.check(now, n, false, true, e.Peek(key, n))
			case 3:
				if op%5 == 0 {
					e.Reset(key)
					b.fillTo(now)
					if fresh.fillTo(now); fresh.level.Cmp(b.level) > 0 {
						b.level.Set(fresh.level)
					}
				}
			case 4:
				if k, ok := e.(Sweeper); ok && !s.OneKey {
					k.Sweep()
				}
			case 5:
				if d, ok := e.(Debtor); ok {
					b.fillTo(now)
					few := min(n, 20) // a million tokens at 1 a day are beyond the range
					if want, got := b.debit(few), d.Debit(key, few).Granted(); want != got {
						err = errorf("debited %d, want %d", got, want)
					}
				}
			}
			if err != nil {
				return errorf("seed %d, operation %d at %v under %v, key %d, cost %d: %w", seed, op, now, limit, i, n, err)
			}
		}
	}
	return nil
}

// change is what SetLimit does to a bucket.
func (b *bucket) change(limit gcra.Limit, elapsed time.Duration) {
	b.fillTo(elapsed)
	next := newBucket(limit, 0)
	if b.level.Cmp(next.burst) > 0 {
		b.level.Set(next.burst)
	}
	ticks := new(big.Int).Mul(b.level.Num(), big.NewInt(next.ticks))
	ticks.Div(ticks, b.level.Denom()) // down, below 0 too
	b.level.SetFrac(ticks, big.NewInt(next.ticks))
	b.limit, b.burst, b.ticks = limit, next.burst, next.ticks
	b.last = gcra.At(&limit, elapsed).Tick
}

// debit charges as many of n tokens as a debt of one burst leaves room for, and
// returns how many; the level is that of now.
func (b *bucket) debit(n int) int {
	room := new(big.Rat).Add(b.level, b.burst)
	fits := new(big.Int).Div(room.Num(), room.Denom())
	n = max(n, 0)
	if fits.Cmp(big.NewInt(int64(n))) < 0 {
		n = max(int(fits.Int64()), 0)
	}
	b.level.Sub(b.level, big.NewRat(int64(n), 1))
	return n
}

// acrossTwo puts two changes, to another limit and back, between a decision's
// reading of the clock and what it does with it. It has to see the balance
// that came through both, at the instant of the second.
func acrossTwo(s Subject) error {
	for _, to := range []string{"1/4s burst 2", "7/s burst 2", "0/s burst 5", "1/s burst 1"} {
		for _, stop := range []bool{false, true} { // after the first change
			clk, limit := s.clock(), limitOf("1/s burst 2")
			e, b := s.New(limit, clk), s.bucket(limit, 2)
			e.Take(1, 1)
			b.level.SetInt64(1)
			move := func(text string, taken int) {
				e.Take(1, taken)
				b.fillTo(clk.now())
				if b.whole() >= taken {
					b.level.Sub(b.level, big.NewRat(int64(taken), 1))
				}
				limit := limitOf(text)
				e.(Changer).SetLimit(limit)
				b.change(limit, clk.now())
			}
			at := time.Duration(0)
			clk.next(func() {
				clk.Advance(time.Second / 2)
				if move(to, 1); stop {
					at = clk.now()
					return
				}
				clk.Advance(time.Second)
				move("1/s burst 2", 0)
				at = clk.now()
			})
			d := e.Take(1, 1)
			if err := b.check(at, 1, false, false, d); err != nil {
				return errorf("a decision stopped while 1/s burst 2 became %s (and stayed it: %v): %w", to, stop, err)
			}
			clk.Advance(time.Second)
			if err := b.check(clk.now(), 1, false, true, e.Peek(1, 1)); err != nil {
				return errorf("after a decision that was stopped while 1/s burst 2 became %s (and stayed it: %v): %w", to, stop, err)
			}
		}
	}
	return nil
}

// insideChange lets others take while SetLimit reads the clock. Whether that is
// before the change or after it, each of their tokens is missing at its own
// instant, no more and no less.
func insideChange(s Subject) error {
	for _, to := range []string{"1/4s burst 5", "10/s burst 5"} {
		clk, limit, next := s.clock(), limitOf("1/s burst 5"), limitOf(to)
		e, b := s.New(limit, clk), s.bucket(limit, 5)
		e.Take(1, 5)
		b.level.SetInt64(0)
		changed := false
		clk.next(func() {
			for range 4 {
				clk.Advance(time.Second)
				now, d := clk.now(), e.Take(1, 1)
				if b.fillTo(now); !changed && d.Limit() == next {
					b.change(next, now)
					changed = true
				}
				b.level.Sub(b.level, big.NewRat(int64(d.Granted()), 1))
			}
		})
		if e.(Changer).SetLimit(next); !changed {
			b.change(next, clk.now())
		}
		if err := b.check(clk.now(), 1, false, true, e.Peek(1, 1)); err != nil {
			return errorf("after a change from %v to %v that took 4 seconds: %w", limit, next, err)
		}
	}
	return nil
}

// sweptAfter: whether a key can be forgotten is judged by the limit in force.
func sweptAfter(s Subject) error {
	for _, row := range []struct {
		from, to string
		until    time.Duration
	}{{"1/s", "1/4s", 4 * time.Second}, {"1/4s", "1/s", time.Second}} {
		clk := s.clock()
		e := s.New(limitOf(row.from), clk)
		keeper := e.(Sweeper)
		e.Take(1, 1)
		e.(Changer).SetLimit(limitOf(row.to))
		clk.Advance(row.until - s.unit())
		if n := keeper.Sweep(); n != 0 || e.Peek(1, 1).OK() {
			return errorf("%s to %s: forgotten before its bucket is full", row.from, row.to)
		}
		clk.Advance(s.unit())
		if n := keeper.Sweep(); n != 1 || keeper.Len() != 0 {
			return errorf("%s to %s: kept although its bucket is full", row.from, row.to)
		}
	}
	return nil
}
