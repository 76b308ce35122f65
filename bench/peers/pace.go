package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/ratelimit"
	"golang.org/x/time/rate"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
)

// A pacer is a library's way to wait for the next token.
type pacer struct {
	lib  string
	open func(perSecond int) (wait func() error)
	// spins marks what keeps a core busy for each waiter, and is of no use to
	// more waiters than there are cores.
	spins bool
}

// spin is longer than timers are usually late.
const spin = 2 * time.Millisecond

// pacers have a burst of 1, or as near to that as the library comes: uber
// grants up to ten late by default.
func pacers() []pacer {
	ctx := context.Background()
	weir := func(opts ...gatomic.Option) func(int) func() error {
		return func(perSecond int) func() error {
			limiter := gatomic.NewLimiter(gcra.PerSecond(perSecond), opts...)
			return func() error { return limiter.Wait(ctx) }
		}
	}
	uber := func(opts ...ratelimit.Option) func(int) func() error {
		return func(perSecond int) func() error {
			limiter := ratelimit.New(perSecond, opts...)
			return func() error { limiter.Take(); return nil }
		}
	}
	return []pacer{
		{lib: ours, open: weir()},
		{lib: "weir-strict", open: weir(gatomic.WithCatchUp(0))},
		{lib: "weir-strict-spin", open: weir(gatomic.WithCatchUp(0), gatomic.WithSpin(spin)), spins: true},
		{lib: "xtime", open: func(perSecond int) func() error {
			limiter := rate.NewLimiter(rate.Limit(perSecond), 1)
			return func() error { return limiter.Wait(ctx) }
		}},
		{lib: "uber", open: uber()},
		{lib: "uber-noslack", open: uber(ratelimit.WithoutSlack)},
	}
}

func paces() []int { return []int{1_000, 10_000, 50_000, 200_000} }

// loops are the numbers of goroutines that wait on one limiter, each in a
// sequential loop.
func loops() []int { return []int{1, 64} }

// due is the most that a pacer may grant in that time: what the rate gives, the
// lateness that it may make up for, and a burst.
func due(perSecond int, elapsed time.Duration) float64 {
	const (
		makeUp = 10 * time.Millisecond
		burst  = 11
	)
	return (elapsed+makeUp).Seconds()*float64(perSecond) + burst
}

// A delivery is what a pacer did.
type delivery struct {
	share float64 // of the rate
	// Between one wake-up and the next, whoever woke: the median, the 99th
	// percentile and the longest.
	p50, p99, longest time.Duration
}

// pace waits from so many sequential loops for that long.
func pace(p pacer, perSecond, loops int, d time.Duration) (delivery, error) {
	wait := p.open(perSecond)
	// The burst is not part of the rate, and the wait after it ends as late as
	// the last one will: counted from there, that lateness cancels out.
	for range 2 {
		if err := wait(); err != nil {
			return delivery{}, fmt.Errorf("%s: %w", p.lib, err)
		}
	}
	var (
		begin = time.Now()
		room  = int(due(perSecond, d)) / loops * 5 / 4 // nobody is to grow it meanwhile
		woke  = make([][]time.Duration, loops)
		errs  = make([]error, loops)
		wg    sync.WaitGroup
	)
	for i := range loops {
		wg.Go(func() {
			at := make([]time.Duration, 0, room)
			for elapsed := time.Duration(0); elapsed < d; {
				if errs[i] = wait(); errs[i] != nil {
					break
				}
				elapsed = time.Since(begin)
				at = append(at, elapsed)
				if float64(len(at)) > due(perSecond, elapsed) {
					break // all of it is looked at below
				}
			}
			woke[i] = at
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return delivery{}, fmt.Errorf("%s: %w", p.lib, err)
		}
	}
	all := slices.Concat(woke...)
	slices.Sort(all)
	for i, at := range all {
		if float64(i+1) > due(perSecond, at) {
			return delivery{}, fmt.Errorf("%s: %d granted in %v at %d/s", p.lib, i+1, at, perSecond)
		}
	}
	last := all[len(all)-1]
	gaps := make([]time.Duration, len(all))
	for i, at := range all {
		gaps[i] = at
		if i > 0 {
			gaps[i] -= all[i-1]
		}
	}
	slices.Sort(gaps)
	return delivery{
		share: float64(len(all)) / (last.Seconds() * float64(perSecond)),
		p50:   gaps[(len(gaps)-1)/2],
		p99:   gaps[(len(gaps)-1)*99/100],

		longest: gaps[len(gaps)-1],
	}, nil
}

func pacingPlan(cfg config) (plan, error) {
	var pl plan
	for _, n := range loops() {
		for _, perSecond := range paces() {
			group := fmt.Sprintf("rate=%d loops=%d busy=%s", perSecond, n, cfg.busy)
			for _, p := range pacers() {
				if p.spins && n > 1 {
					continue
				}
				pl.add(trial{group: group, lib: p.lib, run: func() ([]point, error) {
					stop, err := occupy(cfg.busy, cfg.mostCores())
					if err != nil {
						return nil, err
					}
					defer stop()
					got, err := pace(p, perSecond, n, cfg.pace)
					return []point{{group: group, value: 100 * got.share, more: []float64{
						micros(got.p50), micros(got.p99), micros(got.longest),
					}}}, err
				}})
			}
		}
	}
	return pl, nil
}

// gapColumns name what a pacing trial gives besides the share.
func gapColumns() []string { return []string{"gap p50, µs", "p99, µs", "longest, µs"} }

func micros(d time.Duration) float64 { return d.Seconds() * 1e6 }
