package trace

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	epochDigits = 10 // of the seconds: more than that are past the year 2262
	fracDigits  = 9  // of the fraction: nanoseconds
)

var (
	errRange = errors.New("outside the years 1677 to 2262 (times are seconds)")
	errFine  = errors.New("finer than a nanosecond")
)

// parseInstant reads the time of a CSV record: epoch seconds, else RFC 3339.
func parseInstant(s []byte) (int64, error) {
	ns, isEpoch, err := parseEpoch(s)
	if !isEpoch {
		ns, err = parseLayout(time.RFC3339Nano, s)
		if err != nil && err != errRange && err != errFine {
			err = errors.New("neither epoch seconds nor RFC 3339")
		}
	}
	if err != nil {
		return 0, fmt.Errorf("time %s is %w", show(s), err)
	}
	return ns, nil
}

// parseEpoch reads decimal seconds, [+-]digits[.digits], exactly. It does not take a bare point, an exponent or a separator
// of thousands: isEpoch is then false.
func parseEpoch(s []byte) (ns int64, isEpoch bool, err error) {
	negative := bytes.HasPrefix(s, []byte("-"))
	if negative || bytes.HasPrefix(s, []byte("+")) {
		s = s[1:]
	}
	whole, frac, point := bytes.Cut(s, []byte("."))
	if !digits(whole) || point && !digits(frac) {
		return 0, false, nil
	}
	whole = bytes.TrimLeft(whole, "0")
	if len(whole) > epochDigits {
		return 0, true, errRange
	}
	if tooFine(frac) {
		return 0, true, errFine
	}
	var n uint64 // at most 10 + 9 digits: below 1e19, which fits
	for _, c := range whole {
		n = n*10 + uint64(c-'0')
	}
	for i := range fracDigits {
		n *= 10
		if i < len(frac) {
			n += uint64(frac[i] - '0')
		}
	}
	switch {
	case negative && n <= -math.MinInt64:
		return -int64(n), true, nil // of 1<<63 too: both conversions wrap to MinInt64
	case !negative && n <= math.MaxInt64:
		return int64(n), true, nil
	}
	return 0, true, errRange
}

// parseLayout reads a time by a layout of package time that names a zone.
func parseLayout(layout string, s []byte) (int64, error) {
	t, err := time.Parse(layout, string(s))
	if err != nil {
		return 0, err
	}
	// Parse takes a fraction wherever there are seconds, and cuts it at nanoseconds without a word.
	if i := bytes.IndexAny(s, ".,"); i >= 0 {
		frac := s[i+1:]
		if n := bytes.IndexFunc(frac, func(r rune) bool { return r < '0' || r > '9' }); n >= 0 {
			frac = frac[:n]
		}
		if tooFine(frac) {
			return 0, errFine
		}
	}
	ns := t.UnixNano()
	if !time.Unix(0, ns).Equal(t) { // outside the range UnixNano is undefined, but it cannot come back as t
		return 0, errRange
	}
	return ns, nil
}

// tooFine reports whether digits behind the point hold more than nanoseconds. Zeros do not.
func tooFine(frac []byte) bool {
	return len(frac) > fracDigits && len(bytes.TrimLeft(frac[fracDigits:], "0")) > 0
}

// digits reports whether s is one decimal digit or more, and nothing else.
func digits(s []byte) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) > 0
}
