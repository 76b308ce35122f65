package gcra

import (
	"math"
	"time"
)

// A joint decision is one of several limits together, made by [Both] and
// [Share]. It has no one TAT to work its numbers out from, so it holds them:
//
//	         tat         at          verdict
//	granted  Remaining   ResetAfter  jointGrant + Granted
//	refused  RetryAfter  ResetAfter  the reason − Remaining
//
// A refusal in a dry run has the complement of ResetAfter. What a verdict holds
// beside the grant is at most 2^61, and beside a reason 2^60. Of one limit's decisions only a grant under Unlimited looks the same,
// and that is told by its limit.
const (
	jointGrant    int64 = 1 << 62
	jointLimited  int64 = dryLow - 1
	jointExceeds  int64 = jointLimited - 5<<58
	jointNegative int64 = jointExceeds - 5<<58
)

func (d Decision) joint() bool {
	if d.verdict >= 0 {
		return d.verdict >= jointGrant && (d.limit == nil || d.limit.n >= 0)
	}
	return d.verdict < dryLow && d.verdict > negative
}

// reason returns why a joint decision was refused: one of the constants.
func (d Decision) reason() int64 {
	switch {
	case d.verdict > jointExceeds:
		return jointLimited
	case d.verdict > jointNegative:
		return jointExceeds
	}
	return jointNegative
}

// Cost returns n·times, for a limit that one request asks several times; at
// most math.MaxInt, and then fits is false. A negative cost stays as it is.
func Cost(n, times int) (cost int, fits bool) {
	switch {
	case n <= 0 || times == 1:
		return n, true
	case n > math.MaxInt/times:
		return math.MaxInt, false
	}
	return n * times, true
}

// Exceeds returns the decision on a cost that no int holds: refused with
// ErrExceedsBurst, unless the limit has no burst to exceed. D is its decision
// on the highest cost that there is.
func Exceeds(d Decision) Decision {
	if d.unbounded() {
		return d
	}
	over := d
	if over.verdict = exceeds; d.dry() {
		return over.DryRun()
	}
	return over
}

// Share returns a decision on times as many tokens as were asked for, the
// limit being asked several times by one request, as the decision on those:
// Remaining and Granted are divided.
func Share(d Decision, times int) Decision {
	if times == 1 || d.limit == nil || d.limit.n < 0 || d.dry() {
		return d
	}
	left := d.Remaining() / times
	if d.OK() {
		return passed(d, left, d.ResetAfter(), d.Granted()/times)
	}
	return refused(d, left, d.ResetAfter())
}

// Both returns what two limits decide together on one request. It passes if
// both did. Limit is the one that
//
//   - refused; if both did, the one whose RetryAfter is longer, which is when
//     both would pass; if that is the same, the one whose Err is not
//     ErrLimited;
//   - else, in a dry run, would have refused: the decision is then its own;
//   - else has the lesser Remaining;
//
// and the first where that leaves a choice. RetryAfter and Err go with it.
// Remaining and Granted are the lesser ones, ResetAfter the longer. These
// numbers are worked out at once, with divisions.
func Both(d, e Decision) Decision {
	named, left, right := d, d.Remaining(), e.Remaining()
	switch ok := d.OK(); {
	case ok != e.OK():
		if ok {
			named = e
		}
	case d.real() >= 0 && e.real() >= 0:
		if d.unbounded() || !e.unbounded() && right < left {
			named = e
		}
	case outlasts(e, d):
		named = e
	}
	if named.dry() || named.OK() && named.unbounded() {
		return named
	}
	left = min(left, right)
	reset := max(d.ResetAfter(), e.ResetAfter())
	if named.OK() {
		return passed(named, left, reset, min(d.Granted(), e.Granted()))
	}
	return refused(named, left, reset)
}

func (d Decision) unbounded() bool { return d.limit != nil && d.limit.n < 0 }

// outlasts reports whether e is to be named as the refusal rather than d.
func outlasts(e, d Decision) bool {
	switch a, b := e.RetryAfter(), d.RetryAfter(); {
	case a != b:
		return a > b
	case e.Err() == nil || d.Err() == nil:
		return d.Err() == nil
	default:
		return e.Err() != ErrLimited && d.Err() == ErrLimited
	}
}

// passed is the joint grant under the limit of d.
func passed(d Decision, left int, reset time.Duration, granted int) Decision {
	return Decision{d.limit, int64(left), reset, jointGrant + int64(granted)}
}

// refused is the joint refusal by the limit and for the reason of d.
func refused(d Decision, left int, reset time.Duration) Decision {
	why := jointLimited
	switch d.Err() {
	case ErrExceedsBurst:
		why = jointExceeds
	case ErrCost:
		why = jointNegative
	}
	// More is left only where there is no bucket.
	return Decision{d.limit, int64(d.RetryAfter()), reset, why - min(int64(left), maxSpan)}
}
