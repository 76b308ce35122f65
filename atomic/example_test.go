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
