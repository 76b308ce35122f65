package stress

import (
	"math/big"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const racers = 4

// race runs f in several goroutines that start together, and returns what each
// returned.
func race(f func(i int) int) (got [racers]int) {
	var start, end sync.WaitGroup
	start.Add(racers)
	for i := range racers {
		end.Go(func() {
			start.Done()
			start.Wait()
			got[i] = f(i)
		})
	}
	end.Wait()
	return got
}

func sum(shares [racers]int) (total, winners int) {
	for _, n := range shares {
		total += n
		winners += min(n, 1)
	}
	return total, winners
}

// drain takes single tokens until one is refused; every other one by Take.
func drain(e Engine, key uint64) (n int) {
	for n%2 == 0 && e.AllowN(key, 1) || n%2 == 1 && e.Take(key, 1).OK() {
		if n++; n%4 == 0 {
			runtime.Gosched() // so that others win too, on one processor
		}
	}
	return n
}

// oneInstant lets goroutines race for the tokens of one key while the clock
// stands still, again and again.
func oneInstant(s Subject) error {
	limit := limitOf("1000/s burst 20")
	clk, rng, model := s.clock(), seeded(1), s.bucket(limit, 20)
	e, mixed := s.New(limit, clk), 0
	for round := range s.rounds(3000) {
		clk.Advance(pause(rng, 25*time.Millisecond))
		model.fillTo(clk.now())
		want := model.whole()
		granted, winners := sum(race(func(int) int { return drain(e, 1) }))
		if granted != want {
			return errorf("round %d: %d tokens granted at one instant, %d were there", round, granted, want)
		}
		model.level.Sub(model.level, big.NewRat(int64(want), 1))
		if winners > 1 {
			mixed++
		}
	}
	if mixed == 0 {
		return errorf("no round had two winners, so nothing raced and nothing is proved")
	}
	return nil
}

// A pace is of one who moves the clock and of those who run beside him: now and
// then he waits until one of them has come round, so that he does not go all the
// way before the others have begun.
type pace struct {
	rounds atomic.Int64
	seen   int64
	over   atomic.Bool
}

func (p *pace) step(i int) {
	for ; i%20 == 0 && p.rounds.Load() == p.seen; runtime.Gosched() {
	}
	p.seen = p.rounds.Load()
}

func (p *pace) end() { p.over.Store(true) }

func (p *pace) goesOn() bool {
	p.rounds.Add(1)
	runtime.Gosched()
	return !p.over.Load()
}

// moving drains one key from several goroutines while another moves the clock.
// At the end the number of tokens is exact again, since the bucket was never
// left alone for long enough to overflow.
func moving(s Subject) error {
	clk, limit := s.clock(), limitOf("1000/s burst 20")
	e := s.New(limit, clk)
	first := drain(e, 1) // a bucket that is full gains nothing
	var p pace
	granted, _ := sum(race(func(i int) (n int) {
		if i == 0 {
			defer p.end()
			for step := range s.rounds(2000) {
				clk.Advance(3 * time.Millisecond / 2)
				p.step(step)
				n += drain(e, 1) // so the bucket is empty once a step
			}
			return n
		}
		for p.goesOn() {
			n += drain(e, 1)
		}
		return n
	}))
	granted += first + drain(e, 1)
	if want := limit.Within(clk.now()); granted != want {
		return errorf("%d tokens granted in %v of a moving clock, want %d", granted, clk.now(), want)
	}
	return nil
}
