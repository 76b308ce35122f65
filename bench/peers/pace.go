package main

import (
	"context"
	"fmt"
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
}

// pacers have a burst of 1, or as near to that as the library comes: uber
// grants up to ten late by default.
func pacers() []pacer {
	ctx := context.Background()
	uber := func(opts ...ratelimit.Option) func(int) func() error {
		return func(perSecond int) func() error {
			limiter := ratelimit.New(perSecond, opts...)
			return func() error { limiter.Take(); return nil }
		}
	}
	return []pacer{
		{ours, func(perSecond int) func() error {
			limiter := gatomic.NewLimiter(gcra.PerSecond(perSecond))
			return func() error { return limiter.Wait(ctx) }
		}},
		{"xtime", func(perSecond int) func() error {
			limiter := rate.NewLimiter(rate.Limit(perSecond), 1)
			return func() error { return limiter.Wait(ctx) }
		}},
		{"uber", uber()},
		{"uber-noslack", uber(ratelimit.WithoutSlack)},
	}
}

func paces() []int { return []int{1_000, 10_000, 50_000, 200_000} }

// due is the most that a pacer may grant in that time: what the rate gives, the
// lateness that it may make up for, and a burst.
func due(perSecond int, elapsed time.Duration) float64 {
	const (
		makeUp = 10 * time.Millisecond
		burst  = 11
	)
	return (elapsed+makeUp).Seconds()*float64(perSecond) + burst
}

// pace waits from one sequential loop for that long, and returns the share of
// the rate that was delivered.
func pace(p pacer, perSecond int, d time.Duration) (share float64, err error) {
	wait := p.open(perSecond)
	// The burst is not part of the rate, and the wait after it ends as late as
	// the last one will: counted from there, that lateness cancels out.
	for range 2 {
		if err := wait(); err != nil {
			return 0, fmt.Errorf("%s: %w", p.lib, err)
		}
	}
	begin, granted := time.Now(), 0
	for {
		if err := wait(); err != nil {
			return 0, fmt.Errorf("%s: %w", p.lib, err)
		}
		granted++
		elapsed := time.Since(begin)
		if float64(granted) > due(perSecond, elapsed) {
			return 0, fmt.Errorf("%s: %d granted in %v at %d/s", p.lib, granted, elapsed, perSecond)
		}
		if elapsed >= d {
			return float64(granted) / (elapsed.Seconds() * float64(perSecond)), nil
		}
	}
}

func pacingTrials(cfg config) (trials []trial, err error) {
	for _, perSecond := range paces() {
		group := fmt.Sprintf("rate=%d busy=%s", perSecond, cfg.busy)
		for _, p := range pacers() {
			trials = append(trials, trial{group, p.lib, func() ([]point, error) {
				stop, err := occupy(cfg.busy, cfg.mostCores())
				if err != nil {
					return nil, err
				}
				defer stop()
				share, err := pace(p, perSecond, cfg.pace)
				return []point{{group, 100 * share}}, err
			}})
		}
	}
	return trials, nil
}
