package main

import (
	"sync"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/clock/tsc"
	"github.com/weir-go/weir/shard"
)

// A clocked is a clock other than the system's that ours can be told to read.
type clocked struct {
	name string
	open func() (clk clock.Clock, stop func())
}

// coarse is the resolution of the coarse clock.
const coarse = time.Millisecond

// counter is the one that a program makes when it starts. A machine that was
// busy meanwhile gets another chance.
var counter = sync.OnceValues(func() (c *tsc.Clock, err error) {
	for range 3 {
		if c, err = tsc.New(); err == nil {
			break
		}
	}
	return c, err
})

func clocks() (all []clocked) {
	if c, err := counter(); err == nil {
		all = append(all, clocked{"tsc", func() (clock.Clock, func()) { return c, nil }})
	}
	return append(all, clocked{"coarse", func() (clock.Clock, func()) {
		c := clock.NewCoarse(coarse)
		return c, c.Stop
	}})
}

// clockNotes say which clock is missing.
func clockNotes() []string {
	if _, err := counter(); err != nil {
		return []string{"nothing with the processor's counter: " + err.Error()}
	}
	return nil
}

// clockedOne are the limiters of one thing with each clock.
func clockedOne() (subjects []subject[string]) {
	for _, c := range clocks() {
		subjects = append(subjects, subject[string]{lib: ours + "-" + c.name, open: func(l limit, _ int) instance[string] {
			clk, stop := c.open()
			allow := openOne(gatomic.WithClock(clk))(l)
			return instance[string]{allow: func(string) bool { return allow() }, close: stop}
		}})
	}
	return subjects
}

// withClocks returns the subject with the system's clock, and with each of the
// others.
func withClocks[K comparable](s subject[K], open func(...shard.Option) func(limit, int) instance[K]) []subject[K] {
	s.open = open()
	subjects, lib := []subject[K]{s}, s.lib
	for _, c := range clocks() {
		s.lib, s.variant = lib+"-"+c.name, true
		s.open = func(l limit, keys int) instance[K] {
			clk, stop := c.open()
			i := open(shard.WithClock(clk))(l, keys)
			i.close = stop
			return i
		}
		subjects = append(subjects, s)
	}
	return subjects
}
