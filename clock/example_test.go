package clock_test

import (
	"fmt"
	"time"

	"github.com/weir-go/weir/clock"
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
