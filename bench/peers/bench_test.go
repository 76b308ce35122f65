package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// while is run for a benchmark, which counts by itself.
func (w *walk[K]) while(more func() bool, allow func(K) bool) {
	keys, at, asks, granted := w.keys, w.at, 0, 0
	for more() {
		if allow(keys[at]) {
			granted++
		}
		if at++; at == len(keys) {
			at = 0
		}
		asks++
	}
	w.at, w.asks, w.granted = at, w.asks+asks, w.granted+granted
}

func bench[K comparable](b *testing.B, s subject[K], l limit, c claim, set keyset[K]) {
	i := s.open(l)
	defer i.stop()
	if err := fill(i, set.stored); err != nil {
		b.Fatal(err)
	}
	walks := set.walks(len(set.asked))
	var ids atomic.Int64
	runtime.GC()
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		walks[ids.Add(1)-1].while(pb.Next, i.allow)
	})
	b.StopTimer()
	if err := check(c, walks); err != nil {
		b.Fatal(err)
	}
	// A walk asks about no key twice before it has been through all.
	busiest := 0
	for _, w := range walks {
		busiest = max(busiest, w.asks)
	}
	if got, want := touched(walks), min(busiest, c.keys); got != want {
		b.Fatalf("asked about %d different keys, want %d", got, want)
	}
	b.ReportMetric(float64(touched(walks)), "keys")
}

// BenchmarkHot asks about one key.
func BenchmarkHot(b *testing.B) {
	for _, granted := range []bool{true, false} {
		name, l := "granted", hotGranted()
		if !granted {
			name, l = "refused", allRefused()
		}
		for _, shape := range []struct {
			name     string
			subjects []subject[string]
		}{
			{"one", single()},
			{"map", stringKeyed()},
		} {
			for _, s := range shape.subjects {
				if s.yields && !granted {
					continue
				}
				b.Run(fmt.Sprintf("case=%s/shape=%s/lib=%s", name, shape.name, s.lib), func(b *testing.B) {
					bench(b, s, l, claim{1, granted}, stringKeys(1, runtime.GOMAXPROCS(0)))
				})
			}
		}
	}
}

// BenchmarkKeys asks about many keys, all present.
func BenchmarkKeys(b *testing.B) {
	n := defaultKeys
	if testing.Short() {
		n = 1024
	}
	set := sync.OnceValue(func() keyset[string] { return stringKeys(n, runtime.GOMAXPROCS(0)) })
	for _, s := range stringKeyed() {
		b.Run(fmt.Sprintf("keys=%s/type=string/case=granted/lib=%s", count(n), s.lib), func(b *testing.B) {
			bench(b, s, keysGranted(), claim{n, true}, set())
		})
	}
}

// BenchmarkPacing waits in one loop; beside ns/op, which can be no less than
// the interval of the rate, it reports the share of the rate.
func BenchmarkPacing(b *testing.B) {
	for _, perSecond := range paces() {
		for _, p := range pacers() {
			b.Run(fmt.Sprintf("rate=%d/lib=%s", perSecond, p.lib), func(b *testing.B) {
				wait := p.open(perSecond)
				for range 2 {
					if err := wait(); err != nil {
						b.Fatal(err)
					}
				}
				b.ResetTimer()
				for range b.N {
					if err := wait(); err != nil {
						b.Fatal(err)
					}
				}
				elapsed := b.Elapsed()
				if float64(b.N) > due(perSecond, elapsed) {
					b.Fatalf("%d granted in %v", b.N, elapsed)
				}
				b.ReportMetric(100*float64(b.N)/(elapsed.Seconds()*float64(perSecond)), "%rate")
			})
		}
	}
}
