package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// together runs f on so many goroutines, with their numbers, and joins the errors.
func together(n int, f func(int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// A sample is one timed run of one subject.
type sample struct {
	decisions int
	perSecond float64 // decisions
	p50, p99  float64 // µs, of a decision
	gaveUp    float64 // % of the requests, which got no decision
	server    float64 // µs of CPU time of Redis, a decision
	client    float64 // the same of this program
}

// least is how many requests each goroutine makes in any case, whenever it gets its
// turn: one of each kind.
const least = 2

// drive has so many goroutines ask for that long, one request after another. Each
// goes through the keys in an order of its own, in which each key comes once before
// any comes again. It is an error if what is granted is not what the mix says: who
// refuses what should be granted would be fast.
func drive(ctx context.Context, ask asker, keys, goroutines int, m mix, floor bool, d time.Duration, seed uint64) (sample, error) {
	times := make([][]time.Duration, goroutines)
	gaveUp := make([]int, goroutines)
	orders := make([][]int, goroutines)
	for i := range orders {
		orders[i] = rand.New(rand.NewPCG(seed, uint64(i))).Perm(keys)
		times[i] = make([]time.Duration, 0, 1<<14)
	}
	begin := time.Now()
	err := together(goroutines, func(i int) error {
		last := time.Now()
		for n := 0; n < least || last.Sub(begin) < d; n++ {
			cost := m.cost(n)
			ok, err := ask(ctx, orders[i][n%keys], cost)
			now := time.Now()
			took := now.Sub(last)
			last = now
			switch {
			case errors.Is(err, errGaveUp):
				gaveUp[i]++
				continue
			case err != nil:
				return err
			case ok != (cost == 1) && !floor:
				return fmt.Errorf("a request for %d tokens: granted is %v", cost, ok)
			}
			times[i] = append(times[i], took)
		}
		return nil
	})
	elapsed := time.Since(begin)
	if err != nil {
		return sample{}, err
	}
	var all []time.Duration
	none := 0
	for i := range times {
		all = append(all, times[i]...)
		none += gaveUp[i]
	}
	if len(all) == 0 {
		return sample{}, fmt.Errorf("no decision in %v", elapsed)
	}
	slices.Sort(all)
	return sample{
		decisions: len(all),
		perSecond: float64(len(all)) / elapsed.Seconds(),
		p50:       micros(quantile(all, 500)), p99: micros(quantile(all, 990)),
		gaveUp: 100 * float64(none) / float64(none+len(all)),
	}, nil
}

// quantile returns the least time that so many in a thousand did not exceed.
func quantile(sorted []time.Duration, perMille int) time.Duration {
	return sorted[(len(sorted)*perMille+999)/1000-1]
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// casFailed reports whether throttled gave up: its error has no type.
func casFailed(err error) bool {
	return strings.HasPrefix(err.Error(), "Failed to store updated rate limit data")
}
