package shard_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

func ExampleLimiter_Allow() {
	var clk clock.Manual // a program leaves WithClock out
	limiter := shard.New[string](gcra.PerSecond(10).Burst(2), shard.WithClock(&clk))
	fmt.Println(limiter.Allow("ann"), limiter.Allow("ann"), limiter.Allow("ann"))
	fmt.Println(limiter.Allow("bob")) // has a bucket of his own
	clk.Advance(100 * time.Millisecond)
	fmt.Println(limiter.Allow("ann"))
	// Output:
	// true true false
	// true
	// true
}

func ExampleLimiter_Take() {
	var clk clock.Manual
	limiter := shard.New[string](gcra.PerSecond(100).Burst(50), shard.WithClock(&clk))
	for _, cost := range []int{40, 40, 60} {
		d := limiter.Take("ann", cost)
		if d.OK() {
			fmt.Printf("%d: granted, %d left\n", cost, d.Remaining())
		} else if d.RetryAfter() == gcra.Never {
			fmt.Printf("%d: %v\n", cost, d.Err())
		} else {
			fmt.Printf("%d: %v, retry after %v\n", cost, d.Err(), d.RetryAfter())
		}
	}
	// Output:
	// 40: granted, 10 left
	// 40: weir: limited, retry after 300ms
	// 60: weir: cost exceeds the burst
}

func ExampleLimiter_TakeUpTo() {
	var clk clock.Manual
	limiter := shard.New[string](gcra.PerSecond(1000).Burst(1500), shard.WithClock(&clk))
	for _, size := range []int{1000, 1000, 1000} {
		fmt.Println(limiter.TakeUpTo("stream", size).Granted())
	}
	// Output:
	// 1000
	// 500
	// 0
}

func ExampleLimiter_Wait() {
	limiter := shard.New[string](gcra.Every(time.Millisecond))
	start := time.Now()
	for range 3 { // each host's first call goes at once, its others wait for their slots
		for _, host := range []string{"alpha.test", "beta.test"} {
			if err := limiter.Wait(context.Background(), host); err != nil {
				fmt.Println(err)
			}
		}
	}
	fmt.Println(time.Since(start) >= 2*time.Millisecond)
	// Output: true
}

// At the cap a new key makes room by a key whose bucket is full. Where all
// still owe time, it gets the policy.
func ExampleWithMaxKeys() {
	var clk clock.Manual
	limit := gcra.PerSecond(1)
	strict := shard.New[string](limit, shard.WithClock(&clk), shard.WithMaxKeys(2, shard.Refuse))
	lax := shard.New[string](limit, shard.WithClock(&clk), shard.WithMaxKeys(2, shard.Admit))
	for _, key := range []string{"ann", "bob", "cid", "cid"} {
		fmt.Println(key, strict.Allow(key), lax.Allow(key))
	}
	clk.Advance(time.Second)
	fmt.Println("later", strict.Allow("cid"), lax.Allow("cid"))
	fmt.Println("turned away", strict.Stats().Capped, lax.Stats().Capped)
	// Output:
	// ann true true
	// bob true true
	// cid false true
	// cid false true
	// later true true
	// turned away 2 2
}

// A view is one key, for code that knows of no keys.
func ExampleLimiter_For() {
	var clk clock.Manual
	limiter := shard.New[string](gcra.PerMinute(2).Burst(2), shard.WithClock(&clk))
	send := func(limit interface{ Allow() bool }) {
		fmt.Println(limit.Allow(), limit.Allow(), limit.Allow())
	}
	ann, bob := limiter.For("ann"), limiter.For("bob")
	send(ann)
	send(bob)
	fmt.Println(ann == limiter.For("ann"), ann == bob) // a view is a value
	// Output:
	// true true false
	// true true false
	// true false
}

func ExampleLimiter_All() {
	var clk clock.Manual
	limiter := shard.New[string](gcra.PerHour(60).Burst(10), shard.WithClock(&clk))
	limiter.AllowN("ann", 3)
	limiter.AllowN("bob", 10)
	limiter.Allow("cid")
	decisions := maps.Collect(limiter.All()) // in no order
	for _, key := range slices.Sorted(maps.Keys(decisions)) {
		d := decisions[key]
		fmt.Println(key, d.Remaining(), d.ResetAfter())
	}
	// Output:
	// ann 7 3m0s
	// bob 0 10m0s
	// cid 9 1m0s
}

func ExampleLimiter_Sweep() {
	var clk clock.Manual
	limiter := shard.New[string](gcra.PerSecond(1).Burst(5), shard.WithClock(&clk))
	limiter.AllowN("ann", 1)
	limiter.AllowN("bob", 5)
	clk.Advance(time.Second)
	fmt.Println(limiter.Len(), limiter.Sweep(), limiter.Len()) // bob's bucket is not full
	fmt.Println(limiter.Peek("ann", 1).Remaining(), limiter.Peek("bob", 1).Remaining())
	// Output:
	// 2 1 1
	// 5 1
}

func ExampleLimiter_Stats() {
	var clk clock.Manual
	limiter := shard.New[string](gcra.PerSecond(1).Burst(2), shard.WithClock(&clk), shard.WithStats())
	for range 3 {
		limiter.Allow("ann")
		limiter.Allow("bob")
	}
	clk.Advance(2 * time.Second)
	limiter.Sweep()
	s := limiter.Stats()
	fmt.Println("granted", s.Granted, "refused", s.Refused, "remembered", s.Keys, "forgotten", s.Forgotten)
	// Output: granted 4 refused 2 remembered 0 forgotten 2
}
