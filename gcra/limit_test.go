package gcra_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// TestConstructorsPanic checks that nonsense in source code panics, and that
// the message names the value.
func TestConstructorsPanic(t *testing.T) {
	const wide = math.MaxInt > math.MaxInt32
	wider := func(v int64) int { return int(v) } // not a constant, so that 32 bits compile it
	for _, r := range []struct {
		make  func()
		names string // "" if it must not panic
		runs  bool
		why   string
	}{
		{func() { gcra.Per(-1, sec) }, "-1", true, "a rate cannot be negative"},
		{func() { gcra.PerSecond(math.MinInt) }, fmt.Sprint(math.MinInt), true, "nor wrap"},
		{func() { gcra.PerMinute(-7) }, "-7", true, "the same for every period"},
		{func() { gcra.PerHour(-7) }, "-7", true, "an hour"},
		{func() { gcra.PerDay(-7) }, "-7", true, "a day"},
		{func() { gcra.Per(0, sec) }, "", true, "rate 0 is an allowance"},
		{func() { gcra.Per(1, 0) }, "0s", true, "no period"},
		{func() { gcra.Per(1, -sec) }, "-1s", true, "a negative one"},
		{func() { gcra.Per(0, 0) }, "0s", true, "not even with rate 0"},
		{func() { gcra.Every(0) }, "0s", true, "no interval"},
		{func() { gcra.Every(-3 * msec) }, "-3ms", true, "a negative one"},
		{func() { gcra.Every(1 << 58) }, "", true, "the longest period"},
		{func() { gcra.Every(1<<58 + 1) }, "80063h59m36.151711745s", true, "one nanosecond more"},
		{func() { gcra.Per(64, 1) }, "", true, "the highest rate"},
		{func() { gcra.Per(65, 1) }, "65 tokens per 1ns", true, "above 64 a nanosecond"},
		{func() { gcra.Per(640, 10) }, "", true, "64 a nanosecond"},
		{func() { gcra.Per(641, 10) }, "641 tokens per 10ns", true, "64.1"},
		{func() { gcra.Per(math.MaxInt, 1) }, fmt.Sprint(math.MaxInt), true, "far above, without wrapping"},
		{func() { gcra.PerSecond(wider(64e9)) }, "", wide, "64 a nanosecond"},
		{func() { gcra.PerSecond(wider(64e9 + 1)) }, "64000000001", wide, "a token a second above it"},
		{func() { gcra.PerSecond(1).Burst(0) }, "burst 0", true, "no bucket"},
		{func() { gcra.PerSecond(1).Burst(-5) }, "burst -5", true, "a negative one"},
		{func() { gcra.PerSecond(1).Burst(math.MinInt) }, fmt.Sprint(math.MinInt), true, "nor wrap"},
		{func() { gcra.PerSecond(1).Burst(wider(1 << 60)) }, "", wide, "the largest burst"},
		{func() { gcra.PerSecond(1).Burst(wider(1<<60 + 1)) }, "1152921504606846977", wide, "one more"},
		{func() { gcra.Per(64, 1).Burst(wider(1 << 60)) }, "", wide, "k is 1 there"},
		{func() { gcra.PerSecond(1).Burst(5).Start(-1) }, "start -1", true, "no debt at the start"},
		{func() { gcra.PerSecond(1).Burst(5).Start(5) }, "", true, "full"},
		{func() { gcra.PerSecond(1).Burst(5).Start(6) }, "start 6 is above the burst 5", true, "more than fits"},
		{func() { gcra.PerSecond(1).Start(math.MaxInt) }, fmt.Sprint("start ", math.MaxInt), true, "without wrapping"},
		{func() { gcra.PerSecond(1).Burst(5).Start(5).Burst(4) }, "start 5 is above the burst 4", true, "no longer fits"},
		{func() { gcra.PerSecond(1).InSteps(0) }, "0s", true, "no step"},
		{func() { gcra.PerSecond(1).InSteps(-sec) }, "-1s", true, "a negative one"},
		{func() { gcra.PerSecond(1).InSteps(gcra.Never) }, "", true, "one step for ever"},
	} {
		if !r.runs {
			continue
		}
		with, _ := panics(r.make).(string)
		if (with == "") != (r.names == "") || !strings.Contains(with, r.names) ||
			with != "" && !strings.HasPrefix(with, "gcra: ") {
			t.Errorf("panics with %q, want one that names %q (%s)", with, r.names, r.why)
		}
	}
}

// TestShapeless checks that the two limits without a bucket stay as they are.
func TestShapeless(t *testing.T) {
	for _, l := range []gcra.Limit{{}, gcra.Unlimited()} {
		if got := l.Burst(7).Start(3).InSteps(sec); got != l {
			t.Errorf("%v became %v", l, got)
		}
	}
}

// TestComparable checks that limits are equal when made of the same, by
// whatever way, and that each part counts.
func TestComparable(t *testing.T) {
	a := gcra.PerSecond(5).Burst(3).Start(1).InSteps(sec)
	for _, b := range []gcra.Limit{
		gcra.Per(5, time.Second).Burst(3).Start(1).InSteps(sec),
		gcra.PerSecond(5).InSteps(time.Hour).Burst(1e6).Burst(3).InSteps(sec).Start(0).Start(1),
	} {
		if a != b {
			t.Errorf("%v and %v differ", a, b)
		}
	}
	seen := map[gcra.Limit]string{}
	for _, l := range []gcra.Limit{
		{}, gcra.Unlimited(), gcra.PerSecond(5), gcra.PerSecond(6), gcra.PerMinute(5), gcra.PerMinute(300),
		gcra.PerSecond(5).Burst(2), gcra.PerSecond(5).InSteps(sec), gcra.PerSecond(5).InSteps(2 * sec),
		gcra.PerSecond(5).Start(0), gcra.PerSecond(5).Start(1), gcra.PerSecond(0), a,
	} {
		if twin, twice := seen[l]; twice {
			t.Errorf("%v equals %v", l, twin)
		}
		seen[l] = l.String()
	}
}

// TestAccessors lists what a limit says about itself.
func TestAccessors(t *testing.T) {
	const most = math.MaxInt
	for _, r := range []struct {
		limit    gcra.Limit
		n        int
		period   time.Duration
		capacity int
		interval time.Duration
		fill     time.Duration
		minute   int // Within(time.Minute)
		why      string
	}{
		{gcra.PerSecond(100), 100, sec, 1, 10 * msec, 10 * msec, 6001, "burst 1 if not given"},
		{gcra.PerSecond(100).Burst(20), 100, sec, 20, 10 * msec, 200 * msec, 6020, "the bucket and a minute's refill"},
		{gcra.PerSecond(3).Burst(3), 3, sec, 3, 333_333_334, sec, 183, "the interval is rounded up, the fill time not made of it"},
		{gcra.PerMinute(7), 7, time.Minute, 1, 8_571_428_572, 8_571_428_572, 8, "burst 1 fills in one interval"},
		{gcra.PerHour(5000), 5000, time.Hour, 1, 720 * msec, 720 * msec, 84, "83.3 refilled"},
		{gcra.PerDay(1).Burst(2), 1, day, 2, day, 2 * day, 2, "nothing whole comes in a minute"},
		{gcra.Every(90 * sec).Burst(10), 1, 90 * sec, 10, 90 * sec, 900 * sec, 10, "the same as Per(1, 90 s)"},
		{gcra.Per(10, 1), 10, 1, 1, 1, 1, min(600_000_000_001, most), "a tenth of a nanosecond is shown as one"},
		{gcra.Per(6, 3*sec).Burst(10).InSteps(3 * sec), 6, 3 * sec, 10, 500 * msec, 5 * sec, 136, "21 steps touch a minute"},
		{gcra.PerSecond(0).Burst(100), 0, sec, 100, gcra.Never, gcra.Never, 100, "the allowance"},
		{gcra.Limit{}, 0, sec, 0, gcra.Never, gcra.Never, 0, "none"},
		{gcra.Unlimited(), most, 1, most, 0, 0, most, "as much as a number can say"},
	} {
		l := r.limit
		n, period := l.Rate()
		if n != r.n || period != r.period || l.Capacity() != r.capacity || l.Interval() != r.interval ||
			l.FillTime() != r.fill || l.Within(time.Minute) != r.minute {
			t.Errorf("%v: rate %d/%v, capacity %d, interval %v, fills in %v, %d a minute (%s)",
				l, n, period, l.Capacity(), l.Interval(), l.FillTime(), l.Within(time.Minute), r.why)
		}
	}
}

// TestWithin checks law L1: no window sees more than Within says, and, without
// steps, some window sees exactly that.
func TestWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 30))
	for range 2000 {
		s := per(1+rng.Int64N(9), time.Duration(1+rng.Int64N(9)), 1+rng.Int64N(20))
		s.step = time.Duration(rng.Int64N(2) * rng.Int64N(9))
		k := newKey(s.limit(), time.Duration(rng.Int64N(20)))
		type grant struct {
			at time.Duration
			n  int
		}
		var grants []grant
		pause, now := 1+rng.Int64N(30), k.born+20
		for range 40 {
			now += time.Duration(rng.Int64N(pause))
			n := 1 + rng.IntN(k.limit.Capacity())
			grants = append(grants, grant{now, k.ask(now, takeUpTo, n).Granted()})
		}
		for i, from := range grants {
			sum := 0
			for _, g := range grants[i:] {
				if sum += g.n; sum > k.limit.Within(g.at-from.at) {
					t.Fatalf("%v: %d in the window %d to %d, want at most %d",
						&k.limit, sum, from.at, g.at, k.limit.Within(g.at-from.at))
				}
			}
		}
		// A bucket that a nanosecond's refill does not overflow loses nothing.
		if p := int64(s.period); s.step == 0 && s.n+p-1 <= s.burst*p {
			now += 1000 // full, and read at a whole number of periods
			now += s.period - (now-k.born)%s.period
			sum := k.ask(now, take, k.limit.Capacity()).Granted()
			w := s.period * time.Duration(1+rng.IntN(5))
			for e := time.Duration(1); e <= w; e++ {
				sum += k.ask(now+e, takeUpTo, k.limit.Capacity()).Granted()
			}
			if want := k.limit.Within(w); sum != want {
				t.Fatalf("%v: a greedy client got %d in %d ns, want %d", &k.limit, sum, w, want)
			}
		}
	}
}

func FuzzAccessors(f *testing.F) {
	f.Add(int64(3), int64(sec), int64(3), int64(0), int64(time.Minute))
	f.Add(int64(64), int64(1), int64(1<<60), int64(1e9), int64(math.MaxInt64))
	f.Add(int64(1), int64(1<<58), int64(1<<60), int64(math.MaxInt64), int64(math.MaxInt64))
	f.Add(int64(0), int64(1), int64(5), int64(0), int64(-1))
	f.Fuzz(func(t *testing.T, n, period, burst, step, w int64) {
		checkAccessors(t, spec{n, time.Duration(period), burst, full, time.Duration(max(step, 0))}, time.Duration(w))
	})
}

func TestAccessorsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	wide := func() int64 { return rng.Int64() >> rng.IntN(63) }
	for range 50_000 {
		checkAccessors(t, spec{wide(), time.Duration(wide()), wide(), full, time.Duration(wide() * rng.Int64N(2))},
			time.Duration(wide()))
	}
}

// checkAccessors compares with numbers that have no end.
func checkAccessors(t *testing.T, s spec, w time.Duration) {
	if !s.fits() || !s.legal() {
		return
	}
	cut := func(v *big.Int, most int64) int64 {
		if v.Cmp(num(most)) > 0 {
			return most
		}
		return v.Int64()
	}
	n, p, length := num(s.n), num(int64(s.period)), num(int64(max(w, 0)))
	if s.step > 0 {
		step := num(int64(s.step))
		length.Quo(length, step).Add(length, one).Mul(length, step)
	}
	within := length.Mul(length, n).Quo(length, p)
	within.Add(within, num(s.burst))
	interval, fill := num(math.MaxInt64), num(math.MaxInt64)
	if s.n > 0 {
		interval = ceil(p, n)
		fill = ceil(new(big.Int).Mul(num(s.burst), p), n)
	}
	l := s.limit()
	count, period := l.Rate()
	if int64(count) != s.n || period != s.period || int64(l.Capacity()) != s.burst {
		t.Fatalf("%+v: rate %d/%v, capacity %d", s, count, period, l.Capacity())
	}
	if got, want := int64(l.Within(w)), cut(within, math.MaxInt); got != want {
		t.Fatalf("%v: within %d ns %d tokens, want %d", l, w, got, want)
	}
	if got, want := int64(l.Interval()), interval.Int64(); got != want {
		t.Fatalf("%v: interval %d, want %d", l, got, want)
	}
	if got, want := int64(l.FillTime()), cut(fill, math.MaxInt64); got != want {
		t.Fatalf("%v: fills in %d, want %d", l, got, want)
	}
}
