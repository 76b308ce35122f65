package stress

import (
	"math/big"
	"testing"
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

// exact compares every decision of random sequential histories with the
// rational bucket: L2. Forgetting and resetting are in the mix.
func exact(_ *testing.T, s Subject) error {
	for i, row := range rows {
		if err := history(s, uint64(i), limitOf(row.limit), row.start); err != nil {
			return errorf("%s (%s): %w", row.limit, row.why, err)
		}
	}
	return edges(s)
}

const historyLen = 6000

func history(s Subject, seed uint64, limit gcra.Limit, start int) error {
	rng, clk := seeded(seed), new(handClock)
	e := s.New(limit, clk)
	sweeper, _ := e.(Sweeper)
	keys := 5
	if s.OneKey {
		keys = 1
	}
	buckets := make([]*bucket, keys)
	for i := range buckets {
		buckets[i] = newBucket(limit, start)
	}
	burst, fill := limit.Capacity(), limit.FillTime()
	if fill == gcra.Never {
		fill = time.Second
	}
	for op := range historyLen {
		switch rng.IntN(8) {
		case 0: // a long pause, at times to the full bucket and past it
			clk.Advance(pause(rng, 2*fill+2))
		case 1, 2: // about one token
			clk.Advance(pause(rng, 2*fill/time.Duration(burst)+2))
		case 3:
			clk.Advance(1)
		}
		i := rng.IntN(keys)
		key, b, now := keyOf(i), buckets[i], clk.Manual.Now()
		costs := [...]int{0, 1, 1, 1, 2, burst, burst + 1, -1, 1 + rng.IntN(burst)}
		n := costs[rng.IntN(len(costs))]
		var err error
		switch rng.IntN(10) {
		default:
			err = b.check(now, n, false, false, e.Take(key, n))
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
		e := s.New(row.limit, new(handClock))
		for range 3 {
			if err := e.Take(1, row.n).Err(); err != row.want {
				return errorf("%v, cost %d: err %v, want %v: %s", row.limit, row.n, err, row.want, row.why)
			}
		}
	}
	return nil
}

// reads checks that what is refused, peeked at or free changes nothing: L3.
func reads(_ *testing.T, s Subject) error {
	clk := new(handClock)
	limit := limitOf("1/s burst 4")
	e := s.New(limit, clk)
	clk.Advance(time.Hour)
	e.Take(1, 3)
	clk.Advance(500 * time.Millisecond) // 1.5 tokens are there
	for i := range 50 {
		e.Take(1, 2)
		e.AllowN(1, 2)
		e.Take(1, 5)
		e.Take(1, -1)
		e.Take(1, 0)
		e.TakeUpTo(1, 0)
		e.TakeUpTo(1, -7)
		e.Peek(1, 1)
		if d := e.Peek(1, 2); d.RetryAfter() != 500*time.Millisecond-time.Duration(i) || d.Remaining() != 1 {
			return errorf("after %d rounds of reads the bucket has %d and two tokens in %v, want 1 and %v",
				i+1, d.Remaining(), d.RetryAfter(), 500*time.Millisecond-time.Duration(i))
		}
		clk.Advance(1)
	}
	keeper, ok := e.(Keeper)
	if !ok || s.OneKey {
		return nil
	}
	before := keeper.Len()
	empty := s.New(limit.Start(0), new(handClock))
	for i := range 20 {
		e.Peek(keyOf(i+9), 1)
		e.Take(keyOf(i+9), 0)
		e.Take(keyOf(i+9), 5)
		e.Take(keyOf(i+9), -1)
		empty.Take(keyOf(i), 1)
		empty.TakeUpTo(keyOf(i), 3)
	}
	if got := keeper.Len(); got != before {
		return errorf("reads made %d cells", got-before)
	}
	if got := empty.(Keeper).Len(); got != 0 {
		return errorf("refusals of new keys made %d cells", got)
	}
	return nil
}

// stale lets the clock of single decisions lie in the past: L9. Whatever the
// readings, no more is granted than the burst and what the latest refilled.
func stale(_ *testing.T, s Subject) error {
	limit := limitOf("10/s burst 5")
	for seed := range uint64(20) {
		rng, clk := seeded(seed), new(backClock)
		e := s.New(limit, clk)
		granted := 0
		for op := range 3000 {
			clk.latest += pause(rng, 60*time.Millisecond)
			clk.back = 0
			if rng.IntN(2) == 0 {
				clk.back = pause(rng, 3*time.Second)
			}
			granted += e.TakeUpTo(1, 1+rng.IntN(5)).Granted()
			if most := limit.Within(clk.latest); granted > most {
				return errorf("operation %d: %d tokens in %v, at most %d are there", op, granted, clk.latest, most)
			}
		}
		// And none is lost: a bucket that was emptied at the latest instant
		// fills from there.
		clk.back = 0
		e.TakeUpTo(1, 5)
		clk.back = time.Second
		e.TakeUpTo(1, 5)
		clk.back, clk.latest = 0, clk.latest+500*time.Millisecond
		if d := e.Peek(1, 5); !d.OK() {
			return errorf("half a second after it was emptied, the bucket has %d of 5", d.Remaining())
		}
	}
	return nil
}

// backClock reads up to back before its latest reading.
type backClock struct{ latest, back time.Duration }

func (c *backClock) Now() time.Duration { return max(c.latest-c.back, 0) }
