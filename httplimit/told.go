package httplimit

import (
	"math"
	"net/http"
	"strings"
	"time"
)

// pauseOf returns how long the header of a refusal asks to stay away: 0 if it
// does not tell.
//
// Servers tell of their limits in all responses, so that a 503 may be one that
// had nothing to do with them: what has something left is then no reason to stay
// away.
func pauseOf(status int, h http.Header, now time.Time) time.Duration {
	limited := status == http.StatusTooManyRequests
	// What counts from a point in time is measured on the server's clock.
	server := now
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		server = date
	}
	if d, ok := afterOf(h.Get(retryAfter), server); ok {
		return d
	}
	if d, ok := windowOf(h, limited); ok {
		return d
	}
	for _, name := range [...]struct{ reset, left string }{
		{"Ratelimit-Reset", "Ratelimit-Remaining"},
		{"X-Ratelimit-Reset", "X-Ratelimit-Remaining"},
		{"X-Rate-Limit-Reset", "X-Rate-Limit-Remaining"},
		{"X-Ratelimit-Reset-After", "X-Ratelimit-Remaining"},
	} {
		d, ok := resetOf(h.Get(name.reset), server)
		left, _, told := number(strings.Trim(h.Get(name.left), " \t"), false)
		if ok && (limited || !told || left == 0) {
			return d
		}
	}
	return 0
}

// afterOf reads Retry-After: whole seconds, or a date.
func afterOf(text string, server time.Time) (time.Duration, bool) {
	text = strings.Trim(text, " \t")
	if whole, _, ok := number(text, false); ok {
		return span(whole, 0), true
	}
	date, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	return max(date.Sub(server), 0), true
}

// resetOf reads a field that was never specified: seconds from now, or a Unix
// time in seconds or milliseconds, each perhaps with a fraction.
func resetOf(text string, server time.Time) (time.Duration, bool) {
	whole, fraction, ok := number(strings.Trim(text, " \t"), true)
	switch {
	case !ok:
		return 0, false
	case whole < 1e9: // 31 years
		return span(whole, fraction), true
	case whole < 1e12:
		return max(time.Unix(whole, int64(fraction)).Sub(server), 0), true
	}
	return max(time.UnixMilli(min(whole, 1e15)).Sub(server), 0), true
}

// number reads decimal digits and, if it may, a fraction in nanoseconds.
// What is too large is cut off at a large number.
func number(text string, fractions bool) (whole int64, fraction time.Duration, ok bool) {
	digits, rest, dotted := text, "", false
	if fractions {
		digits, rest, dotted = strings.Cut(text, ".")
	}
	if digits == "" || dotted && rest == "" {
		return 0, 0, false
	}
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, 0, false
		}
		whole = min(whole*10+int64(c-'0'), math.MaxInt64/100)
	}
	unit := time.Second
	for _, c := range []byte(rest) {
		if c < '0' || c > '9' {
			return 0, 0, false
		}
		unit /= 10
		fraction += time.Duration(c-'0') * unit
	}
	return whole, fraction, true
}

// span returns a number of seconds as a time, at most the longest.
func span(whole int64, fraction time.Duration) time.Duration {
	if whole >= math.MaxInt64/int64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(whole)*time.Second + fraction
}

// longestField is the number of bytes from which on RateLimit is not looked at:
// room for hundreds of policies.
const longestField = 8 << 10

// windowOf reads RateLimit. A malformed field is ignored, and so is one that a
// cache has kept. If all items have something left, the shortest window counts
// only for who was limited.
func windowOf(h http.Header, limited bool) (time.Duration, bool) {
	if age, _, ok := number(h.Get("Age"), false); ok && age > 0 {
		return 0, false
	}
	// To read a field takes many times its length in memory, and the server may
	// be anybody's.
	length := 0
	for _, line := range h[rateLimit] {
		length += len(line)
	}
	if length > longestField {
		return 0, false
	}
	items, ok := parseList(strings.Join(h[rateLimit], ","))
	if !ok {
		return 0, false
	}
	longest, shortest := int64(-1), int64(math.MaxInt64)
	for _, it := range items {
		r, okR := it.params["r"].(int64)
		t, okT := it.params["t"].(int64)
		if _, named := it.value.(string); !named || !okR || !okT || r < 0 || t < 0 {
			continue
		}
		if r == 0 {
			longest = max(longest, t)
		}
		shortest = min(shortest, t)
	}
	switch {
	case longest >= 0:
		return span(longest, 0), true
	case limited && shortest < math.MaxInt64:
		return span(shortest, 0), true
	}
	return 0, false
}
