package stress

import (
	"context"
	"runtime"
	"time"

	"github.com/weir-go/weir/gcra"
)

// Checks of law L6 where keys are forgotten to make room for others, and not by
// a sweep.

// fill takes n tokens for each of many new keys, from keyOf(from) on, until as
// many are remembered as there is room for, and returns those.
func fill(e Engine, from, room, n int) []uint64 {
	var there []uint64
	for i := from; i < from+100*room && len(there) < room; i++ {
		before := e.Peek(keyOf(i), 0).Remaining()
		e.TakeUpTo(keyOf(i), n)
		if e.Peek(keyOf(i), 0).Remaining() < before {
			there = append(there, keyOf(i))
		}
	}
	return there
}

// pushedWhenFull fills a limiter with keys that owe the same. None of them is
// forgotten before its bucket is full, and all can be after.
func pushedWhenFull(s Subject) error {
	const most = 20
	for _, row := range rows {
		limit, clk, room := limitOf(row.limit), s.clock(), s.room(most)
		e := s.NewCapped(limit, clk, most, false)
		if n, _ := limit.Rate(); n > 0 {
			clk.Advance(limit.FillTime()) // past the limit's start
		}
		keys := fill(e, 0, room, limit.Capacity())
		if n := e.(Keeper).Len(); n != room || len(keys) != room {
			return errorf("%s: %d keys are remembered and %d owe, there is room for %d", row.limit, n, len(keys), room)
		}
		wait := e.Peek(keys[0], 0).ResetAfter()
		if wait == gcra.Never {
			clk.Advance(100 * 24 * time.Hour)
			if e.TakeUpTo(keyOf(1e6), 1).OK() {
				return errorf("%s: a used allowance was forgotten", row.limit)
			}
			continue
		}
		wait = s.up(wait)
		clk.Advance(wait - s.unit())
		for i := range 100 {
			if e.Take(keyOf(1e6+i), 1).OK() {
				return errorf("%s: a key was forgotten before its bucket is full", row.limit)
			}
		}
		for _, key := range keys {
			if got := e.Peek(key, 0).ResetAfter(); s.up(got) != s.unit() {
				return errorf("%s: a key whose bucket is full in %v says %v", row.limit, s.unit(), got)
			}
		}
		if clk.Advance(s.unit()); s.Room != nil {
			clk.Advance(s.nextTick(limit, clk.now()))
		}
		if n := len(fill(e, 2e6, room, limit.Capacity())); n != room || e.(Keeper).Len() != room {
			return errorf("%s: %d keys were forgotten for others, want all %d, whose buckets are full", row.limit, n, room)
		}
	}
	return nil
}

// nextTick returns a time after which the limit reads another tick.
func (s Subject) nextTick(limit gcra.Limit, now time.Duration) time.Duration {
	d := s.unit()
	for gcra.At(&limit, now+d).Tick == gcra.At(&limit, now).Tick {
		d *= 2
	}
	return d
}

// pushedOldReading is oldReading where a key is forgotten because so many others
// come that all who were there must have left.
func pushedOldReading(s Subject) error {
	const most, key = 20, uint64(1 << 40)
	for _, ask := range []func(Engine){
		func(e Engine) { e.Take(key, 2) },
		func(e Engine) { e.TakeUpTo(key, 2) },
		func(e Engine) {
			if w, ok := e.(Waiter); ok {
				w.WaitN(context.Background(), key, 2)
			} else {
				e.Take(key, 2)
			}
		},
	} {
		clk, room := s.clock(), s.room(most)
		e := s.NewCapped(limitOf("1/s burst 2"), clk, most, false)
		pushed := false
		clk.next(func() {
			e.Take(key, 2)
			fill(e, 0, room-1, 2)
			clk.Advance(2*time.Second + s.unit())
			pushed = len(fill(e, 1e6, room, 2)) == room
			clk.Advance(2*time.Second + s.unit())
		})
		ask(e)
		if !pushed {
			return errorf("not all full buckets were forgotten for others")
		}
		if d := e.Peek(key, 1); d.OK() {
			return errorf("two tokens were charged by a reading from before the key was forgotten, and %d are still there", d.Remaining())
		}
	}
	return nil
}

// pushedRace lets goroutines take what there is of a few keys, while new ones
// push them out, since all are full at the beginning of every round. There is
// always room, so that exactly a burst is granted; where the cap is exact, who
// comes when the last place has just gone to another may be turned away.
func pushedRace(s Subject) error {
	const burst, keys, most, guests = 4, 3, 30, 6
	limit, clk, room := limitOf("1000/s burst 4"), s.clock(), s.room(most)
	e, mixed := s.NewCapped(limit, clk, most, false), 0
	fill(e, 1e6, room, 1)
	for round := range s.rounds(4000) {
		clk.Advance(burst*time.Millisecond + s.unit())
		shares := race(func(i int) (n int) {
			for k := range keys {
				if i != round%racers {
					n += drain(e, keyOf((k+i)%keys))
					continue
				}
				for g := range guests {
					e.Take(keyOf(1000+round*keys*guests+k*guests+g), 1)
				}
				runtime.Gosched()
			}
			return n
		})
		granted, winners := sum(shares)
		if winners > 1 {
			mixed++
		}
		if granted > burst*keys || s.Room != nil && granted < burst*keys {
			return errorf("round %d: %d tokens of %d full buckets granted while others came, want %d", round, granted, keys, burst*keys)
		}
		if n := e.(Keeper).Len(); n > room {
			return errorf("round %d: %d keys are remembered, and there is room for %d", round, n, room)
		}
	}
	if mixed == 0 {
		return errorf("no round had two winners, so nothing raced and nothing is proved")
	}
	return nil
}
