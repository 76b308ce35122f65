package clock_test

import (
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestManual(t *testing.T) {
	const end = time.Duration(math.MaxInt64)
	for _, row := range []struct {
		move func(*clock.Manual)
		want time.Duration
		why  string
	}{
		{func(*clock.Manual) {}, 0, "the zero clock reads 0"},
		{func(m *clock.Manual) { m.Advance(5); m.Advance(7) }, 12, "advances add up"},
		{func(m *clock.Manual) { m.Advance(0) }, 0, "standing still is allowed"},
		{func(m *clock.Manual) { m.Set(9); m.Set(9) }, 9, "set to the same is allowed"},
		{func(m *clock.Manual) { m.Set(3); m.Advance(end) }, end, "it stops at the end and does not wrap"},
	} {
		var m clock.Manual
		row.move(&m)
		if got := m.Now(); got != row.want {
			t.Errorf("Now() = %v, want %v: %s", got, row.want, row.why)
		}
	}
}

func TestManualNeverGoesBack(t *testing.T) {
	var m clock.Manual
	m.Set(10)
	for _, row := range []struct {
		move func()
		why  string
	}{
		{func() { m.Set(9) }, "set to an earlier reading"},
		{func() { m.Set(-1) }, "set to a negative reading"},
		{func() { m.Advance(-1) }, "advance by a negative duration"},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic: %s", row.why)
				}
				if got := m.Now(); got != 10 {
					t.Errorf("Now() = %v after a panic, want 10: %s", got, row.why)
				}
			}()
			row.move()
		}()
	}
}

func TestManualConcurrent(t *testing.T) {
	var m clock.Manual
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			last := m.Now()
			for range 1000 {
				m.Advance(3)
				now := m.Now()
				if now < last+3 {
					t.Errorf("read %v after %v and an advance by 3", now, last)
				}
				last = now
			}
		})
	}
	wg.Wait()
	if got := m.Now(); got != 4*1000*3 {
		t.Errorf("Now() = %v, want 12000: an advance was lost", got)
	}
}

func TestSystemNeverDecreases(t *testing.T) {
	c := clock.System()
	last := c.Now()
	for range 100_000 {
		now := c.Now()
		if now < last {
			t.Fatalf("read %v after %v", now, last)
		}
		last = now
	}
}

func TestSystemFollowsBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.System()
		time.Sleep(time.Hour) // the bubble's time: it passes at once
		if got := c.Now(); got != time.Hour {
			t.Errorf("Now() = %v after an hour in the bubble", got)
		}
	})
}

func TestNowDoesNotAllocate(t *testing.T) {
	for name, c := range map[string]clock.Clock{"System": clock.System(), "Manual": new(clock.Manual)} {
		if n := testing.AllocsPerRun(100, func() { c.Now() }); n != 0 {
			t.Errorf("%s: %v allocations a reading", name, n)
		}
	}
}

func BenchmarkNow(b *testing.B) {
	coarse := clock.NewCoarse(time.Millisecond)
	defer coarse.Stop()
	for _, row := range []struct {
		name string
		c    clock.Clock
	}{{"clock=system", clock.System()}, {"clock=coarse", coarse}, {"clock=manual", new(clock.Manual)}} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				row.c.Now()
			}
		})
	}
}
