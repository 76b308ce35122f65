package stress

import (
	"math"
	"math/big"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A Member is one bucket of a joint: a key of an engine that the subject's New
// made.
type Member struct {
	Engine Engine
	Key    uint64
}

// A Joint is several buckets that decide together.
type Joint interface {
	Take(n int) gcra.Decision
	Peek(n int) gcra.Decision
}

// jointHistory takes from random joints, with repeats, and from the buckets
// themselves, one after the other, and compares every bucket and every decision
// with the rational ones.
func jointHistory(s Subject) error {
	limits := []string{"10/s burst 5", "3/s burst 9", "6/3s burst 10 step 3s", "0/s burst 90", "99/s burst 7"}
	for seed := range uint64(60) {
		rng, clk := seeded(seed), s.clock()
		members, buckets := make([]Member, len(limits)), make([]*bucket, len(limits))
		for i, text := range limits {
			limit := limitOf(text)
			members[i] = Member{s.New(limit, clk), keyOf(i)}
			buckets[i] = s.bucket(limit, limit.Capacity())
		}
		for op := range s.rounds(150) {
			clk.Advance(pause(rng, time.Second))
			var joined []Member
			times := make([]int, len(limits))
			for range 1 + rng.IntN(4) {
				i := rng.IntN(len(limits))
				joined = append(joined, members[i])
				times[i]++
			}
			if i := rng.IntN(len(limits)); rng.IntN(3) == 0 {
				if err := buckets[i].check(clk.now(), 1, false, false, members[i].Engine.Take(members[i].Key, 1)); err != nil {
					return errorf("seed %d, operation %d, direct: %w", seed, op, err)
				}
			}
			n := rng.IntN(6) - 1
			d := s.Join(joined...).Take(n)
			if err := together(buckets, times, clk.now(), n, d); err != nil {
				return errorf("seed %d, operation %d: a cost of %d, asked %v times: %w", seed, op, n, times, err)
			}
			for i, b := range buckets {
				b.fillTo(clk.now())
				if got := members[i].Engine.Peek(members[i].Key, 0).Remaining(); got != b.whole() {
					return errorf("seed %d, operation %d: a cost of %d, asked %v times, err %v, left %s with %d, want %d",
						seed, op, n, times, d.Err(), limits[i], got, b.whole())
				}
			}
		}
	}
	return nil
}

// together makes a joint decision in the buckets and compares.
func together(buckets []*bucket, times []int, now time.Duration, n int, d gcra.Decision) error {
	var err error
	for i, b := range buckets {
		b.fillTo(now)
		switch m := times[i]; {
		case m == 0:
		case n < 0:
			err = gcra.ErrCost
		case m*n > b.limit.Capacity():
			err = gcra.ErrExceedsBurst
		case m*n > b.whole() && err == nil:
			err = gcra.ErrLimited
		}
	}
	if d.Err() != err || d.OK() != (err == nil) {
		return errorf("err %v, want %v", d.Err(), err)
	}
	left, named := math.MaxInt, false
	costs, full := make([]int, len(buckets)), make([]int, len(buckets))
	for i, b := range buckets {
		if m := times[i]; m > 0 {
			costs[i], full[i] = max(m*n, 0), b.limit.Capacity()
			if err == nil {
				b.level.Sub(b.level, big.NewRat(int64(costs[i]), 1))
			}
			left = min(left, b.whole()/m)
			named = named || b.limit == d.Limit() && (err == nil || n < 0 || costs[i] > b.whole())
		}
	}
	granted := 0
	if err == nil {
		granted = n
	}
	if d.Remaining() != left || d.Granted() != granted || !named {
		return errorf("err %v, %d remaining, %d granted, under %v; want %d, %d and a limit of the joint, one that refused if any did",
			err, d.Remaining(), d.Granted(), d.Limit(), left, granted)
	}
	switch {
	case err == nil && d.RetryAfter() != 0, err != nil && err != gcra.ErrLimited && d.RetryAfter() != gcra.Never:
		return errorf("err %v, retry after %v", err, d.RetryAfter())
	case err == gcra.ErrLimited:
		if err := allThere(buckets, costs, now, d.RetryAfter()); err != nil {
			return errorf("retry after %v: %w", d.RetryAfter(), err)
		}
	}
	if err := allThere(buckets, full, now, d.ResetAfter()); err != nil {
		return errorf("reset after %v: %w", d.ResetAfter(), err)
	}
	return nil
}

// allThere checks that after the wait, and not in an earlier unit, every
// bucket has the tokens wanted of it.
func allThere(buckets []*bucket, want []int, now, wait time.Duration) error {
	unit := buckets[0].unit
	there := func(w time.Duration) bool {
		w = (w + unit - 1) / unit * unit
		for i, b := range buckets {
			later := big.NewRat(gcra.At(&b.limit, now+w).Tick-b.last, b.ticks)
			if want[i] > 0 && later.Add(later, b.level).Cmp(big.NewRat(int64(want[i]), 1)) < 0 {
				return false
			}
		}
		return true
	}
	switch {
	case wait == gcra.Never:
		if there(10 * 365 * 24 * time.Hour) {
			return errorf("never, but all will be there")
		}
	case !there(wait):
		return errorf("not all are there by then")
	case wait > 0 && there(wait-unit):
		return errorf("all are there a unit of the clock earlier")
	}
	return nil
}

// jointRefusal refuses by the last bucket, again and again: that costs no other
// one, and the decision says when it ends.
func jointRefusal(s Subject) error {
	clk := s.clock()
	first := Member{s.New(limitOf("10/s burst 5"), clk), 1}
	last := Member{s.New(limitOf("7/m burst 3"), clk), 2}
	last.Engine.Take(last.Key, 3)
	joint := s.Join(first, last)
	want := first.Engine.Peek(first.Key, 0)
	for range 20 {
		if d := joint.Take(1); d.OK() || d.Limit() != limitOf("7/m burst 3") {
			return errorf("an empty bucket granted, or %v refused", d.Limit())
		}
		if got := first.Engine.Peek(first.Key, 0); got != want {
			return errorf("a refusal by another bucket left %d of %d", got.Remaining(), want.Remaining())
		}
	}
	wait := s.up(joint.Peek(1).RetryAfter())
	if clk.Advance(wait - s.unit()); joint.Take(1).OK() {
		return errorf("passed before RetryAfter")
	}
	if clk.Advance(s.unit()); !joint.Take(1).OK() {
		return errorf("refused after RetryAfter")
	}
	return nil
}

// jointRollBack lets others be faster at the second bucket, at every reading of
// its clock, and lets time pass meanwhile. With a burst of 2 and 10 units a token:
// the joint takes 1 at 0, somebody else 1 at 10, and the joint's comes back. If
// it came back as at 0, two more would pass at 10, three in one instant. Where no
// time passes and nobody else takes, all of it comes back.
func jointRollBack(s Subject) error {
	for reading := 1; ; reading++ {
		for i := range 4 {
			swapped, later, took := i&1 > 0, 10*s.unit(), 1
			if i&2 > 0 {
				later, took = 0, 0
			}
			clk, other := s.clock(), s.clock()
			first := Member{s.New(gcra.Every(10*s.unit()).Burst(2), clk), 1}
			second := Member{s.New(limitOf("1/h burst 3"), other), 2}
			// Both keys are present, and full: a new key's clock may be read
			// under a lock, where a hook must not decide.
			first.Engine.Take(first.Key, 1)
			second.Engine.Take(second.Key, 1)
			clk.Advance(time.Hour)
			other.Advance(time.Hour)
			joint := s.Join(first, second)
			if swapped {
				joint = s.Join(second, first)
			}
			met := false
			var hook func()
			left := reading
			hook = func() {
				if left--; left > 0 {
					other.next(hook)
					return
				}
				met = true
				clk.Advance(later)
				first.Engine.Take(first.Key, took)
				second.Engine.TakeUpTo(second.Key, 3)
			}
			other.next(hook)
			d := joint.Take(1)
			if !met {
				if reading == 1 {
					return errorf("the joint did not read its bucket's clock")
				}
				return nil
			}
			left = first.Engine.Peek(first.Key, 0).Remaining()
			if took == 0 && !d.OK() && left != 2 {
				return errorf("%d of 2 tokens are there after a refusal that lost a race, and nobody else took any", left)
			}
			if took > 0 && left > 1 {
				return errorf("three tokens at one instant, of a burst of 2: one before reading %d of the other bucket's clock, two after the joint's end with err %v",
					reading, d.Err())
			}
		}
	}
}

// jointRace lets joints over two buckets, in both orders, race with those who
// take from one, while the clock stands still: no bucket grants more than it
// had, and it lacks exactly what was granted.
func jointRace(s Subject) error {
	const burst = 20
	limit := limitOf("1/s burst 20")
	var first, second Engine
	mixed := 0
	for round := range s.rounds(2000) {
		if round%50 == 0 || s.OneKey {
			clk := s.clock()
			first, second = s.New(limit, clk), s.New(limit, clk)
		}
		a, b := Member{first, keyOf(round)}, Member{second, keyOf(round + 1)}
		joints := [2]Joint{s.Join(a, b), s.Join(b, a)}
		shares := race(func(i int) (n int) {
			rng := seeded(uint64(round*racers + i))
			for range 8 {
				switch i {
				default:
					n += joints[i%2].Take(1 + rng.IntN(3)).Granted()
				case 2:
					n += a.Engine.TakeUpTo(a.Key, 2).Granted()
				case 3:
					n += b.Engine.TakeUpTo(b.Key, 1).Granted()
				}
			}
			return n
		})
		if _, winners := sum(shares); winners == racers {
			mixed++
		}
		joint, direct := shares[0]+shares[1], shares[2:]
		for i, m := range []Member{a, b} {
			left := m.Engine.Peek(m.Key, 0).Remaining()
			if joint+direct[i] > burst || left != burst-joint-direct[i] {
				return errorf("round %d: of %d tokens joints took %d and others %d, and %d are left", round, burst, joint, direct[i], left)
			}
		}
	}
	if mixed == 0 {
		return errorf("in no round did all win some, so nothing raced and nothing is proved")
	}
	return nil
}
