package gcra_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

const year = 365 * day

// The rates of the table in docs/numbers.md. The bucket holds what comes in
// fill, so that a year takes about 20 000 requests.
var yearly = []struct {
	spec
	fill time.Duration
	why  string
}{
	{per(1, day, 0), 1000 * day, "the slowest that people use"},
	{per(7, time.Minute, 0), time.Hour, "an interval that is no whole number of ns"},
	{per(99, sec, 0), time.Hour, "nor this"},
	{per(1_500_000, sec, 0), time.Hour, "666.67 ns"},
	{per(3e8, sec, 0), time.Hour, "3.33 ns"},
	{per(7e8, sec, 0), time.Hour, "1.43 ns"},
	{per(999_999_937, sec, 0), time.Hour, "a prime: no clock reads it exactly"},
	{per(10, 1, 0), time.Hour, "10 GB/s in bytes, 0.1 ns"},
}

// A drinker takes all whole tokens that are there and says how many.
type drinker interface{ drink(now time.Duration) int64 }

type exactly struct {
	key
	err error
}

func (d *exactly) drink(now time.Duration) int64 {
	got := d.ask(now, takeUpTo, d.limit.Capacity())
	if got.Remaining() != 0 || d.ask(now, take, 1).OK() {
		d.err = fmt.Errorf("at %d ns tokens are left", now)
	}
	return int64(got.Granted())
}

// excess drinks until then, the first time emptying the bucket, and returns
// what came after that less n·elapsed/period, in parts of 1/period of a token:
// the most, the least and the last.
func excess(s spec, until time.Duration, d drinker, next func() time.Duration) (most, least, last *big.Int) {
	most, least, last = new(big.Int), new(big.Int), new(big.Int)
	now := next()
	d.drink(now)
	for now < until {
		step := next()
		now += step
		got := num(d.drink(now))
		refill := num(int64(step))
		last = got.Mul(got, num(int64(s.period))).Sub(got, refill.Mul(refill, num(s.n))).Add(got, last)
		if last.Cmp(most) > 0 {
			most = last
		}
		if last.Cmp(least) < 0 {
			least = last
		}
	}
	return most, least, last
}

// instants returns steps of a clock of the given unit, below 7/8 of fill.
func instants(fill, unit time.Duration, regular bool) func() time.Duration {
	rng := rand.New(rand.NewPCG(13, 14))
	return func() time.Duration {
		if regular {
			return fill / 2
		}
		return (time.Duration(1+rng.Int64N(int64(fill/8*7))) + unit).Truncate(unit)
	}
}

// TestYear checks at every instant of a year that no rate has lost a whole
// token, and that the excess is below one.
func TestYear(t *testing.T) {
	for _, y := range yearly {
		s, fill, until := y.spec, y.fill, time.Duration(year)
		if s.period == day {
			until = 100 * year // some 270 requests
		}
		s.burst = int64(float64(s.n) * (float64(fill) / float64(s.period)))
		if !s.fits() { // where an int has 32 bits: as far as 100 000 requests go
			s.burst = math.MaxInt32
			fill = time.Duration(float64(s.burst) / float64(s.n) * float64(s.period))
			until = min(until, fill/2*100_000)
			t.Logf("%d/%v: %v instead of a year", s.n, s.period, until)
		}
		for _, unit := range []time.Duration{time.Nanosecond, time.Microsecond, time.Millisecond, 0} {
			d := &exactly{key: *newKey(s.limit(), 0)}
			most, least, _ := excess(s, until, d, instants(fill, max(unit, 1), unit == 0))
			token := num(int64(s.period))
			if d.err != nil || most.Cmp(token) >= 0 || least.CmpAbs(token) >= 0 {
				t.Errorf("%v on a clock of %v: between %d and %d parts of %d of a token too many; %v (%s)",
					&d.limit, unit, least, most, token, d.err, y.why)
			}
		}
	}
}

// A whole is the usual GCRA with its interval in whole nanoseconds.
type whole struct {
	interval, burst, tat int64
}

func (w *whole) drink(now time.Duration) int64 {
	if w.interval == 0 {
		return w.burst // no limit at all
	}
	base := max(w.tat, int64(now))
	n := (int64(now) + w.burst*w.interval - base) / w.interval
	w.tat = base + n*w.interval
	return n
}

// A floating bucket keeps its balance in a float64, as golang.org/x/time/rate.
type floating struct {
	perSecond, burst, tokens float64
	at                       time.Duration
}

func (f *floating) drink(now time.Duration) int64 {
	gained := float64((now - f.at).Seconds() * f.perSecond) // conversions keep it from being fused
	f.tokens, f.at = min(float64(f.tokens+gained), f.burst), now
	n := math.Floor(f.tokens)
	f.tokens -= n
	return int64(n)
}

// A unixed bucket keeps its TAT in float64 seconds since 1970, as GCRA scripts
// in Redis do.
type unixed struct{ interval, burst, tat float64 }

func (u *unixed) drink(now time.Duration) int64 {
	at := 1.75e9 + now.Seconds()
	base := max(u.tat, at)
	n := math.Floor(float64(at+float64(u.burst*u.interval)-base) / u.interval)
	u.tat = base + float64(n*u.interval)
	return int64(n)
}

// TestYearTable writes the table of docs/numbers.md (go test ./gcra -run
// TestYearTable -v): how other arithmetic does on the same rates. That it does
// worse is no claim of this package, but that the first column is 0 is.
func TestYearTable(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("the bursts of the table need an int of 64 bits")
	}
	var table strings.Builder
	fmt.Fprintln(&table, "| rate | exact | weir | float64 balance | float64 TAT, Unix s | interval in whole ns |")
	fmt.Fprintln(&table, "|---|--:|--:|--:|--:|--:|")
	for _, y := range yearly {
		s := y.spec
		fill := min(y.fill, 30*day)
		s.burst = int64(float64(s.n) * (float64(fill) / float64(s.period)))
		seconds := s.period.Seconds()
		exact := new(big.Int).Mul(num(s.n), num(int64(year)))
		exact.Quo(exact, num(int64(s.period)))
		rate, _, _ := strings.Cut(s.limit().String(), " ")
		fmt.Fprintf(&table, "| %s | %d |", rate, exact)
		interval := int64(s.period) / s.n
		for i, d := range []drinker{
			&exactly{key: *newKey(s.limit(), 0)},
			&floating{perSecond: float64(s.n) / seconds, burst: float64(s.burst), tokens: float64(s.burst)},
			&unixed{interval: seconds / float64(s.n), burst: float64(s.burst)},
			&whole{interval: interval, burst: s.burst},
		} {
			steps := instants(fill, time.Millisecond, false)
			_, _, last := excess(s, year, d, steps)
			if i == 3 && interval == 0 {
				fmt.Fprint(&table, " no limit |")
				continue
			}
			last = ceil(last, num(int64(s.period)))
			if i == 0 && last.Sign() != 0 {
				t.Errorf("%+v: off by %d tokens", s, last)
			}
			fmt.Fprintf(&table, " %+d |", last)
		}
		fmt.Fprintln(&table)
	}
	t.Logf("\n%s", &table)
}
