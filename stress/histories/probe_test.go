package histories_test

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
)

// A reading is what one operation read on the clock of one limiter.
type reading struct {
	lim   uint8
	at    time.Duration // since the limiter's first reading
	stamp int64
}

// A stage is where one history plays: the time, moved by hand, the order of
// all events, and who is on.
type stage struct {
	start time.Duration // the first reading of all limiters
	now   atomic.Int64
	seq   atomic.Int64 // even numbers, so that there is one in between
	cast  []*client    // nothing changes it once the clients run
}

// A client runs its operations one after another in a goroutine of its own.
type client struct {
	stage *stage
	id    int
	goid  string
	rng   *rand.Rand
	ops   []*op
	cur   *op // what it is at
}

func (s *stage) clock() time.Duration { return time.Duration(s.now.Load()) - s.start }

// A probe is the clock of one limiter. It writes every reading down with the
// operation that made it, and dawdles, so that readings grow old.
type probe struct {
	stage *stage
	lim   uint8
}

func (p *probe) Now() time.Duration {
	c := p.stage.caller()
	if c == nil { // whoever makes the limiter
		return time.Duration(p.stage.now.Load())
	}
	c.dawdle(4)
	now := p.stage.now.Load()
	c.cur.reads = append(c.cur.reads, reading{p.lim, time.Duration(now) - p.stage.start, p.stage.seq.Add(2)})
	c.dawdle(2)
	return time.Duration(now)
}

// caller returns the client that runs in this goroutine.
func (s *stage) caller() *client {
	if len(s.cast) == 0 {
		return nil
	}
	id := goid()
	for _, c := range s.cast {
		if c.goid == id {
			return c
		}
	}
	return nil
}

// goid returns what tells goroutines apart. An engine hands its clock nothing
// that does.
func goid() string {
	var buf [48]byte
	text := buf[len("goroutine "):runtime.Stack(buf[:], false)]
	for i, c := range text {
		if c == ' ' {
			return string(text[:i])
		}
	}
	return ""
}

// dawdle lets others go first, one time in so many, now and then until several
// of their steps have been seen.
func (c *client) dawdle(one int) {
	if c.rng.IntN(one) > 0 {
		return
	}
	if c.rng.IntN(3) > 0 {
		runtime.Gosched()
		return
	}
	c.stage.await(1+c.rng.Int64N(12), 40)
}

// await yields until so many events have come, or so often.
func (s *stage) await(events int64, most int) {
	until := s.seq.Load() + 2*events
	for range most {
		if s.seq.Load() >= until {
			return
		}
		runtime.Gosched()
	}
}
