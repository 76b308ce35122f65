package stress

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// quiet checks that decisions on a present key do not allocate and that an
// engine runs no goroutine: L11.
func quiet(_ *testing.T, s Subject) error {
	goroutines := runtime.NumGoroutine()
	limit, clk := limitOf("1/s burst 1000000"), new(handClock)
	e := s.New(limit, clk)
	e.Take(1, 1)
	empty := s.New(limitOf("1/h"), clk)
	empty.Take(1, 1)
	for _, row := range []struct {
		what string
		run  func()
	}{
		{"AllowN, granted", func() { e.AllowN(1, 1) }},
		{"AllowN, refused", func() { empty.AllowN(1, 1) }},
		{"Take, granted", func() { e.Take(1, 1) }},
		{"Take, refused", func() { empty.Take(1, 1) }},
		{"Take, above the burst", func() { empty.Take(1, 2) }},
		{"TakeUpTo, granted", func() { e.TakeUpTo(1, 3) }},
		{"TakeUpTo, refused", func() { empty.TakeUpTo(1, 3) }},
		{"Peek", func() { e.Peek(1, 1) }},
		{"WaitN without a wait", func() {
			if w, ok := e.(Waiter); ok {
				w.WaitN(context.Background(), 1, 1)
			}
		}},
		{"the numbers of a decision", func() {
			d := empty.Peek(1, 1)
			_, _, _, _ = d.Remaining(), d.RetryAfter(), d.ResetAfter(), d.Err()
		}},
	} {
		if n := testing.AllocsPerRun(100, row.run); n != 0 {
			return errorf("%s: %v allocations", row.what, n)
		}
	}
	if keeper, ok := e.(Sweeper); ok {
		clk.Advance(2e6 * time.Second)
		keeper.Sweep()
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		return errorf("%d goroutines are running that were not there before", n-goroutines)
	}
	return nil
}
