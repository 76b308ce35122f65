package logline

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
	// ErrRange reports a time that an int64 of Unix nanoseconds does not reach.
	ErrRange = errors.New("outside the years 1677 to 2262")
	// ErrFine reports a fraction of which something would be lost.
	ErrFine = errors.New("finer than a nanosecond")
)

// Instant reads epoch seconds with an optional fraction, else RFC 3339. An error names the value.
func Instant(s []byte) (int64, error) {
	ns, isEpoch, err := Epoch(s)
	if !isEpoch {
		var plain bool
		if ns, plain = rfc3339(s); plain {
			return ns, nil
		}
		ns, err = Layout(time.RFC3339Nano, s)
		if err != nil && err != ErrRange && err != ErrFine {
			err = errors.New("neither epoch seconds nor RFC 3339")
		}
	}
	switch {
	case isEpoch && err == ErrRange:
		return 0, fmt.Errorf("time %s is %w (times are seconds)", Show(s), err)
	case err != nil:
		return 0, fmt.Errorf("time %s is %w", Show(s), err)
	}
	return ns, nil
}

// Epoch reads decimal seconds, [+-]digits[.digits], exactly. It does not take a bare point, an exponent or a separator of
// thousands: isEpoch is then false. The error is ErrRange or ErrFine.
func Epoch(s []byte) (ns int64, isEpoch bool, err error) { return epoch(s, fracDigits) }

// EpochIn is Epoch of a number that counts 10^-digits of a second: 3 for milliseconds, 6 for microseconds, 9 for
// nanoseconds.
func EpochIn(s []byte, digits int) (ns int64, isEpoch bool, err error) {
	return epoch(s, fracDigits-digits)
}

// epoch reads a number that counts 10^scale nanoseconds.
func epoch(s []byte, scale int) (ns int64, isEpoch bool, err error) {
	negative := bytes.HasPrefix(s, []byte("-"))
	if negative || bytes.HasPrefix(s, []byte("+")) {
		s = s[1:]
	}
	whole, frac := s, []byte(nil)
	if i := bytes.IndexByte(s, '.'); i >= 0 {
		if whole, frac = s[:i], s[i+1:]; !digits(frac) {
			return 0, false, nil
		}
	}
	if !digits(whole) {
		return 0, false, nil
	}
	whole = bytes.TrimLeft(whole, "0")
	if len(whole) > epochDigits+fracDigits-scale {
		return 0, true, ErrRange
	}
	if tooFine(frac, scale) {
		return 0, true, ErrFine
	}
	var n uint64 // at most 19 digits: below 1e19, which fits
	for _, c := range whole {
		n = n*10 + uint64(c-'0')
	}
	for i := range scale {
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
	return 0, true, ErrRange
}

// Layout reads a time by a layout of package time that names a zone. The error is ErrRange, ErrFine, or that of package
// time.
func Layout(layout string, s []byte) (int64, error) {
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
		if tooFine(frac, fracDigits) {
			return 0, ErrFine
		}
	}
	ns := t.UnixNano()
	if !time.Unix(0, ns).Equal(t) { // outside the range UnixNano is undefined, but it cannot come back as t
		return 0, ErrRange
	}
	return ns, nil
}

// tooFine reports whether digits behind the point hold more than the first most. Zeros do not.
func tooFine(frac []byte, most int) bool {
	return len(frac) > most && len(bytes.TrimLeft(frac[most:], "0")) > 0
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
