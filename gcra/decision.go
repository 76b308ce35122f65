package gcra

import (
	"errors"
	"math"
	"time"
)

var (
	// ErrLimited reports a request that did not fit at its instant.
	ErrLimited = errors.New("weir: limited")
	// ErrExceedsBurst reports a cost above the burst: it never fits.
	ErrExceedsBurst = errors.New("weir: cost exceeds the burst")
	// ErrCost reports a negative cost.
	ErrCost = errors.New("weir: negative cost")
)

type reason uint8

const (
	granted reason = iota
	limited
	exceeds
	negative
)

// A Decision is the answer to one request: 40 bytes, no allocation, no clock.
// Numbers are worked out when asked for, so that who only asks OK pays for no
// division. It keeps a pointer to the limit that decided. The zero Decision is
// a grant of nothing under the zero Limit. It is an immutable value.
type Decision struct {
	limit *Limit
	tat   int64         // after the decision
	at    time.Duration // of the reading, not rounded to ticks
	n     int64         // tokens granted, or asked for if refused
	why   reason
}

// OK reports whether the request passed. A TakeUpTo passes if it was granted
// at least one token, or asked for none.
func (d Decision) OK() bool { return d.why == granted }

// Granted returns the tokens that were taken: 0 for a refusal and a Peek, and
// at most the tokens asked for after TakeUpTo.
func (d Decision) Granted() int {
	if d.why != granted {
		return 0
	}
	return int(d.n)
}

// Remaining returns the whole tokens left in the bucket at the decision's
// instant: 0 in debt, math.MaxInt under Unlimited.
func (d Decision) Remaining() int {
	l := d.limit
	if l == nil || l.burst == 0 {
		return 0
	}
	if l.unlimited() {
		return math.MaxInt
	}
	now := l.tick(d.at)
	return int(min(max(l.span-(max(d.tat, now)-now), 0)/l.ticks, math.MaxInt))
}

// RetryAfter returns how long after the decision's instant the same request
// would pass if nobody else asked: 0 if it passed, [Never] if it never can. It
// is rounded up to the nanosecond and tight: on a clock of nanoseconds a retry
// one nanosecond earlier is refused.
func (d Decision) RetryAfter() time.Duration {
	switch d.why {
	case granted:
		return 0
	case limited:
		l := d.limit
		return Until(l, d.tat+d.n*l.ticks-l.span, At(l, d.at))
	}
	return Never
}

// ResetAfter returns the time from the decision's instant until the bucket is
// full: 0 if it is, [Never] if nothing refills it.
func (d Decision) ResetAfter() time.Duration {
	if d.limit == nil {
		return 0
	}
	return Until(d.limit, d.tat, At(d.limit, d.at))
}

// Limit returns the limit that decided.
func (d Decision) Limit() Limit {
	if d.limit == nil {
		return Limit{}
	}
	return *d.limit
}

// Err returns nil if the request passed, else one of [ErrLimited],
// [ErrExceedsBurst] and [ErrCost].
func (d Decision) Err() error {
	switch d.why {
	case granted:
		return nil
	case limited:
		return ErrLimited
	case exceeds:
		return ErrExceedsBurst
	}
	return ErrCost
}
