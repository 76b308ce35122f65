// Package clock says where "now" comes from.
//
// An engine reads a [Clock] once a decision, or a few times where it has to make
// or forget a key, and the clock is most of what a decision costs. So it can be
// chosen:
//
//   - [System], the default: the operating system's monotonic time.
//   - [Coarse]: a reading that a goroutine renews every millisecond, say. The
//     cheapest, and as old as that.
//   - tsc.Clock, in the package below: the processor's counter, at three quarters of
//     System's cost and within microseconds of it, where there is such a
//     counter.
//   - [Manual]: moves when told to, for tests and replays of recorded traffic.
//
// Manual in a test:
//
//	var clk clock.Manual
//	limiter := atomic.NewLimiter(gcra.PerSecond(10), atomic.WithClock(&clk))
//	limiter.Allow()                     // true
//	limiter.Allow()                     // false: the clock stands still
//	clk.Advance(100 * time.Millisecond)
//	limiter.Allow()                     // true
//
// Waiting is a different matter: it sleeps on the runtime's timers whatever
// the clock. To test code that waits, run it with System inside a
// testing/synctest bubble.
package clock

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// A Clock tells the time since some instant of its own choosing, its epoch.
// Now never decreases and is safe for concurrent use. Only differences of
// readings mean anything to an engine, except that limits with InSteps refill
// at multiples of their step on this scale.
//
// Now may be called while a lock is held, so it must return: neither panic nor
// call the engine that reads it.
type Clock interface {
	Now() time.Duration
}

// System returns a clock that reads the operating system's monotonic time. Its
// epoch is the call of System. Inside a testing/synctest bubble it follows the
// bubble's time. A reading costs what time.Since does.
func System() Clock { return &system{time.Now()} }

// The start is kept in the value, not in a package variable: that one would
// have been taken outside of any bubble.
type system struct{ start time.Time }

func (s *system) Now() time.Duration { return time.Since(s.start) }

// Manual is a clock that moves only when told to. The zero Manual reads 0 and
// is ready to use. It must not be copied after first use; all methods are safe
// for concurrent use.
type Manual struct{ now atomic.Int64 }

// Now returns what the clock was last set to.
func (m *Manual) Now() time.Duration { return time.Duration(m.now.Load()) }

// Advance moves the clock on by d, at most to the end of a time.Duration. It
// panics if d is negative.
func (m *Manual) Advance(d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("clock: Advance(%v): a clock does not go back", d))
	}
	for {
		old := m.now.Load()
		if m.now.CompareAndSwap(old, old+min(int64(d), math.MaxInt64-old)) {
			return
		}
	}
}

// Set moves the clock to now. It panics if that is before what the clock
// reads.
func (m *Manual) Set(now time.Duration) {
	for {
		old := m.now.Load()
		if int64(now) < old {
			panic(fmt.Sprintf("clock: Set(%v): a clock does not go back from %v", now, time.Duration(old)))
		}
		if m.now.CompareAndSwap(old, int64(now)) {
			return
		}
	}
}
