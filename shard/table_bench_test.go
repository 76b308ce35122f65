package shard_test

import (
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// BenchmarkTableSetLimit changes the limit of a table whose keys all owe.
func BenchmarkTableSetLimit(b *testing.B) {
	for _, row := range []struct {
		name string
		keys int
	}{{"keys=1M", 1_000_000}, {"keys=10M", 10_000_000}} {
		b.Run(row.name, func(b *testing.B) {
			l := shard.NewTable[uint64](gcra.PerHour(1).Burst(2), row.keys)
			for key := range uint64(row.keys) {
				l.Allow(key)
			}
			for i := 0; b.Loop(); i++ {
				l.SetLimit(gcra.PerHour(2 + i%2).Burst(2))
			}
			if n := l.Len(); n < row.keys-row.keys/1_000_000-1 {
				b.Errorf("%d keys of %d are left", n, row.keys)
			}
		})
	}
}

// BenchmarkTableNewKey is what a key costs that comes once: where it finds a slot,
// most often one that is full, and where none is to be had.
func BenchmarkTableNewKey(b *testing.B) {
	const capacity = 1_000_000
	for _, row := range []struct {
		name  string
		limit gcra.Limit
		step  time.Duration
		count func(shard.Stats) int64
	}{
		{"room=yes", gcra.PerSecond(1), 2 * time.Second / capacity, func(s shard.Stats) int64 { return s.Forgotten + int64(s.Keys) }}, // half of the capacity owes
		{"room=no", gcra.PerHour(1), 0, func(s shard.Stats) int64 { return s.Capped }},
	} {
		b.Run(row.name, func(b *testing.B) {
			var clk clock.Manual
			l := shard.NewTable[uint64](row.limit, capacity, shard.WithClock(&clk))
			key := uint64(0)
			next := func() {
				l.Allow(key)
				key++
				clk.Advance(row.step)
			}
			for range 3 * capacity {
				next()
			}
			before, n := row.count(l.Stats()), int64(0)
			for b.Loop() {
				next()
				n++
			}
			if got := row.count(l.Stats()) - before; got != n {
				b.Errorf("%d of %d keys did so", got, n)
			}
		})
	}
}
