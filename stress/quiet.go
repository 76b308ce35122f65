package stress

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// Checks of law L11.

// allocations: decisions on a present key do not allocate, granted or refused.
// What may is a new key, a change of limit at the first grant of each key after
// it, and Reserve: what it returns as an interface here, and what Settle will
// need to find the key again, or the parts of a joint.
func allocations(s Subject) error {
	limit, clk := limitOf("1/s burst 1000000"), s.clock()
	e := s.New(limit, clk)
	e.Take(1, 1)
	empty := s.New(limitOf("1/h"), clk)
	empty.Take(1, 1)
	debtor, _ := e.(Debtor)
	emptyDebtor, _ := empty.(Debtor)
	reserver, _ := e.(Reserver)
	for _, row := range []struct {
		what string
		most float64
		run  func()
	}{
		{"AllowN, granted", 0, func() { e.AllowN(1, 1) }},
		{"AllowN, refused", 0, func() { empty.AllowN(1, 1) }},
		{"Take, granted", 0, func() { e.Take(1, 1) }},
		{"Take, refused", 0, func() { empty.Take(1, 1) }},
		{"Take, above the burst", 0, func() { empty.Take(1, 2) }},
		{"TakeUpTo, granted", 0, func() { e.TakeUpTo(1, 3) }},
		{"TakeUpTo, refused", 0, func() { empty.TakeUpTo(1, 3) }},
		{"Peek", 0, func() { e.Peek(1, 1) }},
		{"WaitN without a wait", 0, func() {
			if w, ok := e.(Waiter); ok {
				w.WaitN(context.Background(), 1, 1)
			}
		}},
		{"Debit, granted", 0, func() {
			if debtor != nil {
				debtor.Debit(1, 1)
			}
		}},
		{"Debit, refused", 0, func() {
			if emptyDebtor != nil {
				emptyDebtor.Debit(1, 5)
			}
		}},
		{"Reserve and Cancel", 3, func() {
			if reserver != nil {
				reserver.Reserve(1, 1).Cancel()
			}
		}},
		{"Reserve and Settle", 3, func() {
			if reserver != nil {
				reserver.Reserve(1, 2).Settle(1)
			}
		}},
		{"the numbers of a decision", 0, func() {
			d := empty.Peek(1, 1)
			_, _, _, _ = d.Remaining(), d.RetryAfter(), d.ResetAfter(), d.Err()
		}},
	} {
		if n := testing.AllocsPerRun(100, row.run); n > row.most {
			return errorf("%s: %v allocations, at most %v", row.what, n, row.most)
		}
	}
	return nil
}

// goroutines: none runs beside the callers', neither while keys come and go, nor
// after waits and changes of the limit.
func goroutines(s Subject) error {
	before := running()
	limit, clk := limitOf("1000/s burst 10"), s.clock()
	e := s.New(limit, clk)
	for i := range 200 {
		e.Take(keyOf(i), 1+i%10)
		e.Peek(keyOf(i), 1)
		if r, ok := e.(Reserver); ok {
			r.Reserve(keyOf(i), 2).Cancel()
		}
		if d, ok := e.(Debtor); ok {
			d.Debit(keyOf(i), 1)
		}
		if c, ok := e.(Changer); ok && i%20 == 0 {
			c.SetLimit(limit.Burst(10 + i/20))
		}
		if w, ok := e.(Waiter); ok && i%10 == 0 {
			clk.Advance(time.Second)
			w.WaitN(context.Background(), keyOf(i), 1)
		}
		e.Reset(keyOf(i))
	}
	clk.Advance(time.Hour)
	if keeper, ok := e.(Sweeper); ok {
		keeper.Sweep()
	}
	if n := running(); n > before {
		return errorf("%d goroutines are running that were not there before", n-before)
	}
	return nil
}

// running is how many goroutines there are when those that are about to end, of
// races before, have ended.
func running() int {
	least := runtime.NumGoroutine()
	for still := 0; still < 500; still++ {
		runtime.Gosched()
		if n := runtime.NumGoroutine(); n < least {
			least, still = n, 0
		}
	}
	return least
}
