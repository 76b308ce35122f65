package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// while is run for a benchmark, which counts by itself.
func (w *walk[K]) while(more func() bool, i *instance[K]) {
	if i.many != nil {
		for n := batch; n == batch; {
			n = 0
			for n < batch && more() {
				n++
			}
			w.run(i, n)
		}
		return
	}
	keys, allow, at, asks, granted := w.keys, i.allow, w.at, 0, 0
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

// bench fills the subject once, for all the runs in which the number of
// requests is found.
func bench[K comparable](b *testing.B, name string, s subject[K], l limit, keys func() keyset[K], ph phase) {
	var (
		i    *instance[K]
		c    claim
		open = func() (err error) {
			set := keys()
			if set.audited != nil {
				return set.audited
			}
			opened := s.open(l, len(set.stored))
			i, c = &opened, set.claims[ph.dist]
			if c.lost, err = fill(s, i, set.stored); err != nil {
				return err
			}
			i.empty(set.stored, ph.mix)
			c.mix = ph.mix
			return nil
		}
	)
	b.Run(name+"/lib="+s.lib, func(b *testing.B) {
		if i == nil {
			if err := open(); err != nil {
				b.Fatal(err)
			}
		}
		if n := len(keys().asked[ph.dist]); runtime.GOMAXPROCS(0) > n {
			b.Skipf("there are keys for %d goroutines", n)
		}
		walks := keys().walks(ph.dist, runtime.GOMAXPROCS(0))
		var ids atomic.Int64
		runtime.GC()
		b.ReportAllocs()
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			walks[ids.Add(1)-1].while(pb.Next, i)
		})
		b.StopTimer()
		// So many keys are certain: a walk asks about no key of an even order
		// twice before it has been through all.
		c.least = 0
		if ph.dist != zipf {
			for _, w := range walks {
				c.least = max(c.least, min(w.asks, c.keys))
			}
		}
		p, err := check(c, walks)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(p.touched), "keys")
		b.ReportMetric(100*p.share, "%granted")
	})
	if i != nil {
		i.stop()
	}
}

// BenchmarkHot asks about one key.
func BenchmarkHot(b *testing.B) {
	set := sync.OnceValue(func() keyset[string] { return newKeyset(stringKeys(), 1, runtime.NumCPU(), lone) })
	for _, shape := range []struct {
		name     string
		subjects []subject[string]
	}{
		{"one", single()},
		{"map", stringKeyed()},
	} {
		for _, s := range shape.subjects {
			bench(b, fmt.Sprintf("case=%s/shape=%s", granted, shape.name), s, hotGranted(), set, phase{lone, granted})
			if !s.yields {
				bench(b, fmt.Sprintf("case=%s/shape=%s", refused, shape.name), s, allRefused(), set, phase{lone, refused})
			}
		}
	}
}

// BenchmarkKeys asks about many keys, all present.
func BenchmarkKeys(b *testing.B) {
	sizes := []int{1_000, 1_000_000, 8_000_000}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, n := range sizes {
		benchKeys(b, stringKeys(), stringKeyed(), n)
		benchKeys(b, uintKeys(), uintKeyed(), n)
	}
}

func benchKeys[K comparable](b *testing.B, k kind[K], subjects []subject[K], n int) {
	set := sync.OnceValue(func() keyset[K] { return newKeyset(k, n, runtime.NumCPU(), uniform, zipf) })
	for _, dist := range []dist{uniform, zipf} {
		for _, mix := range []mix{granted, mixed, refused} {
			for _, s := range subjects {
				if mix != granted && !s.drains() {
					continue
				}
				name := fmt.Sprintf("keys=%s/type=%s/dist=%s/case=%s", count(n), k.name, dist, mix)
				bench(b, name, s, keysGranted(), set, phase{dist, mix})
			}
		}
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
