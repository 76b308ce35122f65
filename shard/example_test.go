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

// A request is charged its estimate, and the truth when it is over. A server
// refuses rather than wait.
func ExampleLimiter_ReserveWithin() {
	var clk clock.Manual
	budget := shard.New[string](gcra.PerMinute(60).Burst(100), shard.WithClock(&clk))
	request := func(estimate, used int) {
		r := budget.ReserveWithin("ann", 0, estimate)
		if !r.OK() {
			fmt.Println(r.Err(), "for", r.Delay())
			return
		}
		clk.Advance(time.Second) // the work
		r.Settle(used)
		fmt.Println("left", budget.Peek("ann", 1).Remaining())
	}
	request(50, 40)
	request(50, 120)
	request(50, 10)
	// Output:
	// left 61
	// left 0
	// weir: limited for 1m48s
}

func ExampleLimiter_Debit() {
	var clk clock.Manual
	limiter := shard.New[string](gcra.PerSecond(1000).Burst(1500), shard.WithClock(&clk))
	fmt.Println(limiter.Debit("ann", 2000).Granted())
	fmt.Println(limiter.Peek("ann", 1).RetryAfter(), limiter.Peek("bob", 1).RetryAfter())
	// Output:
	// 2000
	// 501ms 0s
}

func ExampleWithMaxDebt() {
	var clk clock.Manual
	limit := gcra.PerSecond(1).Burst(100)
	oneBurst := shard.New[string](limit, shard.WithClock(&clk))
	more := shard.New[string](limit, shard.WithClock(&clk), shard.WithMaxDebt(1000))
	fmt.Println(oneBurst.Debit("ann", 500).Granted(), more.Debit("ann", 500).Granted())
	// Output: 200 500
}

// A view reserves for its key.
func ExampleView_Reserve() {
	var clk clock.Manual
	limiter := shard.New[string](gcra.PerSecond(2), shard.WithClock(&clk))
	ann := limiter.For("ann")
	first, second := ann.Reserve(1), ann.Reserve(1)
	fmt.Println(first.Delay(), second.Delay())
	second.Cancel()
	fmt.Println(limiter.Peek("ann", 1).RetryAfter())
	// Output:
	// 0s 500ms
	// 500ms
}

// Every key keeps its tokens, one that was never seen too.
func ExampleLimiter_SetLimit() {
	var clk clock.Manual
	limiter := shard.New[string](gcra.PerSecond(1).Burst(10), shard.WithClock(&clk))
	limiter.Take("ann", 10)
	tell := func() {
		fmt.Println(limiter.Limit(), "- ann waits", limiter.Peek("ann", 1).RetryAfter(), "and bob has", limiter.Peek("bob", 1).Remaining())
	}
	tell()
	limiter.SetLimit(gcra.PerSecond(100).Burst(50))
	tell()
	limiter.SetLimit(gcra.PerSecond(100).Burst(5))
	tell()
	// Output:
	// 1/s burst 10 - ann waits 1s and bob has 10
	// 100/s burst 50 - ann waits 10ms and bob has 10
	// 100/s burst 5 - ann waits 10ms and bob has 5
}

// Plans are limiters. Who buys another one takes the balance along, and gains
// nothing by going to and fro.
func ExampleLimiter_Move() {
	var clk clock.Manual
	free := shard.New[string](gcra.PerSecond(1).Burst(5), shard.WithClock(&clk))
	paid := shard.New[string](gcra.PerSecond(20).Burst(100), shard.WithClock(&clk))
	free.Take("ann", 3)
	fmt.Println(free.Move("ann", paid), paid.Peek("ann", 1).Remaining())
	clk.Advance(time.Second)
	fmt.Println(paid.Peek("ann", 1).Remaining())
	fmt.Println(paid.Move("ann", free), free.Peek("ann", 1).Remaining()) // as if ann had stayed
	// Output:
	// <nil> 2
	// 22
	// <nil> 3
}

// A limit is tried on real traffic before it refuses anybody.
func ExampleWithDryRun() {
	var clk clock.Manual
	limiter := shard.New[string](gcra.PerSecond(1).Burst(2), shard.WithClock(&clk), shard.WithDryRun(), shard.WithStats())
	for range 3 {
		d := limiter.Take("ann", 1)
		fmt.Println(d.OK(), d.Err(), d.RetryAfter())
	}
	s := limiter.Stats()
	fmt.Println("granted", s.Granted, "refused", s.Refused, "would refuse", s.WouldRefuse)
	// Output:
	// true <nil> 0s
	// true <nil> 0s
	// true weir: limited 1s
	// granted 2 refused 0 would refuse 1
}

// The counts are estimates, since one refusal in 16 is looked at.
func ExampleLimiter_TopRefused() {
	var clk clock.Manual
	limiter := shard.New[string](gcra.PerSecond(1).Burst(2), shard.WithClock(&clk), shard.WithTopRefused(2))
	for i := range 20_000 {
		limiter.Allow("ann")
		if i%4 == 0 {
			limiter.Allow("bob")
		}
		if i%20 == 0 {
			limiter.Allow("cid")
		}
	}
	for key, about := range limiter.TopRefused() {
		fmt.Println(key, about > 1000)
	}
	// Output:
	// ann true
	// bob true
}
