package shard

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/weir-go/weir/gcra"
)

func BenchmarkSave(b *testing.B) { benchmarkSaves(b, true) }
func BenchmarkLoad(b *testing.B) { benchmarkSaves(b, false) }

func benchmarkSaves(b *testing.B, save bool) {
	benchmarkSave(b, "uint64", save, func(i uint64) uint64 { return i * 0x9e3779b97f4a7c15 })
	benchmarkSave(b, "string", save, func(i uint64) string { return fmt.Sprintf("client-%016x", i*0x9e3779b97f4a7c15) })
	benchmarkSave(b, "netip.Addr", save, func(i uint64) netip.Addr {
		return netip.AddrFrom4([4]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)})
	})
}

func benchmarkSave[K comparable](b *testing.B, kind string, save bool, key func(uint64) K) {
	const keys = 1_000_000
	b.Run(fmt.Sprintf("keys=1M/kind=%s", kind), func(b *testing.B) {
		limit := gcra.PerHour(10).Burst(10)
		old := New[K](limit)
		for i := range uint64(keys) {
			old.Take(key(i), int(i%10)+1)
		}
		data := saved(b, old)
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if save {
				saved(b, old)
				continue
			}
			l := New[K](limit)
			load(b, l, data)
			if l.Len() != keys {
				b.Fatalf("%d keys", l.Len())
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/keys, "ns/key")
		b.ReportMetric(float64(len(data))/keys, "B/key")
	})
}
