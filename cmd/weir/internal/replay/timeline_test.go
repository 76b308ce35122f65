package replay

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTimeline(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for round := range 200 {
		at := r.Int64N(1e18) - 5e17
		mean := int64(1) << (10 + round%40)
		tl := newTimeline(at, 1)
		start := tl.Start.UnixNano()
		var times []int64
		for range 1 + r.IntN(500) {
			bin := tl.bin(at, start)
			tl.Requests[bin]++
			tl.Refused[0][bin] += 3
			times = append(times, at)
			if at > math.MaxInt64/2 {
				break
			}
			at += r.Int64N(mean)
		}
		bins := map[int64]int64{}
		for _, at := range times {
			bins[(at-start)/int64(tl.Width)]++
		}
		if len(tl.Requests) > MaxBins || len(tl.Requests) != len(tl.Refused[0]) {
			t.Fatalf("%d bins", len(tl.Requests))
		}
		for i, n := range tl.Requests {
			if n != bins[int64(i)] || tl.Refused[0][i] != 3*n {
				t.Fatalf("round %d, bin %d of %v: %d, want %d", round, i, tl.Width, n, bins[int64(i)])
			}
			delete(bins, int64(i))
		}
		if len(bins) > 0 || tl.Width > narrowest && (times[len(times)-1]-start)/int64(tl.Width/2) < MaxBins {
			t.Fatalf("round %d: %v is not the least width", round, tl.Width)
		}
	}
}
