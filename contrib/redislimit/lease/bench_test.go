package lease_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/clock/tsc"
	"github.com/weir-go/weir/contrib/redislimit"
	"github.com/weir-go/weir/contrib/redislimit/lease"
	"github.com/weir-go/weir/gcra"
)

// An asker decides one request.
type asker func(ctx context.Context, key string, n int) (gcra.Decision, error)

// rate asks as fast as it can for a while, on so many goroutines, and returns the
// decisions a second. All have to be granted.
func rate(b *testing.B, ask asker, keys []string, goroutines int, d time.Duration) float64 {
	var stop atomic.Bool
	var total atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for g := range goroutines {
		wg.Go(func() {
			n := 0
			for ; !stop.Load(); n++ {
				if d, err := ask(context.Background(), keys[(n+g)%len(keys)], 1); err != nil || !d.OK() {
					b.Errorf("not granted: %v, %v", d.Err(), err)
					break
				}
			}
			total.Add(int64(n))
		})
	}
	time.AfterFunc(d, func() { stop.Store(true) })
	wg.Wait()
	return float64(total.Load()) / time.Since(start).Seconds()
}

// BenchmarkRoundTrips measures leases against a round trip for each decision, on the
// same server, by turns. The metrics are medians of 7 turns.
func BenchmarkRoundTrips(b *testing.B) {
	client := dial(server(b))
	defer client.Close()
	of, err := redislimit.New(client, gcra.PerSecond(200_000_000).Burst(100_000_000), redislimit.Closed(), redislimit.WithTimeout(5*time.Second))
	if err != nil {
		b.Fatal(err)
	}
	for _, row := range []struct{ keys, goroutines int }{{1, 1}, {1, 2}, {1, 16}, {100, 2}, {100, 16}} {
		b.Run("keys="+strconv.Itoa(row.keys)+"/goroutines="+strconv.Itoa(row.goroutines), func(b *testing.B) {
			for b.Loop() {
				l, err := lease.New(lease.Redis(of))
				if err != nil {
					b.Fatal(err)
				}
				keys := make([]string, row.keys)
				for i := range keys {
					keys[i] = b.Name() + strconv.Itoa(i)
				}
				var leases, trips, ratios []float64
				for range 7 {
					leases = append(leases, rate(b, l.Take, keys, row.goroutines, 300*time.Millisecond))
					trips = append(trips, rate(b, of.Take, keys, row.goroutines, 300*time.Millisecond))
					ratios = append(ratios, leases[len(leases)-1]/trips[len(trips)-1])
				}
				slices.Sort(leases)
				slices.Sort(trips)
				slices.Sort(ratios)
				b.ReportMetric(leases[3], "leases/s")
				b.ReportMetric(trips[3], "roundtrips/s")
				b.ReportMetric(ratios[3], "ratio")
				b.ReportMetric(ratios[0], "least-ratio")
				b.ReportMetric(0, "ns/op")
				if err := l.Close(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLocal times decisions by a lease one by one, with the processor's counter,
// whose own reading is in the numbers.
func BenchmarkLocal(b *testing.B) {
	counter, err := tsc.New()
	if err != nil {
		b.Skip("no counter to time with: ", err)
	}
	for _, row := range []struct {
		name  string
		clock clock.Clock
		keys  int
		rate  int
	}{
		{"case=granted/keys=1/clock=system", clock.System(), 1, 1_000_000_000},
		{"case=granted/keys=1/clock=tsc", counter, 1, 1_000_000_000},
		{"case=granted/keys=10000/clock=system", clock.System(), 10_000, 1_000_000_000},
		{"case=refused/keys=1/clock=system", clock.System(), 1, 1},
	} {
		b.Run(row.name, func(b *testing.B) {
			limit := gcra.PerSecond(row.rate)
			if row.rate > 1 {
				limit = limit.Burst(500_000_000)
			}
			store := &locked{bucket: newBucket(limit, clock.System())}
			l, err := lease.New(store, lease.WithClock(row.clock), lease.WithLifetime(time.Minute),
				lease.WithFirstBlock(10_000_000), lease.WithShare(1))
			if err != nil {
				b.Fatal(err)
			}
			keys := make([]string, row.keys)
			for i := range keys {
				keys[i] = "client-" + strconv.Itoa(i)
				l.Allow(b.Context(), keys[i])
			}
			granted, i := 0, 0
			ctx := context.Background()
			timed(b, counter, func() {
				if d, _ := l.Take(ctx, keys[i%len(keys)], 1); d.OK() {
					granted++
				}
				i++
			})
			want := i
			if row.rate == 1 {
				want = 0
			}
			if off := granted - want; off > i/1000 || off < -i/1000 {
				b.Errorf("%d of %d granted", granted, i)
			}
		})
	}
	b.Run("case=roundtrip/keys=1", func(b *testing.B) {
		client := dial(server(b))
		defer client.Close()
		of, err := redislimit.New(client, gcra.PerSecond(1_000_000).Burst(1_000_000), redislimit.Closed(), redislimit.WithTimeout(5*time.Second))
		if err != nil {
			b.Fatal(err)
		}
		timed(b, counter, func() {
			if d, err := of.Take(context.Background(), "k", 1); err != nil || !d.OK() {
				b.Errorf("not granted: %v, %v", d.Err(), err)
			}
		})
	})
}

// timed runs f as often as the benchmark asks for, and reports quantiles of its time.
func timed(b *testing.B, counter clock.Clock, f func()) {
	var histogram [1_000_000]int // by ns; the last for all that is longer
	n := 0
	for b.Loop() {
		from := counter.Now()
		f()
		histogram[min(counter.Now()-from, time.Duration(len(histogram)-1))]++
		n++
	}
	for _, q := range []struct {
		name string
		left int // decisions that take longer
	}{{"p50-ns", n / 2}, {"p99-ns", n / 100}, {"p99.9-ns", n / 1000}} {
		left := q.left
		for ns := len(histogram) - 1; ns >= 0; ns-- {
			if left -= histogram[ns]; left < 0 {
				b.ReportMetric(float64(ns), q.name)
				break
			}
		}
	}
}
