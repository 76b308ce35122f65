package stress

import (
	"time"

	"github.com/weir-go/weir/gcra"
)

// Checks of law L7: a limiter that has a cap, and a flood of new keys.

// bothWays runs a check with either policy.
func bothWays(s Subject, check func(s Subject, admit bool) error) error {
	for _, admit := range []bool{false, true} {
		if err := check(s, admit); err != nil {
			return errorf("admit %v: %w", admit, err)
		}
	}
	return nil
}

func flood(s Subject) error     { return bothWays(s, floods) }
func floodRace(s Subject) error { return bothWays(s, floodsRace) }

// room is how many keys an engine that was made for so many may remember.
func (s Subject) room(keys int) int {
	if s.Room == nil {
		return keys
	}
	return s.Room(keys)
}

// floods keeps account of every key that is remembered: each has its exact
// balance to the end, and each that is not has what a key never seen has.
func floods(s Subject, admit bool) error {
	const most = 50
	limit, clk, room := limitOf("1/s burst 3"), s.clock(), s.room(most)
	e := s.NewCapped(limit, clk, most, admit)
	keeper, left := e.(Keeper), make(map[uint64]int)
	for i := range most {
		if d := e.Take(keyOf(i), 2); d.Granted() != 2 || keeper.Len() != i+1 {
			return errorf("key %d got err %v, and %d keys are remembered, where there is room for %d", i, d.Err(), keeper.Len(), most)
		}
		left[keyOf(i)] = 1
	}
	for i := range max(s.rounds(3000), 4*room) {
		key, before := keyOf(most+i), keeper.Len()
		d := e.Take(key, 1)
		n := keeper.Len()
		if n < before || n > min(before+1, room) {
			return errorf("%d keys were remembered, then %d, and there is room for %d", before, n, room)
		}
		if n > before {
			if d.Granted() != 1 {
				return errorf("new key %d is remembered and got err %v", i, d.Err())
			}
			left[key] = 2
			continue
		}
		if d.OK() != admit {
			return errorf("new key %d got err %v from a full limiter", i, d.Err())
		}
		if !admit && (d.Err() != gcra.ErrLimited || d.RetryAfter() <= 0 || d.Remaining() != 0) {
			return errorf("a key without room got err %v, retry after %v, remaining %d", d.Err(), d.RetryAfter(), d.Remaining())
		}
		if got := e.Peek(key, 0).Remaining(); got != 3 {
			return errorf("new key %d is not remembered and has %d tokens, want 3", i, got)
		}
	}
	if n := keeper.Len(); n != room || len(left) != room {
		return errorf("%d keys are remembered after a flood, %d were granted a place, and there is room for %d", n, len(left), room)
	}
	for key, want := range left {
		if d := e.Peek(key, 0); d.Remaining() != want {
			return errorf("key %d has %d tokens after the flood, want %d", key, d.Remaining(), want)
		}
	}
	// Once the buckets are full there is room, without a sweep.
	if clk.Advance(2 * time.Second); s.Room != nil {
		clk.Advance(s.unit())
	}
	for i := range most {
		e.Take(keyOf(10_000+i), 3)
		if d := e.Peek(keyOf(10_000+i), 1); d.OK() {
			return errorf("new key %d was not remembered although %d others can be forgotten", i, room)
		}
	}
	if n := keeper.Len(); n > room {
		return errorf("%d keys are remembered, and there is room for %d", n, room)
	}
	return nil
}

func floodsRace(s Subject, admit bool) error {
	const most, tries = 100, 400
	room := s.room(most)
	e := s.NewCapped(limitOf("1/s"), s.clock(), most, admit)
	keeper := e.(Keeper)
	over := 0
	var got [racers][tries]int
	granted, _ := sum(race(func(i int) (n int) {
		for k := range tries {
			got[i][k] = e.Take(keyOf(i*tries+k), 1).Granted()
			n += got[i][k]
			if i == 0 {
				over = max(over, keeper.Len()-room)
			}
		}
		return n
	}))
	want := room
	if admit {
		want = racers * tries
	}
	if over > 0 || granted != want || keeper.Len() != room {
		return errorf("%d of %d new keys granted, want %d; %d remembered and up to %d too many, there is room for %d",
			granted, racers*tries, want, keeper.Len(), over, room)
	}
	remembered := 0
	for i := range got {
		for k, n := range got[i] {
			there := e.Peek(keyOf(i*tries+k), 0).Remaining()
			if remembered += 1 - there; there != 1-n && !admit {
				return errorf("a new key was granted %d of 1 and has %d", n, there)
			}
		}
	}
	if remembered != room {
		return errorf("%d keys lack what they were granted, want %d", remembered, room)
	}
	return nil
}
