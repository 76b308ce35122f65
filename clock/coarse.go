package clock

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Coarse is a clock whose reading costs one atomic load: a goroutine of its own
// reads the system's monotonic time once a resolution, and Now returns what it
// read last. Its epoch is the call of [NewCoarse]; in a testing/synctest bubble
// it follows the bubble's time. It must not be copied, its zero value is not
// usable, and all methods are safe for concurrent use.
//
// A reading is older than the time by its staleness: up to the resolution and
// what the goroutine is late. That is under a millisecond on a quiet machine,
// a time slice of the scheduler (10 ms) and more where goroutines that compute
// keep every processor busy, and as long as the stall on a stalled one. What
// this does to decisions, with s for the longest staleness:
//
//   - In the instants that the decisions used the law of the window holds as
//     always. In real time a window of length w was decided in instants of
//     w + s, so it may see burst + ⌊(w + s)·rate⌋ tokens.
//   - A refused request may have been granted by an exact clock: tokens that
//     came within the staleness are not seen yet.
//   - RetryAfter counts from the reading. It is longer than it has to be by at
//     most s; and who comes back after exactly that time may be refused once
//     more, for up to s, if the reading is staler then than it was before.
//   - Wait books in readings and sleeps in real time: it may wake up to s too
//     late, and, where the reading was staler when it booked than when others
//     did, the window above holds for the wake-ups too. For pacing use System.
//
// All requests between two ticks are decided at one instant. The goroutine
// costs some microseconds of a processor each tick, whether the clock is read or
// not, so a resolution below about 100 µs costs more than it saves.
type Coarse struct {
	now   atomic.Int64 // the last reading, or stopped
	start time.Time
	stop  func()        // tells the goroutine to end
	done  chan struct{} // closed when it has ended
}

// stopped is no reading: those are never negative.
const stopped = -1

// NewCoarse starts a clock that is read anew once a resolution, until Stop. It
// panics if the resolution is not positive.
func NewCoarse(resolution time.Duration) *Coarse {
	if resolution <= 0 {
		panic(fmt.Sprintf("clock: NewCoarse(%v): want more than 0", resolution))
	}
	stop := make(chan struct{})
	c := &Coarse{
		start: time.Now(),
		stop:  sync.OnceFunc(func() { close(stop) }),
		done:  make(chan struct{}),
	}
	go c.keep(time.NewTicker(resolution), stop)
	return c
}

// keep is the only writer until done is closed, so that what is published never
// decreases.
func (c *Coarse) keep(ticker *time.Ticker, stop <-chan struct{}) {
	defer close(c.done)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			// Not the tick's own time: a late goroutine has an old tick in hand.
			c.now.Store(int64(time.Since(c.start)))
		case <-stop:
			return
		}
	}
}

// Now returns the last reading, which is 0 until the first tick. After Stop it
// reads the system's time itself, at the cost of [System], so that a limiter
// that outlives its clock goes on refilling.
func (c *Coarse) Now() time.Duration {
	if now := c.now.Load(); now != stopped {
		return time.Duration(now)
	}
	return time.Since(c.start)
}

// Stop ends the goroutine and returns when it has ended. It may be called more
// than once. In a synctest bubble it has to be called before the bubble ends.
func (c *Coarse) Stop() {
	c.stop()
	<-c.done
	// After done: else the goroutine's last store could take it back, and the
	// clock stand still for ever.
	c.now.Store(stopped)
}
