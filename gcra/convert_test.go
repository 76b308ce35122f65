package gcra_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A change is one call of Convert: a TAT, two limits, and the instant in
// nanoseconds that each of them reads.
type change struct {
	tat      int64
	from, to spec
	at, then time.Duration
}

// convert does the call and says what is wrong with its result: it is the
// least tick at which the new bucket lacks no fewer tokens than the old one,
// or than its burst leaves it.
func (c change) convert() (int64, error) {
	from, to := c.from.limit(), c.to.limit()
	old, next := gcra.At(&from, c.at), gcra.At(&to, c.then)
	got := gcra.Convert(c.tat, &from, old, &to, next)

	if c.to.period == -1 { // Unlimited lacks nothing
		if got != next.Tick {
			return got, fmt.Errorf("TAT %d, want the instant %d", got, next.Tick)
		}
		return got, nil
	}
	before, kTo, burst := c.from.missing(c.tat, old.Tick), c.to.perToken(), c.to.tokens()
	lacks := new(big.Rat)
	if before != nil {
		lacks.Sub(burst, new(big.Rat).Sub(c.from.tokens(), before)) // B' less the tokens before
	}
	if lacks.Sign() < 0 {
		lacks.SetInt64(0)
	}
	ticks := lacks.Mul(lacks, new(big.Rat).SetInt(kTo))
	want := new(big.Int).Add(num(next.Tick), ceil(ticks.Num(), ticks.Denom()))
	span := new(big.Int).Mul(burst.Num(), kTo)
	if last := span.Sub(num(math.MaxInt64), span); want.Cmp(last) > 0 {
		want = last
	}
	if want.Cmp(num(got)) != 0 {
		return got, fmt.Errorf("TAT %d, want %d", got, want)
	}
	return got, nil
}

// missing is how many tokens a bucket lacks of its burst; nil for Unlimited,
// which has more than any.
func (s spec) missing(tat, tick int64) *big.Rat {
	if s.period == -1 {
		return nil
	}
	behind := new(big.Int).Sub(num(tat), num(tick))
	if behind.Sign() < 0 {
		behind = new(big.Int)
	}
	return new(big.Rat).SetFrac(behind, s.perToken())
}

// perToken is the ticks in a token; the zero Limit counts whole tokens.
func (s spec) perToken() *big.Int {
	if s.period == 0 {
		return one
	}
	return newModel(s).k
}

func (s spec) tokens() *big.Rat {
	if s.period == 0 {
		return new(big.Rat)
	}
	return new(big.Rat).SetInt64(s.burst)
}

// specs are all that a limit can be, extremes first.
func specs(rng *rand.Rand) []spec {
	list := []spec{
		{}, {period: -1}, per(0, sec, 1), per(0, sec, 1000), per(0, 1<<58, 1<<60),
		per(64, 1, 1<<60), per(64, 1, 1), per(1, 1<<58, 1<<60), per(1, 1<<58, 1), per(1, 1, 1<<60),
		per(1, sec, 1), per(1, sec, 10), per(100, sec, 10), per(3, sec, 5), per(99, sec, 99), per(999_999_937, sec, 7),
		{6, 3 * sec, 10, full, 3 * sec}, {1, day, 1e9, 0, 3600 * sec}, {99, sec, 1e9, full, 1},
	}
	for range 12 {
		s := per(rng.Int64()>>rng.IntN(63), time.Duration(rng.Int64()>>rng.IntN(63)), 1+rng.Int64N(1<<60)>>rng.IntN(60))
		if rng.IntN(3) == 0 {
			s.step = time.Duration(1 + rng.Int64()>>rng.IntN(63))
		}
		if s.legal() {
			list = append(list, s)
		}
	}
	var fit []spec
	for _, s := range list {
		if s.fits() {
			fit = append(fit, s)
		}
	}
	return fit
}

// TestConvert compares Convert with rational numbers, for every pair of limits
// at full, part, empty, owing and saturated buckets, anywhere in the range.
func TestConvert(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	saturated, capped, rounded := 0, 0, 0
	for range 4 {
		list := specs(rng)
		for _, from := range list {
			for _, to := range list {
				for range 12 {
					c := change{from: from, to: to, at: time.Duration(rng.Int64() >> rng.IntN(63)), then: time.Duration(rng.Int64() >> rng.IntN(63))}
					l := from.limit()
					tick, span := gcra.At(&l, c.at).Tick, new(big.Int).Mul(from.perToken(), from.tokens().Num()).Int64()
					last := math.MaxInt64 - span // the highest TAT there is
					c.tat = [...]int64{
						0, tick - 1, tick, tick + 1, tick + rng.Int64N(span+1), tick + span, last, last - 1,
						min(tick+span, last) + rng.Int64N(last-min(tick+span, last)+1)>>rng.IntN(63), rng.Int64N(last),
					}[rng.IntN(10)]
					got, err := c.convert()
					if err != nil {
						t.Fatalf("%+v: %v", c, err)
					}
					next := to.limit()
					then := gcra.At(&next, c.then).Tick
					switch whole := new(big.Int).Mul(to.perToken(), to.tokens().Num()); {
					case got == math.MaxInt64-whole.Int64():
						saturated++
					case got == then && c.tat > tick:
						capped++
					case got > then && c.tat > tick:
						rounded++
					}
				}
			}
		}
	}
	if min(saturated, capped, rounded) < 100 {
		t.Errorf("saturated %d times, capped %d, debt or a part kept %d: too little is proved", saturated, capped, rounded)
	}
}

// FuzzConvert is the same for pairs that the fuzzer makes up.
func FuzzConvert(f *testing.F) {
	f.Add(int64(10e9), int64(1), int64(sec), int64(10), int64(0), int64(100), int64(sec), int64(10), int64(0), int64(5e9), int64(5e9))
	f.Add(int64(math.MaxInt64), int64(0), int64(sec), int64(1), int64(0), int64(64), int64(1), int64(1<<30), int64(7), int64(0), int64(math.MaxInt64))
	f.Add(int64(7), int64(0), int64(0), int64(0), int64(0), int64(0), int64(-1), int64(0), int64(0), int64(1), int64(-1))
	f.Fuzz(func(t *testing.T, tat, n, period, burst, step, n2, period2, burst2, step2, at, then int64) {
		var of [2]spec
		for i, s := range []spec{
			{n, time.Duration(period), burst, full, time.Duration(max(step, 0))},
			{n2, time.Duration(period2), burst2, full, time.Duration(max(step2, 0))},
		} {
			switch {
			case s.period == 0 || s.period == -1:
				s = spec{period: s.period}
			case !s.legal() || !s.fits():
				t.Skip("no such limit")
			}
			of[i] = s
		}
		span := new(big.Int).Mul(of[0].perToken(), of[0].tokens().Num()).Int64()
		tat = min(max(tat, 0), math.MaxInt64-span) // what a word can be
		if _, err := (change{tat, of[0], of[1], time.Duration(at), time.Duration(then)}).convert(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestConvertRows lists law L5 case by case; the change comes a second after
// the birth.
func TestConvertRows(t *testing.T) {
	for _, r := range []struct {
		from   spec
		take   int // tokens taken at the change, into debt if need be
		to     spec
		remain int
		retry  time.Duration // of one token
		why    string
	}{
		{per(1, sec, 10), 10, per(100, sec, 10), 0, 10 * msec, "an empty bucket waits for one token, at the new rate"},
		{per(100, sec, 10), 10, per(1, sec, 10), 0, sec, "and the other way round"},
		{per(1, sec, 10), 0, per(1, sec, 100), 10, 0, "a full one has its tokens and no free burst"},
		{per(1, sec, 100), 0, per(1, sec, 10), 10, 0, "a lower burst caps"},
		{per(1, sec, 100), 95, per(1, sec, 10), 5, 0, "or not"},
		{per(1, sec, 10), 15, per(2, sec, 10), 0, 3 * sec, "debt is kept in tokens: 5 and one more at 2/s"},
		{per(1, sec, 10), 15, per(1, sec, 1), 0, 6 * sec, "whatever the burst"},
		{per(1, sec, 10), 4, per(0, sec, 10), 6, 0, "an allowance of what was there"},
		{per(0, sec, 10), 4, per(1, sec, 10), 6, 0, "and refilled again"},
		{per(0, sec, 10), 13, per(1, sec, 10), 0, 4 * sec, "a debt that nothing paid"},
		{per(1, sec, 10), 15, spec{}, 0, gcra.Never, "none"},
		{spec{}, 0, per(1, sec, 10), 0, sec, "from none nothing comes"},
		{per(1, sec, 10), 15, spec{period: -1}, math.MaxInt, 0, "unlimited forgives"},
		{spec{period: -1}, 1000, per(1, sec, 10), 10, 0, "and leaves a full bucket"},
		{per(3, sec, 5), 5, per(99, sec, 99), 0, 10_101_011, "ticks that do not divide: a token in 1/99 s, and a tick more"},
	} {
		from, to := r.from.limit(), r.to.limit()
		at, then := gcra.At(&from, sec), gcra.At(&to, sec)
		tat, _ := gcra.Debit(&from, at.Tick, at, r.take, 1000)
		d := gcra.Peek(&to, gcra.Convert(tat, &from, at, &to, then), then, 1)
		if d.Remaining() != r.remain || d.RetryAfter() != r.retry {
			t.Errorf("%v with %d taken to %v: %d left and one in %v, want %d and %v (%s)",
				&from, r.take, &to, d.Remaining(), d.RetryAfter(), r.remain, r.retry, r.why)
		}
	}
}

// TestConvertThroughNone shuts a key in debt out for a while: that is no way
// to be rid of it.
func TestConvertThroughNone(t *testing.T) {
	l, none := gcra.PerSecond(1).Burst(3), gcra.Limit{}
	at, shut := gcra.At(&l, 0), gcra.At(&none, 0)
	tat, _ := gcra.Debit(&l, at.Tick, at, 5, 10)
	later := gcra.At(&l, time.Hour)
	tat = gcra.Convert(gcra.Convert(tat, &l, at, &none, shut), &none, gcra.At(&none, time.Hour), &l, later)
	if d := gcra.Peek(&l, tat, later, 1); d.RetryAfter() != 3*sec {
		t.Errorf("a debt of 2 tokens is paid %v after none was lifted, with one more token, want 3s", d.RetryAfter())
	}
}

// TestConvertThereAndBack changes between two limits for ever while no time
// passes. Where a token has as many ticks, or a multiple, nothing moves; else
// each conversion takes less than a tick, and the balance never grows.
func TestConvertThereAndBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	list := specs(rng)
	for _, a := range list {
		for _, b := range list {
			if a.period <= 0 || b.period <= 0 || a.burst != b.burst {
				continue
			}
			la, lb := a.limit(), b.limit()
			at, then := gcra.At(&la, sec), gcra.At(&lb, sec)
			exact := new(big.Int).Rem(b.perToken(), a.perToken()).Sign() == 0
			start := at.Tick + rng.Int64N(a.burst*a.perToken().Int64())
			for tat, i := start, 0; i < 100; i++ {
				back := gcra.Convert(gcra.Convert(tat, &la, at, &lb, then), &lb, then, &la, at)
				ticks := new(big.Int).Quo(a.perToken(), b.perToken()).Int64() + 1 // of a in one of b
				if back < tat || exact && back != start || back > tat+ticks+1 {
					t.Fatalf("%+v and %+v: TAT %d came back as %d", a, b, tat, back)
				}
				tat = back
			}
		}
	}
}
