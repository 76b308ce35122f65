package clock_test

import (
	"fmt"
	"time"

	"github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

func ExampleManual() {
	var clk clock.Manual
	clk.Advance(90 * time.Second)
	fmt.Println(clk.Now())
	clk.Set(2 * time.Minute)
	fmt.Println(clk.Now())
	// Output:
	// 1m30s
	// 2m0s
}

func ExampleCoarse() {
	clk := clock.NewCoarse(time.Millisecond)
	defer clk.Stop()
	limiter := atomic.NewLimiter(gcra.PerMinute(1).Burst(2), atomic.WithClock(clk))
	fmt.Println(limiter.Allow(), limiter.Allow(), limiter.Allow())
	// Output: true true false
}
