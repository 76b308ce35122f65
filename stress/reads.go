package stress

import (
	"context"
	"runtime"
	"time"
)

// Checks of law L3.

// reads checks that what is refused, peeked at or free changes no balance.
func reads(s Subject) error {
	clk := s.clock()
	limit := limitOf("1/s burst 4")
	e := s.New(limit, clk)
	clk.Advance(time.Hour)
	e.Take(1, 3)
	clk.Advance(500 * time.Millisecond) // 1.5 tokens are there
	for i := range 50 {
		e.Take(1, 2)
		e.AllowN(1, 2)
		e.Take(1, 5)
		e.Take(1, -1)
		e.Take(1, 0)
		e.TakeUpTo(1, 0)
		e.TakeUpTo(1, -7)
		e.Peek(1, 1)
		readMore(e, 1)
		if d := e.Peek(1, 2); d.RetryAfter() != 500*time.Millisecond-time.Duration(i)*s.unit() || d.Remaining() != 1 {
			return errorf("after %d rounds of reads the bucket has %d and two tokens in %v, want 1 and %v",
				i+1, d.Remaining(), d.RetryAfter(), 500*time.Millisecond-time.Duration(i)*s.unit())
		}
		clk.Advance(s.unit())
	}
	return nil
}

// readsMakeNoCells: a key without a cell has none after it was refused or read.
func readsMakeNoCells(s Subject) error {
	limit := limitOf("1/s burst 4")
	e := s.New(limit, s.clock())
	e.Take(1, 3)
	keeper := e.(Keeper)
	before := keeper.Len()
	empty := s.New(limit.Start(0), s.clock())
	for i := range 20 {
		e.Peek(keyOf(i+9), 1)
		e.Take(keyOf(i+9), 0)
		e.Take(keyOf(i+9), 5)
		e.Take(keyOf(i+9), -1)
		readMore(e, keyOf(i+9))
		empty.Take(keyOf(i), 1)
		empty.TakeUpTo(keyOf(i), 3)
	}
	if got := keeper.Len(); got != before {
		return errorf("reads made %d cells", got-before)
	}
	if got := empty.(Keeper).Len(); got != 0 {
		return errorf("refusals of new keys made %d cells", got)
	}
	return nil
}

// readMore asks in the other ways for what is refused or free under a burst of 4.
func readMore(e Engine, key uint64) {
	e.AllowN(key, 0)
	if r, ok := e.(Reserver); ok {
		for _, n := range []int{5, -1, 0} {
			r.Reserve(key, n).Cancel()
		}
	}
	if d, ok := e.(Debtor); ok {
		d.Debit(key, 0)
		d.Debit(key, -1)
	}
	if w, ok := e.(Waiter); ok {
		done, cancel := context.WithCancel(context.Background())
		cancel()
		w.WaitN(done, key, 1)
		for _, n := range []int{5, -1, 0} {
			w.WaitN(context.Background(), key, n)
		}
	}
}

// readsBesideGrants lets some take single tokens while others do what writes
// nothing: not even what is there already, or a grant in between is lost.
func readsBesideGrants(s Subject) error {
	calls := s.rounds(20_000)
	e := s.New(limitOf("1000/s burst 1000000"), s.clock())
	e.Take(1, 400_000)
	there := e.Peek(1, 0).Remaining()
	granted, _ := sum(race(func(i int) (n int) {
		for k := range calls {
			if k%100 == 0 {
				runtime.Gosched()
			}
			if i%2 == 0 {
				n += e.Take(1, 1).Granted()
				continue
			}
			switch k % 6 {
			case 0:
				e.Take(1, 900_000)
			case 1:
				e.AllowN(1, 800_000)
			case 2:
				e.Peek(1, 1)
			case 3:
				e.Take(1, 0)
			case 4:
				e.TakeUpTo(1, 0)
			case 5:
				e.Take(1, -1)
			}
		}
		return n
	}))
	if left := e.Peek(1, 0).Remaining(); left != there-granted {
		return errorf("%d tokens of %d are left after %d were granted beside reads", left, there, granted)
	}
	return nil
}
