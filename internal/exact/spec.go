package exact

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A Spec is what a limit is made of, read from its text: a limit does not tell its start and its step, and what checks it
// takes nothing else from it.
type Spec struct {
	N, Burst, Start int64
	Period, Step    time.Duration // step 0: continuous
	Unlimited       bool
}

// SpecOf reads the text of the limit.
func SpecOf(l gcra.Limit) (Spec, error) {
	text := l.String()
	switch text {
	case "unlimited":
		return Spec{Unlimited: true}, nil
	case "none":
		return Spec{Period: time.Second}, nil
	}
	s := Spec{Start: -1}
	words := strings.Fields(text)
	count, period, _ := strings.Cut(words[0], "/")
	err := firstError(number(count, &s.N), span(period, &s.Period))
	for i := 1; i+1 < len(words); i += 2 {
		switch value := words[i+1]; words[i] {
		case "burst":
			err = firstError(err, number(value, &s.Burst))
		case "start":
			err = firstError(err, number(value, &s.Start))
		case "step":
			err = firstError(err, span(value, &s.Step))
		default:
			err = firstError(err, fmt.Errorf("unknown word %q", words[i]))
		}
	}
	if err != nil || s.Burst < 1 {
		return s, fmt.Errorf("cannot read the limit's text %q: %w", text, err)
	}
	if s.Start < 0 {
		s.Start = s.Burst
	}
	return s, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func number(text string, n *int64) (err error) {
	*n, err = strconv.ParseInt(text, 10, 64)
	return err
}

func span(text string, d *time.Duration) (err error) {
	if strings.Trim(text[:1], "0123456789") != "" {
		text = "1" + text // a unit alone
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int64
		err = number(days, &n)
		*d = time.Duration(n) * 24 * time.Hour
		return err
	}
	*d, err = time.ParseDuration(text)
	return err
}

func num(v int64) *big.Int { return big.NewInt(v) }

func times(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }

// over is ⌊a/b⌋ for numbers that are not negative.
func over(a, b *big.Int) *big.Int { return new(big.Int).Quo(a, b) }

// overUp is ⌈a/b⌉ for numbers that are not negative.
func overUp(a, b *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	if r.Sign() > 0 {
		q.Add(q, num(1))
	}
	return q
}

func atMost(a, b *big.Int) *big.Int {
	if a.Cmp(b) > 0 {
		return b
	}
	return a
}

func clip(a *big.Int) int64 {
	if !a.IsInt64() {
		return math.MaxInt64
	}
	return a.Int64()
}

// grain is rule 1: the ticks of a token, and whether clock readings are whole numbers of ticks.
func (s Spec) grain() (k *big.Int, exact bool) {
	if s.N == 0 || s.Burst == 0 {
		return num(1), true
	}
	n, p := num(s.N), num(int64(s.Period))
	whole := func(v *big.Int) *big.Int { return over(p, new(big.Int).GCD(nil, nil, v, p)) } // P/gcd(v, P)
	room := over(num(1<<60), num(s.Burst))
	q := over(n, new(big.Int).GCD(nil, nil, n, p))
	if k = whole(n); q.Cmp(num(32)) <= 0 && k.Cmp(room) <= 0 {
		return k, true
	}
	k = atMost(over(times(num(32), p), n), room)
	if k.Sign() == 0 {
		k = num(1)
	}
	for _, unit := range []int64{1e3, 1e6} { // a microsecond, a millisecond
		if u := whole(times(n, num(unit))); u.Cmp(k) <= 0 {
			return times(over(k, u), u), false
		}
	}
	return k, false
}

// Refill returns the tokens that come in within any window of length w: at least low and at most high.
func (s Spec) Refill(w time.Duration) (low, high int64) {
	w = max(w, 0)
	tokens := func(w *big.Int) int64 { return clip(over(times(w, num(s.N)), num(int64(s.Period)))) }
	if s.Step > 0 {
		steps := over(num(int64(w)), num(int64(s.Step)))
		low = tokens(times(steps, num(int64(s.Step))))
		return low, tokens(times(steps.Add(steps, num(1)), num(int64(s.Step))))
	}
	low = tokens(num(int64(w)))
	high = low
	if _, exact := s.grain(); !exact && high < math.MaxInt64 {
		high++ // both ends of the window are rounded to ticks, and a tick is at most a token
	}
	return low, high
}
