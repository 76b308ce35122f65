package shard

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/gcra"
)

// calledOff is a context that ends when its Done is looked at for the last
// time: a spinning waiter looks each time round, one that sleeps once.
type calledOff struct {
	context.Context
	looks int
	done  chan struct{}
}

func (c *calledOff) Done() <-chan struct{} {
	if c.looks--; c.looks == 0 {
		close(c.done)
	}
	return c.done
}

func (c *calledOff) Err() error {
	if c.looks <= 0 {
		return context.Canceled
	}
	return nil
}

// lateClock is the bubble's time, and later by lag.
type lateClock struct {
	start time.Time
	lag   atomic.Int64
}

func (c *lateClock) Now() time.Duration { return time.Since(c.start) + time.Duration(c.lag.Load()) }

// What package atomic's options do is checked there; here is that each
// arrives.
func TestOptionsArePassedOn(t *testing.T) {
	for _, row := range []struct {
		option func(clk *lateClock) Option
		check  func(l *Limiter[int], clk *lateClock) bool
		why    string
	}{
		{func(*lateClock) Option { return WithMaxWait(time.Second - 1) }, func(l *Limiter[int], _ *lateClock) bool {
			return errors.Is(l.Wait(context.Background(), 1), gcra.ErrLimited)
		}, "WithMaxWait refuses"},
		{func(*lateClock) Option { return WithJitter(1000 * time.Hour) }, func(l *Limiter[int], _ *lateClock) bool {
			start := time.Now()
			l.Wait(context.Background(), 1)
			return time.Since(start) > time.Second
		}, "WithJitter sleeps longer"},
		{func(*lateClock) Option { return WithSpin(time.Hour) }, func(l *Limiter[int], _ *lateClock) bool {
			return l.Wait(&calledOff{context.Background(), 100, make(chan struct{})}, 1) != nil
		}, "WithSpin looks at the context a hundred times"},
		{func(*lateClock) Option { return WithMaxDebt(7) }, func(l *Limiter[int], _ *lateClock) bool {
			return l.Debit(1, 100).Granted() == 7
		}, "WithMaxDebt charges so many"},
		{func(*lateClock) Option { return WithCatchUp(0) }, func(l *Limiter[int], clk *lateClock) bool {
			time.AfterFunc(1, func() { clk.lag.Add(int64(4 * time.Millisecond)) })
			l.Wait(context.Background(), 1)
			start := time.Now()
			l.Wait(context.Background(), 1)
			return time.Since(start) == time.Second
		}, "WithCatchUp(0) starts the interval at the wake-up"},
		{func(clk *lateClock) Option { return WithClock(clk) }, func(l *Limiter[int], clk *lateClock) bool {
			clk.lag.Add(int64(time.Second))
			return l.Allow(1)
		}, "WithClock is read"},
		{func(*lateClock) Option { return WithShards(1) }, func(l *Limiter[int], _ *lateClock) bool {
			s := l.Stats()
			return s.Granted+s.Refused+s.Waited == 0
		}, "without WithStats nothing is counted"},
	} {
		synctest.Test(t, func(t *testing.T) {
			clk := &lateClock{start: time.Now()}
			l := New[int](gcra.PerSecond(1), WithClock(clk), row.option(clk))
			l.Allow(1)
			if !row.check(l, clk) {
				t.Errorf("no: %s", row.why)
			}
		})
	}
}
