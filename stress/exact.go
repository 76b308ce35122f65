package stress

import (
	"math/big"
	"time"

	"github.com/weir-go/weir/gcra"
)

// The limits that the sequential checks run over, with the tokens that a key
// starts with.
var rows = []struct {
	limit string
	start int
	why   string
}{
	{"100/s burst 100", 100, "the plainest"},
	{"3/s", 1, "an interval that is no whole number of ns, and burst 1"},
	{"99/s burst 99", 99, "no q <= 32: ticks are chosen"},
	{"999999937/s burst 7", 7, "a prime rate near the clock's resolution"},
	{"10000/us burst 1000000", 1e6, "more tokens than ns, in byte costs"},
	{"7/m burst 5", 5, "slow"},
	{"1/d burst 3", 3, "slower than the test"},
	{"6/3s burst 10 step 3s", 10, "in steps"},
	{"5/s burst 10 start 0", 0, "keys start empty"},
	{"5/s burst 10 start 3 step 1s", 3, "in steps, started in part"},
	{"0/s burst 12", 12, "a one-time allowance"},
	{"0/s burst 12 start 4", 4, "a one-time allowance, in part"},
}

// histories compares every decision of random sequential histories with the
// rational bucket. Forgetting and resetting are in the mix.
func histories(s Subject) error {
	for i, row := range rows {
		if err := history(s, uint64(i), limitOf(row.limit), row.start); err != nil {
			return errorf("%s (%s): %w", row.limit, row.why, err)
		}
	}
	return nil
}

func history(s Subject, seed uint64, limit gcra.Limit, start int) error {
	rng, clk := seeded(seed), s.clock()
	e := s.New(limit, clk)
	sweeper, _ := e.(Sweeper)
	keys := 5
	if s.OneKey {
		keys = 1
	}
	buckets := make([]*bucket, keys)
	for i := range buckets {
		buckets[i] = s.bucket(limit, start)
	}
	burst, fill := limit.Capacity(), limit.FillTime()
	if fill == gcra.Never {
		fill = time.Second
	}
	for op := range s.rounds(6000) {
		switch rng.IntN(8) {
		case 0: // a long pause, at times to the full bucket and past it
			clk.Advance(pause(rng, 2*fill+2))
		case 1, 2: // about one token
			clk.Advance(pause(rng, 2*fill/time.Duration(burst)+2))
		case 3:
			clk.Advance(s.unit())
		}
		i := rng.IntN(keys)
		key, b, now := keyOf(i), buckets[i], clk.now()
		costs := [...]int{0, 1, 1, 1, 2, burst, burst + 1, -1, 1 + rng.IntN(burst)}
		n := costs[rng.IntN(len(costs))]
		var err error
		switch rng.IntN(10) {
		default:
			d := e.Take(key, n)
			if err = b.check(now, n, false, false, d); err != nil || d.OK() || d.RetryAfter() == gcra.Never || op%3 > 0 {
				break
			}
			// Just before it passes, and just when.
			clk.Advance(s.up(d.RetryAfter()) - s.unit())
			if err = b.check(clk.now(), n, false, false, e.Take(key, n)); err != nil {
				break
			}
			clk.Advance(s.unit())
			err = b.check(clk.now(), n, false, false, e.Take(key, n))
		case 0, 1:
			err = b.check(now, n, true, false, e.TakeUpTo(key, n))
		case 2:
			err = b.check(now, n, false, true, e.Peek(key, n))
		case 5:
			b.fillTo(now)
			if want := n >= 0 && n <= b.whole(); e.AllowN(key, n) != want {
				err = errorf("allowed %v, want %v", !want, want)
			} else if want {
				b.level.Sub(b.level, big.NewRat(int64(n), 1))
			}
		case 3:
			if op%7 == 0 {
				e.Reset(key)
				b.reset(now)
			}
		case 4:
			if sweeper != nil {
				sweeper.Sweep()
			}
		}
		if err != nil {
			return errorf("operation %d at %v, cost %d: %w", op, now, n, err)
		}
	}
	return nil
}

// edges are the limits without a bucket, which the histories leave out.
func edges(s Subject) error {
	const huge = int(^uint(0) >> 1)
	for _, row := range []struct {
		limit gcra.Limit
		n     int
		want  error
		why   string
	}{
		{gcra.Unlimited(), huge, nil, "unlimited grants every cost"},
		{gcra.Unlimited(), -1, gcra.ErrCost, "but no negative one"},
		{gcra.Limit{}, 1, gcra.ErrExceedsBurst, "the zero limit refuses"},
		{gcra.Limit{}, 0, nil, "but not a cost of 0"},
		{gcra.Limit{}, -huge - 1, gcra.ErrCost, "a negative cost is never a refund"},
		{gcra.PerSecond(1), huge, gcra.ErrExceedsBurst, "a cost that would overflow"},
	} {
		e := s.New(row.limit, s.clock())
		for range 3 {
			if err := e.Take(1, row.n).Err(); err != row.want {
				return errorf("%v, cost %d: err %v, want %v: %s", row.limit, row.n, err, row.want, row.why)
			}
		}
	}
	return nil
}
