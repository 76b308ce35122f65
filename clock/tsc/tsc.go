package tsc

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/loov/hrtime"
)

// A Clock reads the time from the processor's counter. It is a [clock.Clock];
// its epoch is the call of New. A Clock must not be copied and is safe for
// concurrent use; the zero Clock stands still at 0. It needs no closing.
//
// [clock.Clock]: https://pkg.go.dev/github.com/weir-go/weir/clock#Clock
type Clock struct {
	machine machine
	board   board
}

// New calibrates the counter against the system's clock, for which it spins for
// 5 ms, and for five times that where the machine is so busy that it has to
// repeat it. Programs make one Clock when they start and fall back on
// clock.System if there is an error: ErrUnsupported, as on every processor that
// is not an amd64, or ErrUnsteady with what was measured.
func New() (*Clock, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	c := &Clock{machine: machine{time.Now()}}
	first, err := calibrate(&c.machine)
	if err != nil {
		return nil, err
	}
	c.board.start(first)
	return c, nil
}

// supported returns an ErrUnsupported if the processor or the kernel says that
// there is no counter to use.
func supported() error {
	if !hrtime.TSCSupported() {
		return fmt.Errorf("%w: the processor (%s) does not say that it has one", ErrUnsupported, runtime.GOARCH)
	}
	if runtime.GOOS == "linux" {
		// Where this cannot be read, as in some sandboxes, the processor's word
		// and the calibration have to do.
		if list, err := os.ReadFile(sources); err == nil && !trusted(list) {
			return fmt.Errorf("%w: the kernel does not trust it: %s has %q", ErrUnsupported, sources, bytes.TrimSpace(list))
		}
	}
	return nil
}

// sources lists the counters that Linux holds good for a clock: one that it has
// found to go at several paces, on several sockets for one, is not there.
const sources = "/sys/devices/system/clocksource/clocksource0/available_clocksource"

func trusted(list []byte) bool {
	return slices.ContainsFunc(bytes.Fields(list), func(name []byte) bool { return string(name) == "tsc" })
}

// Now returns the time since New.
func (c *Clock) Now() time.Duration {
	if now, ok := c.board.read(hrtime.RDTSCP()); ok {
		return time.Duration(now)
	}
	return time.Duration(c.board.renew(&c.machine))
}
