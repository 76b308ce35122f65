package atomic_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

func ExampleLimiter_Allow() {
	var clk clock.Manual // a program leaves WithClock out
	limiter := atomic.NewLimiter(gcra.PerSecond(10).Burst(2), atomic.WithClock(&clk))
	fmt.Println(limiter.Allow(), limiter.Allow(), limiter.Allow())
	clk.Advance(100 * time.Millisecond)
	fmt.Println(limiter.Allow(), limiter.Allow())
	// Output:
	// true true false
	// true false
}

func ExampleLimiter_Take() {
	var clk clock.Manual
	limiter := atomic.NewLimiter(gcra.PerSecond(100).Burst(50), atomic.WithClock(&clk))
	for _, cost := range []int{40, 40, 60, -1} {
		d := limiter.Take(cost)
		switch {
		case d.OK():
			fmt.Printf("%d: granted, %d left, full in %v\n", cost, d.Remaining(), d.ResetAfter())
		case d.RetryAfter() == gcra.Never:
			fmt.Printf("%d: %v\n", cost, d.Err())
		default:
			fmt.Printf("%d: %v, retry after %v\n", cost, d.Err(), d.RetryAfter())
		}
	}
	// Output:
	// 40: granted, 10 left, full in 400ms
	// 40: weir: limited, retry after 300ms
	// 60: weir: cost exceeds the burst
	// -1: weir: negative cost
}

// A writer that may send as many bytes as there are tokens sends a part.
func ExampleLimiter_TakeUpTo() {
	var clk clock.Manual
	limiter := atomic.NewLimiter(gcra.PerSecond(1000).Burst(1500), atomic.WithClock(&clk))
	for _, size := range []int{1000, 1000, 1000} {
		d := limiter.TakeUpTo(size)
		fmt.Println(d.OK(), d.Granted())
	}
	// Output:
	// true 1000
	// true 500
	// false 0
}

func ExampleLimiter_Peek() {
	var clk clock.Manual
	limiter := atomic.NewLimiter(gcra.PerMinute(1), atomic.WithClock(&clk))
	fmt.Println(limiter.Peek(1).OK(), limiter.Peek(1).OK())
	limiter.Take(1)
	fmt.Println(limiter.Peek(1).OK(), limiter.Peek(1).RetryAfter())
	// Output:
	// true true
	// false 1m0s
}

func ExampleLimiter_Wait() {
	limiter := atomic.NewLimiter(gcra.Every(time.Millisecond))
	start := time.Now()
	for range 3 { // the first goes at once, the others wait for their slots
		if err := limiter.Wait(context.Background()); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(time.Since(start) >= 2*time.Millisecond)
	// Output: true
}

// A deadline before the slot fails at once and books nothing.
func ExampleLimiter_Wait_deadline() {
	limiter := atomic.NewLimiter(gcra.Every(time.Hour))
	limiter.Allow()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := limiter.Wait(ctx)
	fmt.Println(errors.Is(err, context.DeadlineExceeded), ctx.Err())
	// Output: true <nil>
}

func ExampleWithMaxWait() {
	var clk clock.Manual // it stands still, so nobody waits in this example
	limiter := atomic.NewLimiter(gcra.PerSecond(1), atomic.WithClock(&clk), atomic.WithMaxWait(500*time.Millisecond))
	fmt.Println(limiter.Wait(context.Background()))
	err := limiter.Wait(context.Background())
	fmt.Println(errors.Is(err, gcra.ErrLimited))
	if late, ok := errors.AsType[*atomic.WaitError](err); ok {
		fmt.Println(late.Delay)
	}
	// Output:
	// <nil>
	// true
	// 1s
}

func ExampleLimiter_Reset() {
	var clk clock.Manual
	limiter := atomic.NewLimiter(gcra.PerDay(2).Burst(2), atomic.WithClock(&clk))
	limiter.Take(2)
	fmt.Println(limiter.Allow())
	limiter.Reset()
	fmt.Println(limiter.Allow())
	// Output:
	// false
	// true
}

// A server that takes two jobs a second tells each when to begin.
func ExampleLimiter_Reserve() {
	var clk clock.Manual
	limiter := atomic.NewLimiter(gcra.PerSecond(2), atomic.WithClock(&clk))
	for range 3 {
		r := limiter.Reserve(1)
		fmt.Println(r.OK(), r.Delay())
	}
	r := limiter.Reserve(2) // above the burst
	fmt.Println(r.OK(), r.Err(), r.Delay() == gcra.Never)
	// Output:
	// true 0s
	// true 500ms
	// true 1s
	// false weir: cost exceeds the burst true
}

// Who would rather be refused than wait, and may not use all of it.
func ExampleLimiter_ReserveWithin() {
	var clk clock.Manual
	limiter := atomic.NewLimiter(gcra.PerSecond(10).Burst(5), atomic.WithClock(&clk))
	for _, n := range []int{4, 4} {
		r := limiter.ReserveWithin(0, n)
		fmt.Println(r.OK(), r.Err(), r.Delay())
	}
	// Output:
	// true <nil> 0s
	// false weir: limited 300ms
}

// The last slot goes back, one in the middle of the queue stays empty.
func ExampleReservation_Cancel() {
	var clk clock.Manual
	limiter := atomic.NewLimiter(gcra.PerSecond(1), atomic.WithClock(&clk))
	limiter.Allow()
	first, last := limiter.Reserve(1), limiter.Reserve(1)
	fmt.Println("slots in", first.Delay(), last.Delay())
	next := func() time.Duration {
		r := limiter.Reserve(1)
		defer r.Cancel()
		return r.Delay()
	}
	first.Cancel() // somebody waits behind it
	fmt.Println("the next in", next())
	last.Cancel()
	last.Cancel() // does nothing
	fmt.Println("the next in", next())
	// Output:
	// slots in 1s 2s
	// the next in 3s
	// the next in 2s
}

// Estimate low, and settle upward: what was used beyond is charged exactly.
func ExampleReservation_Settle() {
	var clk clock.Manual
	limiter := atomic.NewLimiter(gcra.PerSecond(100).Burst(1000), atomic.WithClock(&clk))
	r := limiter.Reserve(200)
	clk.Advance(time.Second) // the job
	fmt.Println("left", limiter.Peek(1).Remaining())
	r.Settle(1400)
	fmt.Println("left", limiter.Peek(1).Remaining(), "and a token in", limiter.Peek(1).RetryAfter())
	// Output:
	// left 900
	// left 0 and a token in 3.01s
}

// What was reserved and not used comes back as far as it was not refilled
// since: the longer the job took, the less.
func ExampleReservation_Settle_less() {
	for _, took := range []time.Duration{2 * time.Second, 5 * time.Second, 8 * time.Second} {
		var clk clock.Manual
		limiter := atomic.NewLimiter(gcra.PerSecond(100).Burst(1000), atomic.WithClock(&clk))
		r := limiter.Reserve(800)
		limiter.Take(200) // somebody else
		clk.Advance(took)
		before := limiter.Peek(1).Remaining()
		r.Settle(200)
		fmt.Println("after", took, "came back", limiter.Peek(1).Remaining()-before)
	}
	// Output:
	// after 2s came back 600
	// after 5s came back 300
	// after 8s came back 0
}

// Bytes that have been sent are charged, whether there was room or not.
func ExampleLimiter_Debit() {
	var clk clock.Manual
	limiter := atomic.NewLimiter(gcra.PerSecond(1000).Burst(1500), atomic.WithClock(&clk))
	for _, sent := range []int{2000, 2000} {
		d := limiter.Debit(sent)
		fmt.Println("charged", d.Granted(), "of", sent) // as far as one burst below empty
	}
	fmt.Println("a byte more in", limiter.Peek(1).RetryAfter())
	// Output:
	// charged 2000 of 2000
	// charged 1000 of 2000
	// a byte more in 1.501s
}

func ExampleWithMaxDebt() {
	var clk clock.Manual
	for _, debt := range []int{0, 10, 1_000_000} {
		limiter := atomic.NewLimiter(gcra.PerSecond(1).Burst(100), atomic.WithClock(&clk), atomic.WithMaxDebt(debt))
		fmt.Println(limiter.Debit(500).Granted())
	}
	// Output:
	// 100
	// 110
	// 500
}

// The bucket keeps its tokens: nobody is locked out by a raise, nor given a
// free burst.
func ExampleLimiter_SetLimit() {
	var clk clock.Manual
	limiter := atomic.NewLimiter(gcra.PerSecond(1).Burst(10), atomic.WithClock(&clk))
	limiter.Take(10)
	fmt.Println(limiter.Limit(), "- a token in", limiter.Peek(1).RetryAfter())
	limiter.SetLimit(gcra.PerSecond(100).Burst(50))
	fmt.Println(limiter.Limit(), "- a token in", limiter.Peek(1).RetryAfter())
	clk.Advance(200 * time.Millisecond)
	fmt.Println("left", limiter.Peek(1).Remaining())
	limiter.SetLimit(gcra.PerSecond(100).Burst(5))
	fmt.Println("left", limiter.Peek(1).Remaining())
	// Output:
	// 1/s burst 10 - a token in 1s
	// 100/s burst 50 - a token in 10ms
	// left 20
	// left 5
}
