package gcra

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Never is the wait for something that does not happen.
const Never = time.Duration(math.MaxInt64)

// A Limit is a rate and a burst: n tokens per period, at most burst at once.
//
// It is an immutable value, comparable with ==, safe for concurrent use, and
// about a hundred bytes: engines keep one and pass its address. The zero Limit
// has burst 0 and refuses every cost of 1 or more; its text is "none".
//
// The methods that shape a Limit return a changed copy and panic on nonsense,
// as [Per] does; use [Parse] for text from elsewhere. On the zero Limit and on
// [Unlimited], which have no bucket to shape, they change nothing.
type Limit struct {
	n      int64         // tokens per period; -1 for Unlimited
	period time.Duration // 0 for the zero Limit
	burst  int64
	start  int64         // tokens at the start plus one; 0 means full
	step   time.Duration // 0 means continuous

	// The rest is made of the above by derive.
	ticks int64         // k, in a token
	span  int64         // burst·k
	stop  int64         // E − 1
	last  time.Duration // the last elapsed time whose tick is within E
	plain uint64        // elapsed times below are within it, and not rounded to a step
	whole uint64        // R, ticks a nanosecond: integer part
	hi    uint64        // and 128 fraction bits, rounded up
	lo    uint64
}

const (
	maxSpan   = 1 << 60 // burst·k and debt·k, each, in ticks
	maxFine   = 32      // ticks a nanosecond
	maxRate   = 64      // tokens a nanosecond
	maxPeriod = 1 << 58 // ns, about nine years
)

// Per returns a limit of n tokens per period with a burst of 1. With n = 0 it
// never refills: a one-time allowance of its burst.
//
// It panics if n is negative, if the period is not positive or longer than
// 2^58 ns (nine years), or above 64 tokens a nanosecond. On platforms where an
// int has 32 bits, rates above 2^31 are written as Per(10, time.Nanosecond).
func Per(n int, period time.Duration) Limit {
	l := Limit{n: int64(n), period: period, burst: 1}
	return must(l, l.checkRate())
}

// PerSecond returns Per(n, time.Second).
func PerSecond(n int) Limit { return Per(n, time.Second) }

// PerMinute returns Per(n, time.Minute).
func PerMinute(n int) Limit { return Per(n, time.Minute) }

// PerHour returns Per(n, time.Hour).
func PerHour(n int) Limit { return Per(n, time.Hour) }

// PerDay returns Per(n, 24*time.Hour).
func PerDay(n int) Limit { return Per(n, 24*time.Hour) }

// Every returns a limit of one token per interval: Per(1, interval).
func Every(interval time.Duration) Limit { return Per(1, interval) }

// Unlimited returns the limit that grants every cost that is not negative.
func Unlimited() Limit {
	return Limit{n: -1, period: time.Nanosecond, burst: math.MaxInt64, last: Never, plain: uint64(Never)}
}

// Burst returns the limit with a capacity of n tokens. It panics if n is below
// 1, above 2^60, or below the tokens given to Start.
func (l Limit) Burst(n int) Limit {
	if !l.shapeable() {
		return l
	}
	l.burst = int64(n)
	return must(l, l.checkBurst())
}

// Start returns the limit with n tokens in every bucket that is new when its
// engine is made, instead of a full one: set the burst first. It panics if n
// is negative or above the burst.
func (l Limit) Start(n int) Limit {
	if !l.shapeable() {
		return l
	}
	if err := l.checkStart(int64(n)); err != nil {
		panic("gcra: " + err.Error())
	}
	l.start = int64(n) + 1
	return l
}

// InSteps returns the limit with its refill arriving in lumps, at multiples of
// step on the clock's own scale, instead of continuously. It panics if step is
// not positive.
func (l Limit) InSteps(step time.Duration) Limit {
	if !l.shapeable() {
		return l
	}
	l.step = step
	return must(l, l.checkStep())
}

func (l Limit) shapeable() bool { return l.period > 0 && l.n >= 0 }

func (l Limit) unlimited() bool { return l.n < 0 }

func must(l Limit, err error) Limit {
	if err != nil {
		panic("gcra: " + err.Error())
	}
	return l.derive()
}

func (l Limit) checkRate() error {
	switch {
	case l.n < 0:
		return fmt.Errorf("rate of %d tokens is negative", l.n)
	case l.period <= 0:
		return fmt.Errorf("period %v is not positive", l.period)
	case l.period > maxPeriod:
		return fmt.Errorf("period %v is longer than %v", l.period, time.Duration(maxPeriod))
	case l.n > 0 && uint64(l.n-1)/maxRate >= uint64(l.period):
		return fmt.Errorf("rate of %d tokens per %v is above %d a nanosecond", l.n, l.period, maxRate)
	}
	return nil
}

func (l Limit) checkBurst() error {
	switch {
	case l.burst < 1:
		return fmt.Errorf("burst %d is below 1", l.burst)
	case l.burst > maxSpan:
		return fmt.Errorf("burst %d is above %d", l.burst, int64(maxSpan))
	}
	return l.checkStart(max(l.start-1, 0))
}

func (l Limit) checkStart(n int64) error {
	switch {
	case n < 0:
		return fmt.Errorf("start %d is negative", n)
	case n > l.burst:
		return fmt.Errorf("start %d is above the burst %d", n, l.burst)
	}
	return nil
}

func (l Limit) checkStep() error {
	if l.step <= 0 {
		return fmt.Errorf("step %v is not positive", l.step)
	}
	return nil
}

// derive chooses k and R for a limit whose fields have been checked.
func (l Limit) derive() Limit {
	n, period, room := uint64(l.n), uint64(l.period), uint64(maxSpan/l.burst)
	l.whole, l.hi, l.lo, l.plain = 0, 0, 0, 0
	if n == 0 {
		l.ticks, l.span = 1, l.burst
		l.stop, l.last = math.MaxInt64-2*l.span-maxSpan-1, -1
		return l
	}
	k := period / gcd(n, period)
	if q := n / gcd(n, period); q > maxFine || k > room {
		most := min(maxFine*period/n, room)
		k = max(most, 1)
		for _, unit := range []uint64{1e3, 1e6} { // µs, ms
			hi, lo := bits.Mul64(n, unit)
			exact := period / gcd(period, bits.Rem64(hi, lo, period))
			if exact <= most {
				k = most / exact * exact
				break
			}
		}
	}
	// n·k is at most 32 periods, or n alone, so it fits.
	num := n * k
	l.whole = num / period
	var rest uint64
	l.hi, rest = bits.Div64(num%period, 0, period)
	l.lo, rest = bits.Div64(rest, 0, period)
	if rest != 0 {
		// Up, not down: cut off, a reading that is a whole number of ticks
		// would come out one short.
		var carry uint64
		l.lo, carry = bits.Add64(l.lo, 1, 0)
		l.hi += carry
	}
	l.ticks, l.span = int64(k), l.burst*int64(k)
	l.stop = math.MaxInt64 - 2*l.span - maxSpan - 1
	// The largest e with ⌊e·R⌋ <= stop, that is with e·num < (stop+1)·period.
	hi, lo := bits.Mul64(uint64(l.stop)+1, period)
	lo, borrow := bits.Sub64(lo, 1, 0)
	l.last = saturate(quo(hi-borrow, lo, num))
	if l.step == 0 {
		l.plain = uint64(l.last)
	}
	return l
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// quo returns the quotient of a 128-bit number by d, at most MaxUint64.
func quo(hi, lo, d uint64) uint64 {
	if hi >= d {
		return math.MaxUint64
	}
	q, _ := bits.Div64(hi, lo, d)
	return q
}

// mulDiv returns ⌊a·b/d⌋, at most MaxUint64.
func mulDiv(a, b, d uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return quo(hi, lo, d)
}

// mulDivUp returns ⌈a·b/d⌉, at most MaxUint64.
func mulDivUp(a, b, d uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, d-1, 0)
	return quo(hi+carry, lo, d)
}

func saturate(ns uint64) time.Duration { return time.Duration(min(ns, math.MaxInt64)) }

// Capacity returns the burst: the most tokens that a bucket holds. It is 0 for
// the zero Limit and math.MaxInt for Unlimited.
func (l Limit) Capacity() int { return int(min(l.burst, math.MaxInt)) }

// Rate returns the n tokens per period that the limit was made with. For the
// zero Limit that is 0 per second, for Unlimited math.MaxInt per nanosecond.
func (l Limit) Rate() (n int, period time.Duration) {
	switch {
	case l.unlimited():
		return math.MaxInt, time.Nanosecond
	case l.period == 0:
		return 0, time.Second
	}
	return int(l.n), l.period
}

// Interval returns the emission interval, the time that one token takes,
// rounded up to the nanosecond: for display, since decisions do not round it.
// It is 0 for Unlimited, and Never where nothing refills.
func (l Limit) Interval() time.Duration { return l.fill(1) }

// FillTime returns the time in which an empty bucket fills, rounded up to the
// nanosecond. It is 0 for Unlimited, and Never where nothing refills or where
// it is longer than a time.Duration can hold.
func (l Limit) FillTime() time.Duration { return l.fill(uint64(l.burst)) }

func (l Limit) fill(tokens uint64) time.Duration {
	switch {
	case l.unlimited():
		return 0
	case l.n == 0:
		return Never
	}
	return saturate(mulDivUp(tokens, uint64(l.period), uint64(l.n)))
}

// Within returns the most tokens that one key is granted in any window of
// length w: burst + ⌊w·rate⌋. With InSteps the window counts as ⌊w/step⌋ + 1
// whole steps. A negative w counts as 0; the result is at most math.MaxInt.
func (l Limit) Within(w time.Duration) int {
	if l.unlimited() {
		return math.MaxInt
	}
	if l.n == 0 {
		return l.Capacity()
	}
	length := uint64(max(w, 0))
	if l.step > 0 {
		length = (length/uint64(l.step) + 1) * uint64(l.step)
	}
	refill := mulDiv(length, uint64(l.n), uint64(l.period))
	return int(min(refill, math.MaxInt-min(uint64(l.burst), math.MaxInt)) + min(uint64(l.burst), math.MaxInt))
}
