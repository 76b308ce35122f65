package httplimit

import (
	"math"
	"math/bits"
	"net/http"
	"strconv"
	"time"

	"github.com/weir-go/weir/gcra"
)

// Fields in the form in which a Header keeps them.
const (
	rateLimit       = "Ratelimit"
	rateLimitPolicy = "Ratelimit-Policy"
	retryAfter      = "Retry-After"
)

// most is the largest integer of a structured field: 15 digits.
const most = 999_999_999_999_999

// never stands for a number of seconds that there is not.
const never = -1

// tell adds the fields of one decision to a response.
func (m *middleware) tell(h http.Header, d gcra.Decision) {
	limit := d.Limit()
	// Both fields' values are in one string, and that in one slice.
	var buf [256]byte
	b := m.policies.advertise(buf[:0], &limit)
	policies := len(b)
	p := m.policies.of(&limit)
	if p != nil && limit != gcra.Unlimited() {
		r, t := available(d, &limit)
		b = append(b, p.quoted...)
		b = strconv.AppendInt(append(b, ";r="...), r, 10)
		if t != never {
			b = strconv.AppendInt(append(b, ";t="...), t, 10)
		}
	}
	if !d.OK() {
		// Those of limits around this one, which granted: their windows may
		// reach beyond this one's Retry-After, and that must not be.
		delete(h, rateLimit)
	}
	text, texts := string(b), make([]string, 2)
	if policies > 0 {
		texts[0] = text[:policies]
		h[rateLimitPolicy] = add(h[rateLimitPolicy], texts[0:1:1])
	}
	if policies < len(text) {
		texts[1] = text[policies:]
		h[rateLimit] = add(h[rateLimit], texts[1:2:2])
	}
	if m.older {
		m.tellOlder(h, d, &limit)
	}
}

// add puts a line after those that are there.
func add(there, line []string) []string {
	if len(there) == 0 {
		return line
	}
	return append(there[:len(there):len(there)], line...)
}

// available returns the parameters r, in whole tokens, and t, in whole seconds,
// of a decision: r/t is at most the limit's rate, and t is no later than what
// Retry-After says.
func available(d gcra.Decision, l *gcra.Limit) (r, t int64) {
	r = min(int64(d.Remaining()), most)
	n, period := l.Rate()
	if n == 0 {
		return r, never
	}
	if wait := d.RetryAfter(); wait > 0 && wait != gcra.Never {
		// Refused: the window is the wait. A request that asked for much is told
		// of no more tokens than come in that time, although there may be more.
		t = seconds(wait)
		return min(r, within(t, n, period)), t
	}
	if r > 0 {
		// The time in which the limit lets r through at its rate.
		ns := clip(mulDiv(uint64(r), uint64(period), uint64(n), uint64(n)-1))
		t = seconds(time.Duration(ns))
		if ns == math.MaxInt64 { // or longer
			r = min(r, within(t, n, period))
		}
		return r, t
	}
	// Until the next token, which after a grant is an interval away at most.
	full := d.ResetAfter()
	if full == gcra.Never { // or in centuries
		return r, never
	}
	rest := clip(mulDiv(uint64(l.Capacity()-1), uint64(period), uint64(n), 0))
	return r, seconds(min(l.Interval(), full-time.Duration(rest)))
}

// within returns the whole tokens that come in t seconds.
func within(t int64, n int, period time.Duration) int64 {
	return clip(mulDiv(uint64(t)*uint64(time.Second), uint64(n), uint64(period), 0))
}

// seconds returns a wait in whole seconds, rounded up and at least 1.
func seconds(d time.Duration) int64 {
	return max(1, int64((d-1)/time.Second)+1)
}

// mulDiv returns ⌊(a·b + up)/c⌋ in 128 bits, at most the largest uint64.
func mulDiv(a, b, c, up uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, up, 0)
	if hi += carry; hi >= c {
		return math.MaxUint64
	}
	q, _ := bits.Div64(hi, lo, c)
	return q
}

func clip(u uint64) int64 { return int64(min(u, math.MaxInt64)) }

// tellOlder sets the fields that were never specified.
func (m *middleware) tellOlder(h http.Header, d gcra.Decision, l *gcra.Limit) {
	if *l == gcra.Unlimited() {
		return
	}
	h["X-Ratelimit-Limit"] = []string{strconv.Itoa(l.Capacity())}
	h["X-Ratelimit-Remaining"] = []string{strconv.Itoa(d.Remaining())}
	full := d.ResetAfter()
	if full == gcra.Never {
		delete(h, "X-Ratelimit-Reset") // one from outside would be about another limit
		return
	}
	reset := int64(0) // a full bucket is full now
	if full > 0 {
		reset = seconds(full)
	}
	if m.wall != nil {
		at := m.wall()
		reset = at.Unix() + int64(full/time.Second)
		// The fractions of both make up to two seconds.
		if rest := time.Duration(at.Nanosecond()) + full%time.Second; rest > 0 {
			reset += int64((rest-1)/time.Second) + 1
		}
	}
	h["X-Ratelimit-Reset"] = []string{strconv.FormatInt(reset, 10)}
}
