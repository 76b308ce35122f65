package shard

import (
	"slices"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// BenchmarkSweepShare times what an insert does for sweeping, alone, at 4
// million keys: none of them full, or all.
func BenchmarkSweepShare(b *testing.B) {
	for _, row := range []struct {
		name string
		idle time.Duration
	}{{"keys=owing", 0}, {"keys=full", time.Hour}} {
		b.Run(row.name, func(b *testing.B) {
			const keys = 4_000_000
			var clk clock.Manual
			l := New[uint64](gcra.PerSecond(1), WithClock(&clk))
			for key := range uint64(keys) {
				l.Allow(key)
			}
			if l.Len() != keys {
				b.Fatalf("%d keys", l.Len())
			}
			clk.Advance(row.idle)
			took := make([]time.Duration, 0, keys)
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				bin := &l.bins[i%len(l.bins)]
				start := time.Now()
				bin.mu.Lock()
				bin.advance(l, l.core.Now(), 2)
				bin.mu.Unlock()
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*999/1000]), "p99.9-ns")
			b.ReportMetric(float64(took[len(took)-1]), "max-ns")
		})
	}
}
