package advise

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A Rate is so many tokens per period.
type Rate struct {
	N      int64
	Period time.Duration
}

// ParseRates reads a list such as "10/s, 500/m".
func ParseRates(s string) ([]Rate, error) {
	var rates []Rate
	for word := range strings.SplitSeq(s, ",") {
		l, err := gcra.Parse(word)
		if err != nil {
			return nil, fmt.Errorf("rate %.60q: %s", word, strings.TrimPrefix(err.Error(), "gcra: "))
		}
		n, period := l.Rate()
		if n < 1 || l.Capacity() != 1 || l != gcra.Per(n, period) {
			return nil, fmt.Errorf("rate %.60q: want one or more tokens per period, and nothing after it", word)
		}
		rates = append(rates, Rate{int64(n), period})
	}
	slices.SortFunc(rates, Rate.compare)
	return slices.CompactFunc(rates, func(a, b Rate) bool { return a.compare(b) == 0 }), nil
}

func (r Rate) compare(s Rate) int {
	hi, lo := bits.Mul64(uint64(r.N), uint64(s.Period))
	hi2, lo2 := bits.Mul64(uint64(s.N), uint64(r.Period))
	return cmp.Or(cmp.Compare(hi, hi2), cmp.Compare(lo, lo2))
}

// String returns the rate as gcra.Parse reads it.
func (r Rate) String() string {
	text, _, _ := strings.Cut(r.limit(1).String(), " burst")
	return text
}

// limit is the limit of that rate and burst.
func (r Rate) limit(burst int64) gcra.Limit {
	return gcra.Per(int(r.N), r.Period).Burst(int(burst))
}

const mostRates = 24 // of a ladder

// ladder returns round rates from low to high, each at least 10 % above the one before it, and where they are not too many from
// 2/h on at most 34 % above it.
func ladder(low, high Rate) []Rate {
	var all []Rate
	add := func(n int64, period time.Duration, below int64) bool {
		if n >= below || n > math.MaxInt {
			return false
		}
		all = append(all, Rate{n, period})
		return true
	}
	for _, p := range []struct {
		period time.Duration
		below  int64 // from here on the next period has whole numbers, or no limit is that fast
		parts  int64 // of it in the period before, where 1.5 a period is a whole number
	}{{24 * time.Hour, 24, 0}, {time.Hour, 60, 24}, {time.Minute, 60, 60}, {time.Second, 64e9, 60}} {
		for ten := int64(1); ten < p.below; ten *= 10 {
			for _, m := range []int64{10, 12, 15, 20, 25, 30, 40, 50, 60, 80} {
				n := m * ten
				if more := n * p.parts; n%10 != 0 && more%10 == 0 && more > 0 {
					add(more/10, p.period*time.Duration(p.parts), math.MaxInt64)
				} else if n%10 == 0 && !add(n/10, p.period, p.below) {
					break
				}
			}
		}
	}
	from, _ := slices.BinarySearchFunc(all, low, Rate.compare)
	to, _ := slices.BinarySearchFunc(all, high, Rate.compare)
	from = min(from, len(all)-1)
	all = all[from:max(min(to+1, len(all)), from+1)]
	if len(all) <= mostRates {
		return all
	}
	thin := make([]Rate, mostRates)
	for i := range thin {
		thin[i] = all[i*(len(all)-1)/(mostRates-1)]
	}
	return thin
}

// A Share is a part of a whole, as a fraction.
type Share struct{ num, den uint64 }

// ParseShare reads "0.1%" or "0.001", at most all.
func ParseShare(s string) (Share, error) {
	text, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	whole, frac, _ := strings.Cut(text, ".")
	if len(whole) > 3 || len(frac) > 9 || whole == "" || strings.Trim(whole+frac, "0123456789") != "" {
		return Share{}, fmt.Errorf("share %.40q: want a part such as 0.1%% or 0.001", s)
	}
	f := Share{0, 1}
	for _, c := range whole {
		f.num = f.num*10 + uint64(c-'0')
	}
	for _, c := range frac {
		f.num, f.den = f.num*10+uint64(c-'0'), f.den*10
	}
	if percent {
		f.den *= 100
	}
	if f.num > f.den {
		return Share{}, errors.New("share " + s + " is more than all")
	}
	return f, nil
}

// of is the share of n, rounded down.
func (f Share) of(n int64) int64 {
	if f.den == 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n), f.num)
	q, _ := bits.Div64(hi, lo, f.den)
	return int64(q)
}

// String returns the share in percent.
func (f Share) String() string {
	if f.den == 0 {
		return "0%"
	}
	num, den := f.num*100, f.den
	text := fmt.Sprintf("%d", num/den)
	if num %= den; num > 0 {
		text += "."
		for ; num > 0; num %= den {
			num *= 10
			text += fmt.Sprint(num / den)
		}
	}
	return text + "%"
}
