package gcra

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Parse reads a limit as [Limit.String] writes it:
//
//	100/s burst 20
//	5000/h
//	6/3s burst 10 step 3s start 0
//	0/s burst 100
//	unlimited
//	none
//
// that is a rate and then, in any order, burst (1 if absent), start (full) and
// step (continuous). The period, like the step, is a unit (ns, us or µs, ms,
// s, m, h, d), a number of days, or a time.Duration's text. An error names
// what is wrong and at which byte of the text.
func Parse(s string) (Limit, error) {
	words := split(s)
	if len(words) == 0 {
		return Limit{}, fmt.Errorf("gcra: limit %.80q is empty: want a text such as \"100/s burst 20\"", s)
	}
	first := words[0]
	var l Limit
	var err error
	switch first.text {
	case "unlimited":
		l, words = Unlimited(), words[1:]
	case "none":
		words = words[1:]
	default:
		if l, err = parseRate(first.text); err != nil {
			return Limit{}, at(s, first, err)
		}
		if words, err = parseOptions(&l, s, words[1:]); err != nil {
			return Limit{}, err
		}
		l = l.derive()
	}
	if len(words) > 0 {
		return Limit{}, at(s, words[0], fmt.Errorf("%q takes nothing after it", first.text))
	}
	return l, nil
}

type word struct {
	text string
	at   int
}

func split(s string) []word {
	var words []word
	rest, pos := s, 0
	for text := range strings.FieldsSeq(s) {
		i := strings.Index(rest, text)
		words = append(words, word{text, pos + i})
		pos += i + len(text)
		rest = s[pos:]
	}
	return words
}

func at(s string, w word, err error) error {
	return fmt.Errorf("gcra: limit %.80q, %.40q at byte %d: %w", s, w.text, w.at, err)
}

func parseRate(text string) (Limit, error) {
	count, period, found := strings.Cut(text, "/")
	if !found {
		return Limit{}, errors.New("want a rate such as 100/s, unlimited or none")
	}
	n, err := parseCount("rate", count)
	if err != nil {
		return Limit{}, err
	}
	d, err := parseSpan("period", period)
	if err != nil {
		return Limit{}, err
	}
	l := Limit{n: n, period: d, burst: 1}
	return l, l.checkRate()
}

// parseOptions reads "burst 20", "step 3s" and "start 0" into l, each once.
// Their order is free, so they are checked against each other at the end.
func parseOptions(l *Limit, s string, words []word) ([]word, error) {
	seen := make(map[string]word, 3)
	start := int64(-1)
	for len(words) > 0 {
		name := words[0]
		switch name.text {
		case "burst", "start", "step":
		default:
			return nil, at(s, name, errors.New("want burst, start or step"))
		}
		if _, twice := seen[name.text]; twice {
			return nil, at(s, name, errors.New("is given twice"))
		}
		if len(words) == 1 {
			return nil, at(s, name, errors.New("has no value after it"))
		}
		value := words[1]
		seen[name.text] = value
		var err error
		switch name.text {
		case "step":
			if l.step, err = parseSpan("step", value.text); err == nil {
				err = l.checkStep()
			}
		case "burst":
			l.burst, err = parseCount("burst", value.text)
		case "start":
			start, err = parseCount("start", value.text)
		}
		if err != nil {
			return nil, at(s, value, err)
		}
		words = words[2:]
	}
	if err := l.checkBurst(); err != nil {
		return nil, at(s, seen["burst"], err)
	}
	if start >= 0 {
		if err := l.checkStart(start); err != nil {
			return nil, at(s, seen["start"], err)
		}
		l.start = start + 1
	}
	return nil, nil
}

func parseCount(what, text string) (int64, error) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, fmt.Errorf("%s %.40q is not a whole number", what, text)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s %.40q is beyond an int of %d bits", what, text, strconv.IntSize)
	}
	return int64(n), nil
}

var units = [...]struct {
	name string
	span time.Duration
}{
	{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour},
	{"ms", time.Millisecond}, {"µs", time.Microsecond}, {"us", time.Microsecond},
	{"μs", time.Microsecond}, {"ns", time.Nanosecond},
}

func parseSpan(what, text string) (time.Duration, error) {
	for _, u := range units {
		if text == u.name {
			return u.span, nil
		}
	}
	if days, found := strings.CutSuffix(text, "d"); found && strings.Trim(days, "0123456789") == "" {
		n, err := strconv.ParseInt(days, 10, 64)
		if err != nil || n > int64(Never/(24*time.Hour)) {
			return 0, fmt.Errorf("%s %.40q is beyond a time.Duration", what, text)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s %.40q is not s, m, h, d, ms, us, ns or a duration such as 1m30s", what, text)
	}
	return d, nil
}

// String returns the limit's text, which Parse reads back to an equal Limit.
func (l Limit) String() string { return string(l.append(nil)) }

func (l Limit) append(b []byte) []byte {
	switch {
	case l.unlimited():
		return append(b, "unlimited"...)
	case l.period == 0:
		return append(b, "none"...)
	}
	b = strconv.AppendInt(b, l.n, 10)
	b = append(b, '/')
	b = append(b, periodText(l.period)...)
	b = append(b, " burst "...)
	b = strconv.AppendInt(b, l.burst, 10)
	if l.step > 0 {
		b = append(b, " step "...)
		b = append(b, spanText(l.step)...)
	}
	if l.start > 0 {
		b = append(b, " start "...)
		b = strconv.AppendInt(b, l.start-1, 10)
	}
	return b
}

func periodText(d time.Duration) string {
	for _, u := range units {
		if d == u.span {
			return u.name
		}
	}
	return spanText(d)
}

// spanText is d.String() without the units that are zero: 1h, not 1h0m0s.
func spanText(d time.Duration) string {
	if day := 24 * time.Hour; d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
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

// MarshalText returns the text of String, so that a Limit can stand in JSON
// and YAML and be a flag (flag.TextVar).
func (l Limit) MarshalText() ([]byte, error) { return l.append(nil), nil }

// UnmarshalText sets the limit to what Parse reads; after an error it is as
// before.
func (l *Limit) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*l = parsed
	return nil
}
