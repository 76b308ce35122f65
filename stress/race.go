package stress

import (
	"context"
	"math/big"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
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

// window lets goroutines race for the tokens of one key while the clock stands
// still, again and again, and then while it moves: L1.
func window(_ *testing.T, s Subject) error {
	limit := limitOf("1000/s burst 20")
	clk, rng, model := new(handClock), seeded(1), newBucket(limit, 20)
	e, mixed := s.New(limit, clk), 0
	for round := range 3000 {
		clk.Advance(pause(rng, 25*time.Millisecond))
		model.fillTo(clk.Manual.Now())
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
	if err := moving(s, limit); err != nil {
		return err
	}
	return rush(s)
}

// moving drains one key from several goroutines while another moves the clock.
// At the end the number of tokens is exact again, since the bucket was never
// left alone for long enough to overflow.
func moving(s Subject, limit gcra.Limit) error {
	clk := new(handClock)
	e := s.New(limit, clk)
	first := drain(e, 1) // a bucket that is full gains nothing
	var over atomic.Bool
	granted, _ := sum(race(func(i int) (n int) {
		if i == 0 {
			defer over.Store(true)
			for range 2000 {
				clk.Advance(3 * time.Millisecond / 2)
				n += drain(e, 1) // so the bucket is empty once a step
			}
			return n
		}
		for !over.Load() {
			n += drain(e, 1)
			runtime.Gosched()
		}
		return n
	}))
	granted += first + drain(e, 1)
	if want := limit.Within(clk.Manual.Now()); granted != want {
		return errorf("%d tokens granted in %v of a moving clock, want %d", granted, clk.Manual.Now(), want)
	}
	return nil
}

// forgets checks that a key is forgotten when its bucket is full and not
// before, and that no charge is lost to it: L6.
func forgets(t *testing.T, s Subject) error {
	e := s.New(limitOf("1/s"), new(handClock))
	var checks []func(Subject) error
	if _, ok := e.(Sweeper); ok && !s.OneKey {
		checks = append(checks, whenFull, oldReading, sweptRace)
	}
	if _, ok := e.(Keeper); ok && !s.OneKey {
		checks = append(checks, resetRace)
	}
	if s.NewCapped != nil {
		checks = append(checks, pushedWhenFull, pushedOldReading, pushedRace)
	}
	for _, check := range checks {
		if err := check(s); err != nil {
			return err
		}
	}
	return nil
}

func whenFull(s Subject) error {
	for _, row := range rows {
		limit, clk := limitOf(row.limit), new(handClock)
		e := s.New(limit, clk)
		keeper := e.(Sweeper)
		granted := e.TakeUpTo(1, limit.Capacity()).Granted()
		d := e.Peek(1, 0)
		if d.ResetAfter() == gcra.Never {
			clk.Advance(100 * 24 * time.Hour)
			if keeper.Sweep(); granted > 0 && (keeper.Len() != 1 || e.Take(1, 1).OK()) {
				return errorf("%s: a used allowance was forgotten", row.limit)
			}
			continue
		}
		if granted == 0 {
			continue
		}
		clk.Advance(d.ResetAfter() - 1)
		if n := keeper.Sweep(); n != 0 || keeper.Len() != 1 {
			return errorf("%s: a key was forgotten 1 ns before its bucket is full", row.limit)
		}
		clk.Advance(1)
		if n := keeper.Sweep(); n != 1 || keeper.Len() != 0 {
			return errorf("%s: a key was kept although its bucket is full", row.limit)
		}
	}
	return nil
}

// oldReading puts a whole life of the key's cell between a decision's reading
// of the clock and its look at the key: charged, full again, forgotten. The
// decision must not use that reading to make a new cell, or its charge is
// dated into the past and weighs nothing.
func oldReading(s Subject) error {
	for _, ask := range []func(Engine){
		func(e Engine) { e.Take(1, 2) },
		func(e Engine) { e.TakeUpTo(1, 2) },
		func(e Engine) {
			if w, ok := e.(Waiter); ok {
				w.WaitN(context.Background(), 1, 2)
			} else {
				e.Take(1, 2)
			}
		},
	} {
		clk := new(handClock)
		e := s.New(limitOf("1/s burst 2"), clk)
		keeper, forgotten := e.(Sweeper), 0
		clk.next(func() {
			e.Take(1, 2)
			clk.Advance(2 * time.Second)
			forgotten = keeper.Sweep()
		})
		ask(e)
		if forgotten != 1 {
			return errorf("a full bucket was not forgotten")
		}
		if d := e.Peek(1, 1); d.OK() {
			return errorf("two tokens were charged by a reading from before the key was forgotten, and %d are still there", d.Remaining())
		}
	}
	return nil
}

// sweptRace lets sweeps run against charges on the same keys, which are full
// at the beginning of every round. Exactly a burst is granted.
func sweptRace(s Subject) error {
	const burst, keys = 4, 3
	limit, clk := limitOf("1000/s burst 4"), new(handClock)
	e := s.New(limit, clk)
	keeper := e.(Sweeper)
	forgotten, mixed := 0, 0
	for round := range 6000 {
		clk.Advance(burst * time.Millisecond)
		sweeper := round % racers // first or last to run, where there is one processor
		shares := race(func(i int) (n int) {
			if i == sweeper {
				for range 3 {
					n += keeper.Sweep()
				}
				return n
			}
			for k := range keys {
				n += drain(e, keyOf(k))
			}
			return n
		})
		forgotten += shares[sweeper]
		shares[sweeper] = 0
		granted, winners := sum(shares)
		if winners > 1 {
			mixed++
		}
		if granted != burst*keys {
			return errorf("round %d: %d tokens of %d full buckets granted while they were swept, want %d",
				round, granted, keys, burst*keys)
		}
		if keeper.Len() != keys {
			return errorf("round %d: %d keys are remembered, want the %d that owe time", round, keeper.Len(), keys)
		}
	}
	if forgotten == 0 || mixed == 0 {
		return errorf("%d keys forgotten and %d rounds mixed, so nothing is proved", forgotten, mixed)
	}
	return nil
}

// resetRace resets one key, once, while it is charged: at most two bursts.
func resetRace(s Subject) error {
	limit, clk := limitOf("1000/s burst 4"), new(handClock)
	e := s.New(limit, clk)
	for round := range 3000 {
		clk.Advance(4 * time.Millisecond)
		granted, _ := sum(race(func(i int) int {
			if i == round%racers {
				e.Reset(1)
				return 0
			}
			return drain(e, 1)
		}))
		if granted < 4 || granted > 8 {
			return errorf("round %d: %d tokens granted around one reset, want 4 to 8", round, granted)
		}
	}
	return nil
}
