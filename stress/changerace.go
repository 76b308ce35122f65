package stress

import (
	"math/big"
	"runtime"
	"sync/atomic"
	"time"
)

// Limits between which a quarter of a token is a whole number of ticks, so that
// no change rounds anything on a clock of milliseconds.
var quarterly = []string{"1000/s burst 20", "500/s burst 20", "250/s burst 20"}

// changeRace changes the limit while goroutines race for the tokens of an
// instant: they get what is there, to the token.
func changeRace(s Subject) error {
	limit, clk, rng := limitOf(quarterly[0]), new(handClock), seeded(6)
	e, b, mixed := s.New(limit, clk), newBucket(limit, 20), 0
	for round := range 2000 {
		clk.Advance(time.Duration(rng.IntN(25)) * time.Millisecond)
		b.fillTo(clk.Manual.Now())
		want := b.whole()
		granted, winners := sum(race(func(i int) (n int) {
			if i != round%racers {
				return drain(e, 1)
			}
			for k := range 3 {
				limit = limitOf(quarterly[(round+k)%len(quarterly)])
				e.(Changer).SetLimit(limit)
				runtime.Gosched()
			}
			return drain(e, 1)
		}))
		b.level.Sub(b.level, big.NewRat(int64(want), 1))
		b.change(limit, clk.Manual.Now())
		if granted != want {
			return errorf("round %d: %d tokens granted at one instant while the limit changed, %d were there", round, granted, want)
		}
		if winners > 1 {
			mixed++
		}
	}
	if mixed == 0 {
		return errorf("no round had two winners, so nothing raced and nothing is proved")
	}
	return nil
}

// changeMoving moves the clock too. The bucket is empty once a step, so that at
// the end the number of tokens is exact: what each limit refilled in its time.
func changeMoving(s Subject) error {
	clk, limit := new(handClock), limitOf(quarterly[0])
	e := s.New(limit, clk)
	want, first := 20, drain(e, 1)
	var over atomic.Bool
	granted, _ := sum(race(func(i int) (n int) {
		if i == 0 {
			defer over.Store(true)
			for step := range 2000 {
				clk.Advance(4 * time.Millisecond)
				rate, _ := limit.Rate()
				want += rate * 4 / 1000
				limit = limitOf(quarterly[step%len(quarterly)])
				e.(Changer).SetLimit(limit)
				n += drain(e, 1)
			}
			return n
		}
		for !over.Load() {
			n += drain(e, 1)
			runtime.Gosched()
		}
		return n
	}))
	if granted += first + drain(e, 1); granted != want {
		return errorf("%d tokens granted in %v while clock and limit moved, want %d", granted, clk.Manual.Now(), want)
	}
	return nil
}
