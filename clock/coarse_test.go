package clock_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/clock"
)

func TestCoarseTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewCoarse(10 * time.Millisecond)
		defer c.Stop()
		start := time.Now()
		for _, row := range []struct {
			at, want time.Duration
			why      string
		}{
			{0, 0, "the epoch is the making"},
			{9 * time.Millisecond, 0, "no tick yet"},
			{10 * time.Millisecond, 10 * time.Millisecond, "the first tick"},
			{19 * time.Millisecond, 10 * time.Millisecond, "the reading stays between ticks"},
			{time.Minute + 5*time.Millisecond, time.Minute, "many ticks later it is as old as ever"},
		} {
			time.Sleep(row.at - time.Since(start)) // the bubble's time
			synctest.Wait()
			if got := c.Now(); got != row.want {
				t.Errorf("Now() = %v at %v, want %v: %s", got, row.at, row.want, row.why)
			}
		}
	})
}

func TestCoarseStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewCoarse(10 * time.Millisecond)
		time.Sleep(25 * time.Millisecond)
		synctest.Wait()
		if got := c.Now(); got != 20*time.Millisecond {
			t.Errorf("Now() = %v before Stop, want 20ms", got)
		}
		c.Stop()
		if got := c.Now(); got != 25*time.Millisecond {
			t.Errorf("Now() = %v after Stop, want 25ms: the system's time", got)
		}
		time.Sleep(3 * time.Millisecond)
		c.Stop() // again
		if got := c.Now(); got != 28*time.Millisecond {
			t.Errorf("Now() = %v later, want 28ms: it may not stand still", got)
		}
	})
}

// TestCoarseStopsOnce has several callers of Stop: each returns only when the
// goroutine has ended, which goleak and the bubble see.
func TestCoarseStopsOnce(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			c := clock.NewCoarse(time.Millisecond)
			time.Sleep(time.Millisecond) // a tick and the end may come together
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					c.Stop()
					before := c.Now()
					time.Sleep(time.Microsecond)
					if now := c.Now(); now != before+time.Microsecond {
						t.Errorf("read %v and after 1µs %v: a tick came after Stop", before, now)
					}
				})
			}
			wg.Wait()
		})
	}
}

// TestCoarseStopWaits stops clocks that tick all the time: a tick that was under
// way is not seen after Stop.
func TestCoarseStopWaits(t *testing.T) {
	for i := range 3000 {
		c := clock.NewCoarse(time.Microsecond)
		// Sometimes before the first tick, and sometimes while the goroutine
		// stores one, on another core or stopped.
		for reads := 0; reads < 10_000*(i%2) && c.Now() == 0; reads++ {
			if reads%1000 == 999 {
				runtime.Gosched()
			}
		}
		c.Stop()
		then, begin := c.Now(), time.Now()
		runtime.Gosched()
		for c.Now() == then {
			if time.Since(begin) > 50*time.Millisecond {
				t.Fatalf("Now() = %v for 50ms after Stop", then)
			}
		}
	}
}

// TestCoarseNeverDecreases passes readings from goroutine to goroutine, in real
// time and through Stop.
func TestCoarseNeverDecreases(t *testing.T) {
	for range 20 {
		c := clock.NewCoarse(20 * time.Microsecond)
		var last, moved atomic.Int64
		var wg sync.WaitGroup
		read := func() bool {
			before := last.Load()
			now := int64(c.Now())
			if now < before {
				t.Errorf("read %d after %d", now, before)
			}
			if now > before && last.CompareAndSwap(before, now) {
				moved.Add(1)
			}
			return now < before
		}
		for range 4 {
			wg.Go(func() {
				for moved.Load() < 20 && !read() { // ticks
					runtime.Gosched() // to the clock's goroutine
				}
				c.Stop()
				for range 100 {
					read()
				}
			})
		}
		wg.Wait()
	}
}

func TestCoarsePanics(t *testing.T) {
	for _, resolution := range []time.Duration{0, -1} {
		func() {
			defer func() {
				want := fmt.Sprintf("clock: NewCoarse(%v): want more than 0", resolution)
				if got := recover(); got != want {
					t.Errorf("panic %v, want %s", got, want)
				}
			}()
			clock.NewCoarse(resolution).Stop()
		}()
	}
}

// TestCoarseDoesNotAllocate counts the ticks' allocations too: those of all
// goroutines are counted.
func TestCoarseDoesNotAllocate(t *testing.T) {
	c := clock.NewCoarse(20 * time.Microsecond)
	defer c.Stop()
	n := testing.AllocsPerRun(10, func() {
		for ticks, last := 0, c.Now(); ticks < 10; {
			if now := c.Now(); now != last {
				ticks, last = ticks+1, now
			}
			runtime.Gosched() // to the clock's goroutine
		}
	})
	if n != 0 {
		t.Errorf("%v allocations in ten ticks", n)
	}
}
