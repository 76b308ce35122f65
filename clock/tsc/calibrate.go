package tsc

import (
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	stretch  = 2500 * time.Microsecond // two of them are a calibration
	attempts = 5
	steady   = 12      // bits: two stretches may differ by 1 in 4096, or 0.6 µs
	reads    = 1 << 21 // of the system's clock in a stretch, before it is taken to stand still
	coarsest = 10 * time.Microsecond
)

// ErrUnsupported is in the error of a New on a machine that has no counter
// that can be a clock, or whose system's clock is too coarse to calibrate it.
var ErrUnsupported = errors.New("tsc: no counter to make a clock of")

// ErrUnsteady is in the error of a New that could not calibrate the counter: it
// did not keep one rate to the system's clock for as long as that takes.
var ErrUnsteady = errors.New("tsc: the counter could not be calibrated")

// calibrate compares the counter with the system's clock over two stretches. If
// these agree the first line can be drawn.
func calibrate(src source) (line, error) {
	var bad error
	step := time.Duration(math.MaxInt64)
	for range attempts {
		first := sample(src)
		middle, err := pass(src, first, &step)
		if err != nil {
			return line{}, err
		}
		last, err := pass(src, middle, &step)
		if err != nil {
			return line{}, err
		}
		one, ok1 := middle.rateFrom(first)
		two, ok2 := last.rateFrom(middle)
		all, ok := last.rateFrom(first)
		switch {
		case step > coarsest:
			// Or the goroutine was stopped before every second reading.
			bad = fmt.Errorf("%w: the system's clock moves in steps of %v", ErrUnsupported, step)
		case ok && ok1 && ok2 && one.near(two, steady):
			return line{count: last.count, now: last.sys, sys: last.sys, span: int64(all >> fracBits), rate: all}, nil
		default:
			bad = fmt.Errorf("%w: %d counts in %d ns, then %d in %d, and no better in %d attempts", ErrUnsteady,
				int64(middle.count-first.count), middle.sys-first.sys, int64(last.count-middle.count), last.sys-middle.sys, attempts)
		}
	}
	return line{}, bad
}

// pass spins for a stretch and samples its end. It lowers step to the smallest
// one that the system's clock took, and fails if that stands still.
func pass(src source, from reading, step *time.Duration) (reading, error) {
	last := from.sys
	for range reads {
		now := src.system()
		if now > last {
			*step, last = min(*step, time.Duration(now-last)), now
		}
		if time.Duration(now-from.sys) >= stretch {
			return sample(src), nil
		}
	}
	return reading{}, fmt.Errorf("%w: the system's clock moved by %v in %d readings (in a synctest bubble it stands still)",
		ErrUnsteady, time.Duration(last-from.sys), reads)
}
