package stress

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Checks of law L9.

// stale lets the clock of single decisions lie in the past. Whatever the
// readings, no more is granted than the burst and what the latest refilled.
func stale(s Subject) error {
	limit := limitOf("10/s burst 5")
	for seed := range uint64(20) {
		rng, clk := seeded(seed), &backClock{unit: s.unit()}
		e := s.New(limit, clk)
		granted := 0
		for op := range s.rounds(3000) {
			clk.latest += pause(rng, 60*time.Millisecond)
			clk.back = 0
			if rng.IntN(2) == 0 {
				clk.back = pause(rng, 3*time.Second)
			}
			switch n := 1 + rng.IntN(5); {
			case op%4 == 0 && e.AllowN(1, n):
				granted += n
			case op%4 == 1:
				granted += e.Take(1, n).Granted()
			default:
				granted += e.TakeUpTo(1, n).Granted()
			}
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
type backClock struct{ latest, back, unit time.Duration }

func (c *backClock) Now() time.Duration { return max(c.latest-c.back, 0) / c.unit * c.unit }

// disagree gives every reading of racing goroutines a lateness of its own.
func disagree(s Subject) error {
	limit := limitOf("1000/s burst 5")
	clk := &lateClock{unit: s.unit()}
	e := s.New(limit, clk)
	steps := s.rounds(1500)
	var p pace
	granted, winners := sum(race(func(i int) (n int) {
		if i == 0 {
			defer p.end()
			for step := range steps {
				clk.latest.Add(int64(time.Millisecond))
				p.step(step)
				n += drain(e, 1)
			}
			return n
		}
		for p.goesOn() {
			n += e.TakeUpTo(1, 1+i).Granted() + drain(e, 1)
		}
		return n
	}))
	latest := time.Duration(clk.latest.Load())
	clk.exact.Store(true)
	granted += drain(e, 1)
	if most := limit.Within(latest); granted > most {
		return errorf("%d tokens in %v of clocks that disagree, at most %d are there", granted, latest, most)
	}
	if winners < 2 {
		return errorf("only one goroutine was granted a token, so nothing raced and nothing is proved")
	}
	// None is lost either: from here on it fills as any other.
	clk.latest.Add(int64(3 * time.Millisecond))
	if got := e.Peek(1, 0).Remaining(); got != 3 {
		return errorf("3 ms after it was emptied, the bucket has %d tokens of 3", got)
	}
	return nil
}

// lateClock reads up to 50 ms before the latest instant, unless it is exact.
type lateClock struct {
	latest atomic.Int64
	exact  atomic.Bool
	unit   time.Duration
}

func (c *lateClock) Now() time.Duration {
	now := time.Duration(c.latest.Load())
	if !c.exact.Load() && rand.IntN(2) == 0 {
		now -= rand.N(50 * time.Millisecond)
	}
	return max(now, 0) / c.unit * c.unit
}
