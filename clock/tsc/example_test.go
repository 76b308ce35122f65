package tsc_test

import (
	"fmt"

	"github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/clock/tsc"
	"github.com/weir-go/weir/gcra"
)

// A program makes one clock when it starts, and takes the system's where there
// is no counter.
func Example() {
	var clk clock.Clock = clock.System()
	if c, err := tsc.New(); err == nil {
		clk = c
	}
	limiter := atomic.NewLimiter(gcra.PerMinute(1).Burst(2), atomic.WithClock(clk))
	fmt.Println(limiter.Allow(), limiter.Allow(), limiter.Allow())
	// Output: true true false
}
