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

// A Decision is the answer to one request: four words, so that it travels in
// registers; no allocation, no clock. Numbers are worked out when asked for:
// who only asks OK pays for no division. It points to the limit that decided.
// The zero Decision is a grant of nothing under the zero Limit. It is an
// immutable value.
type Decision struct {
	limit   *Limit
	tat     int64         // after the decision
	at      time.Duration // of the reading, not rounded to ticks
	verdict int64         // tokens granted; below 0 the reason of the refusal
}

// Verdicts that are not a grant: these two, or the cost, negated, of a request
// that was limited. In a dry run they lie between dryLow and dryHigh. Those of
// joint decisions are in joint.go.
const (
	exceeds  = math.MinInt64
	negative = math.MinInt64 + 1
	dryLow   = -1 << 62
	dryHigh  = -1 << 61
)

// OK reports whether the request passed, or was only tried (see DryRun). A
// TakeUpTo passes if it was granted at least one token, or asked for none.
func (d Decision) OK() bool { return d.verdict >= 0 || d.dry() }

// DryRun returns the decision as a limiter gives it that only tries its limit:
// OK says yes, and Err, RetryAfter and the numbers keep the real verdict.
func (d Decision) DryRun() Decision {
	if d.verdict < 0 {
		return d.tried()
	}
	return d
}

// tried is DryRun for refusals.
func (d Decision) tried() Decision {
	switch {
	case d.dry():
	case d.joint():
		d.at = ^d.at
	case d.verdict <= negative:
		d.verdict += dryLow - math.MinInt64
	default:
		d.verdict += dryHigh
	}
	return d
}

func (d Decision) dry() bool {
	return dryLow <= d.verdict && d.verdict < dryHigh || d.at < 0 && d.joint()
}

// real is the verdict without the mark of a dry run.
func (d Decision) real() int64 {
	switch {
	case !d.dry() || d.joint():
		return d.verdict
	case d.verdict <= dryLow+1:
		return d.verdict - (dryLow - math.MinInt64)
	}
	return d.verdict - dryHigh
}

// Granted returns the tokens that were taken: 0 for a refusal and a Peek, and
// at most the tokens asked for after TakeUpTo.
func (d Decision) Granted() int {
	if d.verdict >= jointGrant && d.joint() {
		return int(d.verdict - jointGrant)
	}
	return int(max(d.verdict, 0))
}

// Remaining returns the whole tokens left in the bucket at the decision's
// instant: 0 in debt, math.MaxInt under Unlimited.
func (d Decision) Remaining() int {
	l := d.limit
	switch {
	case d.joint() && d.verdict >= 0:
		return int(d.tat)
	case d.joint():
		return int(d.reason() - d.verdict)
	case l == nil || l.burst == 0:
		return 0
	case l.unlimited():
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
	verdict := d.real()
	switch {
	case verdict >= 0:
		return 0
	case verdict <= negative:
		return Never
	case d.joint():
		return time.Duration(d.tat)
	}
	l := d.limit
	return Until(l, d.tat-verdict*l.ticks-l.span, At(l, d.at))
}

// ResetAfter returns the time from the decision's instant until the bucket is
// full: 0 if it is, [Never] if nothing refills it.
func (d Decision) ResetAfter() time.Duration {
	switch {
	case d.joint():
		return max(d.at, ^d.at)
	case d.limit == nil:
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
	switch verdict := d.real(); {
	case verdict >= 0:
		return nil
	case verdict == exceeds, d.joint() && d.reason() == jointExceeds:
		return ErrExceedsBurst
	case verdict == negative, d.joint() && d.reason() == jointNegative:
		return ErrCost
	}
	return ErrLimited
}
