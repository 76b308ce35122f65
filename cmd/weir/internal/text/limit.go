package text

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/console"
	"github.com/weir-go/weir/internal/exact"
)

// GoCode is the limit as Go writes it, with package gcra.
func GoCode(l gcra.Limit) string {
	switch l {
	case gcra.Unlimited():
		return "gcra.Unlimited()"
	case gcra.Limit{}:
		return "gcra.Limit{}"
	}
	n, period := l.Rate()
	code := fmt.Sprintf("gcra.Per(%d, %s)", n, goDuration(period))
	for name, p := range map[string]time.Duration{"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour, "Day": 24 * time.Hour} {
		if period == p {
			code = fmt.Sprintf("gcra.Per%s(%d)", name, n)
		}
	}
	if l.Capacity() != 1 {
		code += fmt.Sprintf(".Burst(%d)", l.Capacity())
	}
	s, err := exact.SpecOf(l)
	if err != nil {
		return "" // of no limit
	}
	if s.Start != s.Burst {
		code += fmt.Sprintf(".Start(%d)", s.Start)
	}
	if s.Step > 0 {
		code += fmt.Sprintf(".InSteps(%s)", goDuration(s.Step))
	}
	return code
}

func goDuration(d time.Duration) string {
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"time.Hour", time.Hour}, {"time.Minute", time.Minute}, {"time.Second", time.Second}, {"time.Millisecond", time.Millisecond}, {"time.Microsecond", time.Microsecond}} {
		switch {
		case d == u.unit:
			return u.name
		case d%u.unit == 0:
			return fmt.Sprintf("%d*%s", d/u.unit, u.name)
		}
	}
	return strconv.FormatInt(int64(d), 10)
}

// Policy is the item of the field RateLimit-Policy for a limit of that name, as package httplimit writes it: the burst, and
// the seconds in which it refills. It is empty for Unlimited.
func Policy(l gcra.Limit, name string) string {
	if l == gcra.Unlimited() {
		return ""
	}
	const most = 999_999_999_999_999 // of an integer in a structured field
	item := fmt.Sprintf("%q;q=%d", name, min(int64(l.Capacity()), most))
	if fill := l.FillTime(); fill != gcra.Never && l.Capacity() > 0 {
		item += fmt.Sprintf(";w=%d", (fill-1)/time.Second+1)
	}
	return item
}

// An Explanation is what a limit means.
type Explanation struct {
	Limit    gcra.Limit    `json:"limit"`
	Words    string        `json:"words"`
	Interval time.Duration `json:"interval_ns"` // rounded up; MaxInt64 where nothing refills
	Fill     time.Duration `json:"fill_ns"`
	Within   []Window      `json:"within"`
	Exact    string        `json:"exact"`    // how clocks are read
	Range    time.Duration `json:"range_ns"` // after which nothing refills any more
	Go       string        `json:"go"`
	Policy   string        `json:"ratelimit_policy"`
}

// A Window is the most tokens in any window of a length.
type Window struct {
	Length time.Duration `json:"length_ns"`
	Tokens int64         `json:"tokens"`
}

// Explain says what a limit means.
func Explain(l gcra.Limit) (Explanation, error) {
	s, err := exact.SpecOf(l)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{
		Limit: l, Words: words(l, s), Interval: l.Interval(), Fill: l.FillTime(), Within: []Window{},
		Range: gcra.Never, Go: GoCode(l), Policy: Policy(l, "default"),
	}
	for _, w := range []time.Duration{0, time.Second, time.Minute, time.Hour, 24 * time.Hour} {
		e.Within = append(e.Within, Window{w, int64(l.Within(w))})
	}
	if s.Unlimited || s.N == 0 || s.Burst == 0 {
		e.Exact = "no clock matters"
		return e, nil
	}
	at := gcra.At(&l, 0)
	e.Range = gcra.Until(&l, gcra.At(&l, gcra.Never).Tick, at)
	next, _ := gcra.Take(&l, at.Tick, at, 1)
	e.Exact = reading(uint64(s.N), uint64(next-at.Tick), uint64(s.Period))
	return e, nil
}

// reading says how clocks are read, if n·ticks of the limit pass in a period.
func reading(n, ticks, period uint64) string {
	whole := func(unit uint64) bool {
		hi, lo := bits.Mul64(n*ticks, unit)
		return bits.Rem64(hi, lo, period) == 0
	}
	token := fmt.Sprintf("a token is %s ticks", console.Grouped(int64(ticks)))
	if ticks == 1 {
		token = "a token is one tick"
	}
	for _, u := range []struct {
		unit uint64
		name string
	}{{1, "nanoseconds"}, {1e3, "microseconds"}, {1e6, "milliseconds"}} {
		if whole(u.unit) {
			text := token + "; a clock of " + u.name + " is read exactly"
			if u.unit > 1 {
				text += ", a finer one rounded down to a tick; the rate is exact"
			}
			return text
		}
	}
	return token + "; readings are rounded down to a tick; the rate is exact"
}

func words(l gcra.Limit, s exact.Spec) string {
	switch {
	case s.Unlimited:
		return "Everything passes, except a negative cost."
	case s.Burst == 0:
		return "Nothing passes that costs a token or more."
	}
	tokens := func(n int64) string {
		if n == 1 {
			return "1 token"
		}
		return console.Grouped(n) + " tokens"
	}
	if s.N == 0 {
		text := tokens(s.Burst) + " once, and no more"
		if s.Start != s.Burst {
			text = tokens(s.Start) + " once, of at most " + tokens(s.Burst)
		}
		return text + ": nothing refills it but a reset."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s per %s, at most %s at once.", tokens(s.N), span(s.Period), console.Grouped(s.Burst))
	if s.Step > 0 {
		fmt.Fprintf(&b, " They arrive in lumps, at multiples of %s.", span(s.Step))
	}
	switch s.Start {
	case s.Burst:
	case 0:
		b.WriteString(" A key that is there from the start has none.")
	default:
		fmt.Fprintf(&b, " A key that is there from the start has %s.", console.Grouped(s.Start))
	}
	return b.String()
}

// span is a duration without the units that are zero.
func span(d time.Duration) string {
	switch d {
	case time.Second:
		return "second"
	case time.Minute:
		return "minute"
	case time.Hour:
		return "hour"
	case 24 * time.Hour:
		return "day"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// wait is a duration, or "never".
func wait(d time.Duration) string {
	if d == gcra.Never {
		return "never"
	}
	return d.String()
}
