package stress

import (
	"math/big"
	"runtime"
	"time"
)

// Limits between which a quarter of a token is a whole number of ticks, so that
// no change rounds anything on a clock of milliseconds.
var quarterly = []string{"1000/s burst 20", "500/s burst 20", "250/s burst 20"}

// changeRace changes the limit while goroutines race for the tokens of an
// instant: they get what is there, to the token.
func changeRace(s Subject) error {
	limit, clk, rng := limitOf(quarterly[0]), s.clock(), seeded(6)
	e, b, mixed := s.New(limit, clk), s.bucket(limit, 20), 0
	for round := range s.rounds(2000) {
		clk.Advance(time.Duration(rng.IntN(25)) * time.Millisecond)
		b.fillTo(clk.now())
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
		b.change(limit, clk.now())
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
	clk, limit := s.clock(), limitOf(quarterly[0])
	e := s.New(limit, clk)
	want, first := 20, drain(e, 1)
	var p pace
	granted, _ := sum(race(func(i int) (n int) {
		if i == 0 {
			defer p.end()
			for step := range s.rounds(2000) {
				clk.Advance(4 * time.Millisecond)
				rate, _ := limit.Rate()
				want += rate * 4 / 1000
				limit = limitOf(quarterly[step%len(quarterly)])
				e.(Changer).SetLimit(limit)
				p.step(step)
				n += drain(e, 1)
			}
			return n
		}
		for p.goesOn() {
			n += drain(e, 1)
		}
		return n
	}))
	if granted += first + drain(e, 1); granted != want {
		return errorf("%d tokens granted in %v while clock and limit moved, want %d", granted, clk.now(), want)
	}
	return nil
}

// chains lets keys lie while the limit changes many times, up to more often than
// any engine will want to remember, and then lets goroutines race for what they
// have while it goes on changing.
func chains(s Subject) error {
	clk, limit := s.clock(), limitOf(quarterly[0])
	e, keys := s.New(limit, clk), 4
	if s.OneKey {
		keys = 1
	}
	buckets := make([]*bucket, keys)
	for i := range buckets {
		buckets[i] = s.bucket(limit, 20)
	}
	k := 0
	change := func() {
		k++
		limit = limitOf(quarterly[k%len(quarterly)])
		e.(Changer).SetLimit(limit)
		for _, b := range buckets {
			b.change(limit, clk.now())
		}
	}
	for _, n := range []int{1, 2, 3, 4, 5, 8, 16, 31, 63, 64, 65, 66, 100, 130, 200, 1, 2, 3, 4} {
		for i, b := range buckets { // one after another lies for a change more
			b.fillTo(clk.now())
			got := e.TakeUpTo(keyOf(i), 4*i+4).Granted()
			b.level.Sub(b.level, big.NewRat(int64(got), 1))
			change()
		}
		for range n {
			clk.Advance(time.Millisecond)
			change()
		}
		clk.Advance(time.Millisecond)
		want := 0
		for _, b := range buckets {
			b.fillTo(clk.now())
			want += b.whole()
		}
		granted, _ := sum(race(func(i int) (got int) {
			for range 3 {
				if i == 0 {
					change()
				}
				for k := range keys {
					got += drain(e, keyOf((k+i)%keys))
				}
				runtime.Gosched()
			}
			return got
		}))
		for i, b := range buckets {
			b.level.Sub(b.level, big.NewRat(int64(b.whole()), 1))
			if left := e.Peek(keyOf(i), 0).Remaining(); left != 0 {
				return errorf("after %d changes key %d has %d tokens of an instant that took all", n, i, left)
			}
		}
		if granted != want {
			return errorf("after %d changes %d tokens were granted at one instant, %d were there", n, granted, want)
		}
	}
	return nil
}
