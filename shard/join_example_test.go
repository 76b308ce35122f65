package shard_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A user has 10 requests a second and 1000 an hour, an address 20 a second, and
// all together 500 a second. A request that one of them refuses costs none.
func ExampleJoin() {
	var clk clock.Manual // a program leaves WithClock out
	perSecond := shard.New[string](gcra.PerSecond(10).Burst(10), shard.WithClock(&clk))
	perHour := shard.New[string](gcra.PerHour(1000).Burst(16), shard.WithClock(&clk))
	perIP := shard.New[string](gcra.PerSecond(20).Burst(20), shard.WithClock(&clk))
	global := gatomic.NewLimiter(gcra.PerSecond(500).Burst(100), gatomic.WithClock(&clk))

	request := func(user, ip string, n int) {
		d := shard.Join(perSecond.For(user), perHour.For(user), perIP.For(ip), global).Take(n)
		if d.OK() {
			fmt.Printf("%s: %d left of %v\n", user, d.Remaining(), d.Limit())
		} else {
			fmt.Printf("%s: %v, retry after %v by %v\n", user, d.Err(), d.RetryAfter(), d.Limit())
		}
	}
	request("ann", "192.0.2.1", 8)
	request("ann", "192.0.2.1", 8)
	clk.Advance(time.Second)
	request("ann", "192.0.2.1", 8)
	request("ann", "192.0.2.1", 1)
	request("bob", "192.0.2.1", 10)
	request("bob", "192.0.2.1", 11)
	fmt.Println("all together have", global.Peek(0).Remaining())
	// Output:
	// ann: 2 left of 10/s burst 10
	// ann: weir: limited, retry after 600ms by 10/s burst 10
	// ann: 0 left of 1000/h burst 16
	// ann: weir: limited, retry after 2.6s by 1000/h burst 16
	// bob: 0 left of 10/s burst 10
	// bob: weir: cost exceeds the burst, retry after 2562047h47m16.854775807s by 10/s burst 10
	// all together have 82
}

// The same limit twice costs twice.
func ExampleJoin_repeats() {
	var clk clock.Manual
	limiter := gatomic.NewLimiter(gcra.PerSecond(1).Burst(5), gatomic.WithClock(&clk))
	joint := shard.Join(limiter, shard.Join(limiter))
	fmt.Println(joint.Take(1).Remaining(), limiter.Peek(0).Remaining())
	fmt.Println(joint.Take(3).Err())
	// Output:
	// 1 3
	// weir: cost exceeds the burst
}

// Tokens of a model are charged to the user and to all, by an estimate first
// and by what they were in the end.
func ExampleJoint_ReserveWithin() {
	var clk clock.Manual
	users := shard.New[string](gcra.PerMinute(6000).Burst(1000), shard.WithClock(&clk))
	model := gatomic.NewLimiter(gcra.PerMinute(60000).Burst(5000), gatomic.WithClock(&clk))

	r := shard.Join(users.For("ann"), model).ReserveWithin(0, 300) // now or not at all
	if !r.OK() {
		fmt.Println(r.Err(), r.Delay())
		return
	}
	r.Settle(450)
	fmt.Println(users.Peek("ann", 0).Remaining(), model.Peek(0).Remaining())
	// Output: 550 4550
}

func ExampleJoint_Wait() {
	hosts := shard.New[string](gcra.Every(time.Millisecond))
	all := gatomic.NewLimiter(gcra.Every(time.Hour).Burst(3))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	start := time.Now()
	for range 4 {
		if err := shard.Join(hosts.For("alpha.test"), all).Wait(ctx); err != nil {
			fmt.Println(errors.Is(err, context.DeadlineExceeded)) // at once, and nothing is booked
		}
	}
	fmt.Println(time.Since(start) >= 2*time.Millisecond, time.Since(start) < time.Minute)
	// Output:
	// true
	// true true
}
