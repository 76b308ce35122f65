package tsc

import "math/bits"

// A clock's life is a row of lines. Each says what the clock reads for life
// counts of the counter and is then replaced by the next one.
const (
	lifeBits = 27
	life     = 1 << lifeBits // counts: 52 ms at 2.6 GHz

	// back is how far a counter may lie before a line's begin for the line to
	// hold its first reading for it: cores that differ a little, or a counter
	// that was read before the line was drawn. Further back it has jumped.
	back = 1 << 16 // counts: 25 µs at 2.6 GHz
)

// A rate is what the system's clock does in life counts, in 1/256 ns.
type rate uint64

// The rates that a line can be drawn with: counters of 32 GHz to 250 MHz. Within
// them at·span does not overflow.
const (
	fracBits              = 8
	fastest, slowest rate = 1 << (lifeBits + fracBits - 5), 1 << (lifeBits + fracBits + 2)
)

// A reading is the counter and the system's clock at one moment.
type reading struct {
	count uint64
	sys   int64 // ns
}

// rateFrom returns the rate between two readings, or false if no sound counter
// and clock could have made them.
func (r reading) rateFrom(old reading) (rate, bool) {
	counts, ns := r.count-old.count, r.sys-old.sys
	if ns <= 0 {
		return 0, false
	}
	hi, lo := bits.Mul64(uint64(ns), 1<<(lifeBits+fracBits))
	if hi >= counts { // or there are none
		return 0, false
	}
	q, _ := bits.Div64(hi, lo, counts)
	return rate(q), fastest <= rate(q) && rate(q) <= slowest
}

// near reports whether the rates differ by less than one in 2^bits.
func (r rate) near(other rate, bits int) bool {
	return max(r, other)-min(r, other) < other>>bits
}

// sameBits is how near the rate of one life is to that of the next, unless
// something happened: 0.1 %. The kernel slews its clock by half of that.
const sameBits = 10

// A line is what the clock reads from one count on: now, and span more at the
// end of life counts. What it can read, now to now + span, is all that it ever
// reads: no count makes it read more or less.
type line struct {
	count     uint64
	now, span int64 // ns

	// For the next line only:
	sys   int64 // what the system's clock read at count
	rate  rate
	doubt rate // what the last life's rate was if it was not near; else 0
}

// at returns the reading at a count that is less than life after the line's.
func (l *line) at(since uint64) int64 { return l.now + int64(since*uint64(l.span)>>lifeBits) }

// end is the last reading of the line.
func (l *line) end() int64 { return l.now + l.span }

// next draws the line that follows. It begins where the old one ends, or at the
// system's time if that is later: so the readings of different lines do not
// overlap. It ends where the system's clock will be after a life: so whatever
// the counter does, the clock is at most a life ahead, and what it was ahead is
// gone at the line's end.
func (l *line) next(r reading) line {
	n := line{count: r.count, sys: r.sys, now: max(l.end(), r.sys)}
	n.rate, n.doubt = l.learn(r)
	n.span = max(0, r.sys+int64(n.rate>>fracBits)-n.now)
	return n
}

// learn returns the rate to go on with. A life whose rate is not near was
// disturbed: the machine slept, was moved to another one, or the counter
// jumped. Nothing is learnt from it, unless the next life agrees: then the
// counter runs at another frequency from now on.
func (l *line) learn(r reading) (_, doubt rate) {
	switch q, ok := r.rateFrom(reading{l.count, l.sys}); {
	case !ok:
		return l.rate, 0
	case q.near(l.rate, sameBits):
		return (15*l.rate + q) / 16, 0
	case q.near(l.doubt, sameBits):
		return q, 0
	default:
		return l.rate, q
	}
}
