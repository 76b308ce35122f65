package stress_test

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/clock"
)

// jumps: a bucket is emptied, then the clock jumps to the end of its range while
// it is asked, and stays there. Exact: a burst before the jump, one after it, and
// nothing ever after.
func jumps(s *spell, b bed) (bool, error) {
	const burst, rounds = 1000, 4
	for round := range rounds {
		clk := new(clock.Manual)
		e := b.make(soakLimit("1000/s burst 1000"), clk)
		granted := s.granted.Load()
		for part, most := range []int{burst, 2 * burst, 2 * burst} {
			s.rush(func(g int) {
				a, took := s.asker(e, g), 0
				for i := range max(s.calls/rounds/3, burst) {
					if part == 1 && g == 0 && i == s.calls/rounds/6 {
						clk.Set(math.MaxInt64 - time.Duration(round))
					}
					took += a.ask(1, i&^7|i%7)
				}
				a.count(max(s.calls/rounds/3, burst), took, 0)
			})
			if part == 2 {
				clk.Set(math.MaxInt64)
			}
			// The rest, where parts of the crowd were refused for more tokens than
			// one.
			for e.AllowN(1, 1) {
				s.granted.Add(1)
			}
			if err := s.ledger("granted", most, int(s.granted.Load()-granted)); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}

// A lagClock is read by goroutines that do not agree about the time: each
// reading is late by up to 100 µs.
type lagClock struct {
	clock.Manual
	reads atomic.Uint64
	exact atomic.Bool
}

func (c *lagClock) Now() time.Duration {
	now := c.Manual.Now()
	if c.exact.Load() {
		return now
	}
	late := time.Duration(c.reads.Add(1) * 0x9e3779b97f4a7c15 >> 40 % 100_000)
	return max(now-late, 0)
}

// lagging: as moving, but goroutines disagree about the time. Exact: who reads an
// older instant than others used is given no credit for it, and takes none away.
func lagging(s *spell, b bed) (bool, error) {
	clk := new(lagClock)
	return true, s.flow(b, clk, func(ask func()) { ask() }, func(i int) {
		clk.Advance(time.Duration(i%7) * time.Microsecond)
	}, true, func() time.Duration {
		clk.exact.Store(true)
		return clk.Now()
	})
}
