package main

import (
	"math"
	"math/bits"
	"time"

	"github.com/loov/hrtime"
)

// A counter measures short times with hrtime: the processor's counter where it is invariant, else hrtime's clock.
type counter struct {
	tsc   bool
	first int64
	start time.Time
}

func newCounter() counter {
	c := counter{tsc: hrtime.TSCSupported()}
	c.start, c.first = time.Now(), c.now()
	return c
}

func (c counter) now() int64 {
	if c.tsc {
		return int64(hrtime.TSC())
	}
	return int64(hrtime.Now())
}

func (c counter) String() string {
	if c.tsc {
		return "TSC"
	}
	return "clock"
}

// unit is the length of one count in ns. Hrtime's own is calibrated in 100 µs; this one in all the time since newCounter.
func (c counter) unit() float64 {
	if !c.tsc {
		return 1
	}
	wall, counts := time.Since(c.start), c.now()-c.first
	return float64(wall) / float64(max(counts, 1))
}

// overhead is what one reading costs, in ns: it is part of every time that was measured.
func (c counter) overhead() float64 {
	if !c.tsc {
		return float64(hrtime.Overhead())
	}
	return float64(hrtime.TSCOverhead()) * c.unit()
}

// A histogram counts times in classes that are at most 1/64 wide, and knows the longest one exactly. The zero histogram is
// empty. It has one writer.
type histogram struct {
	class   [60 * fine]uint64
	n       uint64
	longest int64
}

const fineBits, fine = 6, 1 << 6

func (h *histogram) add(t int64) {
	t = max(t, 0) // where hrtime reads a wall clock, and that was set back
	h.class[classOf(uint64(t))]++
	h.n++
	h.longest = max(h.longest, t)
}

func classOf(t uint64) int {
	shift := max(bits.Len64(t)-fineBits-1, 0)
	return shift*fine + int(t>>shift)
}

// top is the longest time in a class.
func top(class int) int64 {
	if class < 2*fine {
		return int64(class)
	}
	shift := class/fine - 1
	return int64(uint64(class%fine+fine+1)<<shift - 1)
}

func (h *histogram) merge(o *histogram) {
	for i, n := range o.class {
		h.class[i] += n
	}
	h.n += o.n
	h.longest = max(h.longest, o.longest)
}

// quantile returns a time that q of all are not longer than: never understated, and overstated by at most 1/64.
func (h *histogram) quantile(q float64) int64 {
	rank := uint64(math.Ceil(q * float64(h.n)))
	var seen uint64
	for i, n := range h.class {
		if seen += n; n > 0 && seen >= rank {
			return min(top(i), h.longest)
		}
	}
	return h.longest
}

// A latency is a histogram's summary in whole ns.
type latency struct {
	P50     int64  `json:"p50"`
	P99     int64  `json:"p99"`
	P999    int64  `json:"p99_9"`
	Max     int64  `json:"max"`
	Samples uint64 `json:"samples"`
}

func (h *histogram) summary(unit float64) latency {
	ns := func(t int64) int64 { return int64(math.Round(float64(t) * unit)) }
	return latency{ns(h.quantile(.5)), ns(h.quantile(.99)), ns(h.quantile(.999)), ns(h.longest), h.n}
}
