package stress

import (
	"context"
	"time"

	"github.com/weir-go/weir/gcra"
)

// Checks of law L6: a key is forgotten when its bucket is full and not before,
// and no charge is lost to it.

func whenFull(s Subject) error {
	for _, row := range rows {
		limit, clk := limitOf(row.limit), s.clock()
		e := s.New(limit, clk)
		keeper := e.(Sweeper)
		granted := e.TakeUpTo(1, limit.Capacity()).Granted()
		if granted == 0 { // the keys start empty
			clk.Advance(limit.FillTime())
			granted = e.TakeUpTo(1, limit.Capacity()).Granted()
		}
		d := e.Peek(1, 0)
		if d.ResetAfter() == gcra.Never {
			clk.Advance(100 * 24 * time.Hour)
			if keeper.Sweep(); granted > 0 && (keeper.Len() != 1 || e.Take(1, 1).OK()) {
				return errorf("%s: a used allowance was forgotten", row.limit)
			}
			continue
		}
		if granted == 0 {
			return errorf("%s: nothing is granted after the time that a bucket takes to fill", row.limit)
		}
		clk.Advance(s.up(d.ResetAfter()) - s.unit())
		if n := keeper.Sweep(); n != 0 || keeper.Len() != 1 {
			return errorf("%s: a key was forgotten before its bucket is full", row.limit)
		}
		clk.Advance(s.unit())
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
		clk := s.clock()
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
	limit, clk := limitOf("1000/s burst 4"), s.clock()
	e := s.New(limit, clk)
	keeper := e.(Sweeper)
	forgotten, mixed := 0, 0
	for round := range s.rounds(6000) {
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
	limit, clk := limitOf("1000/s burst 4"), s.clock()
	e := s.New(limit, clk)
	for round := range s.rounds(3000) {
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
