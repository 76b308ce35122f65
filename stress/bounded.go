package stress

import (
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// bounded floods a limiter that has a cap with new keys: L7.
func bounded(_ *testing.T, s Subject) error {
	if s.NewCapped == nil {
		return nil
	}
	for _, admit := range []bool{false, true} {
		for _, check := range []func(Subject, bool) error{flood, floodRace} {
			if err := check(s, admit); err != nil {
				return errorf("admit %v: %w", admit, err)
			}
		}
	}
	return nil
}

func flood(s Subject, admit bool) error {
	const most = 50
	limit, clk := limitOf("1/s burst 3"), new(handClock)
	e := s.NewCapped(limit, clk, most, admit)
	for i := range most {
		e.Take(keyOf(i), 2)
	}
	for i := range 3000 {
		d := e.Take(keyOf(most+i), 1)
		if d.OK() != admit {
			return errorf("new key %d got err %v from a full limiter", i, d.Err())
		}
		if !admit && (d.Err() != gcra.ErrLimited || d.RetryAfter() <= 0 || d.Remaining() != 0) {
			return errorf("a key without room got err %v, retry after %v, remaining %d", d.Err(), d.RetryAfter(), d.Remaining())
		}
		if n := e.(Keeper).Len(); n != most {
			return errorf("%d keys are remembered, the cap is %d", n, most)
		}
	}
	for i := range most {
		if d := e.Peek(keyOf(i), 0); d.Remaining() != 1 {
			return errorf("key %d has %d tokens after the flood, want 1", i, d.Remaining())
		}
	}
	// Once the buckets are full there is room, without a sweep.
	clk.Advance(2 * time.Second)
	for i := range most {
		e.Take(keyOf(1000+i), 3)
		if d := e.Peek(keyOf(1000+i), 1); d.OK() {
			return errorf("new key %d was not remembered although %d others can be forgotten", i, most)
		}
	}
	return nil
}

func floodRace(s Subject, admit bool) error {
	const most, tries = 100, 400
	e := s.NewCapped(limitOf("1/s"), new(handClock), most, admit)
	keeper := e.(Keeper)
	over := 0
	granted, _ := sum(race(func(i int) (n int) {
		for k := range tries {
			n += e.Take(keyOf(i*tries+k), 1).Granted()
			if i == 0 {
				over = max(over, keeper.Len()-most)
			}
		}
		return n
	}))
	want := most
	if admit {
		want = racers * tries
	}
	if over > 0 || granted != want || keeper.Len() != most {
		return errorf("%d of %d new keys granted, want %d; %d remembered and up to %d too many, the cap is %d",
			granted, racers*tries, want, keeper.Len(), over, most)
	}
	return nil
}
