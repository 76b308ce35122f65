package httplimit

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestPausesAreForgotten: what is remembered is bounded by what is paused at the
// same time, not by what ever was.
func TestPausesAreForgotten(t *testing.T) {
	var p pauses[int]
	now := time.Now()
	for i := range 100_000 {
		p.add(i, now, 100*s) // 100 are paused at each time
		if !p.has(i, now) {
			t.Fatalf("%d is not paused", i)
		}
		now = now.Add(s)
		if n := len(p.until); n > 2*102 {
			t.Fatalf("%d are remembered after %d", n, i)
		}
	}
	if int(p.held.Load()) != len(p.until) {
		t.Errorf("%d counted, %d there", p.held.Load(), len(p.until))
	}
	for i := range 100_000 {
		if p.has(i, now.Add(100*s)) {
			t.Fatalf("%d is still paused", i)
		}
	}
	if len(p.until) != 0 || p.held.Load() != 0 {
		t.Errorf("%d, %d are left of those that were asked for", len(p.until), p.held.Load())
	}
}

// TestPausesAreCapped: a flood of hosts that pause for long is no leak.
func TestPausesAreCapped(t *testing.T) {
	var p pauses[int]
	now := time.Now()
	for i := range 2 * maxPaused {
		p.add(i, now, time.Hour)
	}
	if len(p.until) != maxPaused || !p.has(0, now) || p.has(maxPaused, now) {
		t.Errorf("%d are remembered", len(p.until))
	}
	p.add(0, now, 2*time.Hour) // those that are known can still be made longer
	if !p.has(0, now.Add(90*time.Minute)) {
		t.Error("a known one stays at an hour")
	}
	now = now.Add(61 * time.Minute)
	for i := range maxPaused + 2 { // as often as it takes until the next sweep
		p.add(maxPaused+i, now, time.Hour)
	}
	if _, there := p.until[5]; there || !p.has(2*maxPaused+1, now) || len(p.until) > maxPaused {
		t.Errorf("no room made: %d are remembered", len(p.until))
	}
}

// TestNaN is never equal to itself, so it could never be swept.
func TestNaN(t *testing.T) {
	var p pauses[float64]
	p.add(math.NaN(), time.Now(), time.Hour)
	if len(p.until) != 0 {
		t.Error("it is remembered for ever")
	}
}

// TestPausesRace: many goroutines pause, ask and wait at once.
func TestPausesRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pauses[int]
		var all sync.WaitGroup
		for g := range 8 {
			all.Go(func() {
				for i := range 500 {
					key := (g*i + i) % 97
					now := time.Now()
					p.add(key, now, time.Duration(1+i%7)*time.Millisecond)
					if err := p.wait(context.Background(), key); err != nil {
						t.Error(err)
					}
					// At least as long as this goroutine asked for itself.
					if waited := time.Since(now); waited < time.Duration(1+i%7)*time.Millisecond {
						t.Errorf("let go after %v", waited)
					}
				}
			})
		}
		all.Wait()
		if int(p.held.Load()) != len(p.until) {
			t.Errorf("%d counted, %d there", p.held.Load(), len(p.until))
		}
	})
}
