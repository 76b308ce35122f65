package redislimit

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir/gcra"
)

// terms are a limit in the numbers that the script decides with: a token takes
// m/d µs, exactly, and a time is a pair of whole µs and d-ths of one.
type terms struct {
	limit gcra.Limit
	m, d  uint64
	burst uint64
	step  int64 // µs; 0 is continuous, -1 a clock that stands still
	ticks int64 // of gcra, in a token
	fill  span  // of the whole burst
	id    string
	// What needs no server: a limit that grants all or nothing.
	trivial bool
}

// A span is a time of w + r/d µs.
type span struct{ w, r uint64 }

const (
	maxTerm = 1 << 52 // below it a sum of two is exact in a double
	maxTime = 1 << 50 // µs, 35 years: of a fill, a debt, a wait
	// The text of a limit that is none: it grants all, and pays all debt.
	boundless = "0:1:9007199254740991:0"
)

// newTerms works the numbers out. It fails for limits that do not fit.
func newTerms(l gcra.Limit) (*terms, error) {
	t := &terms{limit: l, burst: uint64(l.Capacity())}
	n, period := l.Rate()
	switch {
	case l == gcra.Unlimited():
		t.trivial, t.id = true, boundless
		return t, nil
	case l.Capacity() == 0:
		t.trivial, t.id = true, "1:1:0:-1"
		return t, nil
	case t.burst >= maxTerm:
		return nil, fmt.Errorf("redislimit: limit %v: the burst is not below 2^52", l)
	}
	return t, t.derive(n, period)
}

func (t *terms) derive(n int, period time.Duration) error {
	l := t.limit
	empty := l.Start(0)
	at := gcra.At(&empty, 0)
	t.ticks = (gcra.Fresh(&empty, at) - at.Tick) / int64(l.Capacity())
	step := stepOf(l)
	switch {
	case n == 0:
		t.m, t.d, t.step = 1, 1, -1
	case uint64(n) > maxTerm/1000:
		return fmt.Errorf("redislimit: limit %v: more than 2^52 / 1000 tokens per period", l)
	case step%time.Microsecond != 0:
		return fmt.Errorf("redislimit: limit %v: the step is no whole number of microseconds, in which Redis tells the time", l)
	default:
		g := gcd(uint64(period), 1000*uint64(n))
		t.m, t.d, t.step = uint64(period)/g, 1000*uint64(n)/g, int64(step/time.Microsecond)
	}
	if t.m >= maxTerm {
		return fmt.Errorf("redislimit: limit %v: the time of one token is no fraction of microseconds with numbers below 2^52", l)
	}
	var ok bool
	if t.fill, ok = t.time(t.burst); !ok {
		return fmt.Errorf("redislimit: limit %v: it fills in more than 35 years", l)
	}
	t.id = fmt.Sprintf("%d:%d:%d:%d", t.m, t.d, t.burst, t.step)
	return nil
}

// option returns what stands behind the word in a limit's text, or "".
func option(l gcra.Limit, name string) string {
	_, rest, _ := strings.Cut(l.String(), " "+name+" ")
	text, _, _ := strings.Cut(rest, " ")
	return text
}

// stepOf returns the step of a limit, 0 if it has none.
func stepOf(l gcra.Limit) time.Duration {
	text := option(l, "step")
	if text == "" {
		return 0
	}
	every, err := gcra.Parse("1/" + text) // which reads what it has written
	if err != nil {
		return 0
	}
	_, step := every.Rate()
	return step
}

// time returns the time that n tokens take. It is not ok above 35 years.
func (t *terms) time(n uint64) (s span, ok bool) {
	hi, lo := bits.Mul64(n, t.m)
	if hi >= t.d {
		return span{}, false
	}
	s.w, s.r = bits.Div64(hi, lo, t.d)
	return s, s.w <= maxTime
}

// texts are a span's numbers as the script reads them.
func (s span) texts() (w, r string) {
	return strconv.FormatUint(s.w, 10), strconv.FormatUint(s.r, 10)
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// missing is the time that a bucket lacks, in ticks of gcra, rounded up: t tokens
// and rho/m of one are t·k + ⌈rho·k/m⌉, which is t·k only if rho is 0 and never
// above (t+1)·k. So the whole tokens that are left are the same, and so is every
// decision on whole tokens; and where k is a multiple of m nothing is rounded.
func (t *terms) missing(s span) int64 {
	most := int64(t.burst)*t.ticks + (1 << 60) - 1
	hi, lo := bits.Mul64(s.w, t.d)
	lo, carry := bits.Add64(lo, s.r, 0)
	if hi += carry; hi >= t.m {
		return most
	}
	tokens, rest := bits.Div64(hi, lo, t.m)
	hi, lo = bits.Mul64(rest, uint64(t.ticks))
	lo, carry = bits.Add64(lo, t.m-1, 0)
	part, _ := bits.Div64(hi+carry, lo, t.m)
	hi, lo = bits.Mul64(tokens, uint64(t.ticks))
	lo, carry = bits.Add64(lo, part, 0)
	if hi+carry > 0 || lo > uint64(most) {
		return most
	}
	return int64(lo)
}

// before is a bucket that lacks so much, as gcra has it: its TAT and an instant,
// counted from a reading of its own, so that no time since 2025 has to fit. The
// instant lies off µs behind the last step.
func (t *terms) before(s span, off uint64) (tat int64, at gcra.Instant) {
	at = gcra.At(&t.limit, time.Duration(off)*time.Microsecond)
	return at.Tick + t.missing(s), at
}

// text is a span as the script reads it back.
func (s span) text() string {
	w, r := s.texts()
	return w + " " + r
}

func (s span) whole() string { return strconv.FormatUint(s.w, 10) }
