package shard_test

import (
	"fmt"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A table is made for a number of keys, and takes 24 bytes for each.
func ExampleTable() {
	clients := shard.NewTable[string](gcra.PerSecond(100).Burst(3), 1_000_000)
	for range 4 {
		fmt.Println(clients.Allow("10.0.0.1"))
	}
	fmt.Println(clients.Allow("10.0.0.2"), clients.Len())
	// Output:
	// true
	// true
	// true
	// false
	// true 2
}

// Packets that came together are decided on together.
func ExampleTable_AllowBatch() {
	flows := shard.NewTable[uint64](gcra.PerSecond(1000).Burst(2), 100_000)
	keys := []uint64{7, 8, 7, 7, 9}
	ok := make([]bool, len(keys))
	flows.AllowBatch(keys, ok)
	fmt.Println(ok)
	// Output: [true true true false true]
}

// Each key of a batch may have a cost of its own.
func ExampleTable_TakeBatch() {
	var clk clock.Manual
	bytes := shard.NewTable[string](gcra.PerSecond(1000).Burst(4000), 100_000, shard.WithClock(&clk))
	d := make([]gcra.Decision, 3)
	bytes.TakeBatch([]string{"a", "b", "a"}, []int{1500, 9000, 3000}, d)
	for _, d := range d {
		fmt.Println(d.Granted(), d.Err(), d.RetryAfter() == gcra.Never)
	}
	fmt.Println(d[2].RetryAfter())
	// Output:
	// 1500 <nil> false
	// 0 weir: cost exceeds the burst true
	// 0 weir: limited false
	// 500ms
}

// A slot is taken over by another key once its bucket is full. A key that finds
// none is refused, or admitted where that is the policy.
func ExampleNewTable() {
	var clk clock.Manual
	l := shard.NewTable[int](gcra.PerSecond(1), 1000, shard.WithClock(&clk), shard.WithMaxKeys(1000, shard.Refuse))
	granted := 0
	for key := range 100_000 {
		if l.Allow(key) {
			granted++
		}
	}
	s := l.Stats()
	fmt.Println(granted == s.Keys, granted >= 1000, s.Capped == int64(100_000-granted))
	clk.Advance(2 * time.Second)
	fmt.Println(l.Allow(-1), l.Stats().Forgotten)
	// Output:
	// true true true
	// true 1
}

func ExampleTable_Reserve() {
	var clk clock.Manual
	l := shard.NewTable[string](gcra.PerSecond(10).Burst(100), 1000, shard.WithClock(&clk))
	r := l.Reserve("job", 60) // what it may cost
	r.Settle(20)              // what it did
	fmt.Println(r.OK(), r.Delay(), l.Peek("job", 0).Remaining())
	// Output: true 0s 80
}
