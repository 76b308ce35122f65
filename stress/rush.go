package stress

import (
	"context"
	"runtime"
	"time"
)

// rush is the crowd that the small buckets of the other races do not make:
// goroutines that do nothing but take tokens, one by one and in each way that
// there is, so often that they meet between the reading of a word and its
// writing without having been stopped there. What they took is missing.
func rush(s Subject) error {
	calls := s.rounds(30_000)
	for _, way := range []struct {
		name string
		take func(Engine) (granted bool)
	}{
		{"AllowN", func(e Engine) bool { return e.AllowN(1, 1) }},
		{"Take", func(e Engine) bool { return e.Take(1, 1).OK() }},
		{"TakeUpTo", func(e Engine) bool { return e.TakeUpTo(1, 1).OK() }},
		{"Debit", func(e Engine) bool {
			d, ok := e.(Debtor)
			return ok && d.Debit(1, 1).OK()
		}},
		{"Reserve", func(e Engine) bool {
			r, ok := e.(Reserver)
			return ok && r.Reserve(1, 1).OK()
		}},
		{"Settle", func(e Engine) bool {
			r, ok := e.(Reserver)
			if !ok {
				return false
			}
			booked := r.Reserve(1, 2)
			booked.Settle(1)
			return booked.OK()
		}},
		{"WaitN", func(e Engine) bool {
			w, ok := e.(Waiter)
			return ok && w.WaitN(context.Background(), 1, 1) == nil
		}},
	} {
		e := s.New(limitOf("1000/s burst 1000000"), s.clock())
		e.Take(1, 1) // from now on the key is there
		there := e.Peek(1, 0).Remaining()
		granted, _ := sum(race(func(int) (n int) {
			for i := range calls {
				if way.take(e) {
					n++
				}
				if i%1000 == 0 {
					runtime.Gosched()
				}
			}
			return n
		}))
		if left := e.Peek(1, 0).Remaining(); left != there-granted {
			return errorf("%s: %d tokens of %d are left after %d were granted", way.name, left, there, granted)
		}
	}
	return nil
}

// takeUpToRace lets goroutines race by TakeUpTo for more than is there: the
// parts that they get add up.
func takeUpToRace(s Subject) error {
	const burst = 1000
	clk := s.clock()
	e := s.New(limitOf("1000/s burst 1000"), clk)
	for round := range s.rounds(300) {
		granted, _ := sum(race(func(i int) (n int) {
			for {
				d := e.TakeUpTo(1, 1+(i+n)%7)
				if n += d.Granted(); !d.OK() {
					return n
				}
			}
		}))
		if granted != burst {
			return errorf("round %d: %d tokens granted in parts at one instant, %d were there", round, granted, burst)
		}
		clk.Advance(time.Second)
	}
	return nil
}
