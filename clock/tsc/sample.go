package tsc

import (
	"math"
	"time"

	"github.com/loov/hrtime"
)

// A source is a counter and the system's clock. Only what is rare goes through
// it: Clock.Now reads the counter itself.
type source interface {
	count() uint64
	system() int64 // ns
}

// A machine is the source that is no simulation.
type machine struct{ start time.Time }

func (m *machine) count() uint64 { return hrtime.RDTSCP() }
func (m *machine) system() int64 { return int64(time.Since(m.start)) }

const (
	tries = 4
	tight = 1 << 11 // counts: 0.8 µs at 2.6 GHz, and some ten times what a sample takes
)

// sample reads the counter before and after the system's clock and takes the
// middle. The truth lies between the two, and they are further apart than usual
// if the goroutine was stopped meanwhile: then it tries again, and returns the
// best it got.
func sample(src source) (r reading) {
	best := uint64(math.MaxInt64) // and not what seems to have ended before it began
	for range tries {
		before := src.count()
		sys := src.system()
		after := src.count()
		width := after - before
		if width < best {
			best, r = width, reading{after - width/2, sys}
		}
		if width < tight {
			break
		}
		if best == math.MaxInt64 {
			r = reading{after, sys}
		}
	}
	return r
}
