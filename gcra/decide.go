package gcra

import (
	"math/bits"
	"time"
)

// An Instant is a clock reading as one limit sees it, made by [At].
type Instant struct {
	Tick    int64         // 1 at the engine's first reading, never above the range
	Elapsed time.Duration // the reading itself, in ns since that first one
}

// At turns the time elapsed since an engine's first reading into the limit's
// ticks. Times before that reading count as 0; past the end of the range, and
// always for a limit that never refills, the instant stays at the end.
//
// With InSteps the first reading has to be a multiple of the step on the
// clock's own scale: see [Limit.Birth].
func At(l *Limit, elapsed time.Duration) Instant {
	return Instant{l.tick(elapsed), elapsed}
}

func (l *Limit) tick(elapsed time.Duration) int64 {
	if e := uint64(elapsed); e < l.plain {
		return l.count(e)
	}
	return l.clipped(elapsed)
}

// count counts the ticks of a time within the range. Two of its multiplications
// are for the fraction, and cost less than to ask whether there is one.
func (l *Limit) count(e uint64) int64 {
	hi, lo := bits.Mul64(e, l.hi)
	low, _ := bits.Mul64(e, l.lo)
	_, carry := bits.Add64(lo, low, 0)
	return int64(e*l.whole+hi+carry) + 1
}

// clipped is tick for all other times. It divides, and is kept out of the way.
//
//go:noinline
func (l *Limit) clipped(elapsed time.Duration) int64 {
	elapsed = max(elapsed, 0)
	if l.step > 0 {
		elapsed -= elapsed % l.step
	}
	if elapsed > l.last {
		return l.stop + 1
	}
	return l.count(uint64(elapsed))
}

// Birth returns the reading that an engine which is made at reading now
// subtracts from all later ones: now itself, or with InSteps the last multiple
// of the step up to it.
func (l Limit) Birth(now time.Duration) time.Duration {
	if l.step == 0 {
		return now
	}
	// Towards minus infinity, so that readings before the clock's epoch step
	// at multiples too; not below the first multiple that there is.
	past := now % l.step
	if past < 0 {
		past += l.step
	}
	if born := now - past; born <= now {
		return born
	}
	return now - now%l.step
}

// Until returns the time from at until the clock shows the tick: 0 if it does,
// Never if it never will. It is rounded up to the nanosecond and tight: one
// nanosecond earlier the clock does not show the tick. It divides.
func Until(l *Limit, tick int64, at Instant) time.Duration {
	if tick <= at.Tick {
		return 0
	}
	if tick > l.stop+1 || l.n <= 0 {
		return Never
	}
	// The first e with ⌊e·n·k/period⌋ >= tick − 1.
	e := mulDivUp(uint64(tick-1), uint64(l.period), uint64(l.n)*uint64(l.ticks))
	if e > uint64(Never) {
		return Never
	}
	if step := uint64(l.step); step > 0 {
		// Below 2^64, since both are below 2^63.
		if e = (e + step - 1) / step * step; e > uint64(Never) {
			return Never
		}
	}
	wait := time.Duration(e) - at.Elapsed
	if wait < 0 { // from far before the first reading
		return Never
	}
	return wait
}

// Fresh returns the TAT of a key that has never been charged, in an engine
// that is made at that instant: full, or as Start says.
func Fresh(l *Limit, at Instant) int64 {
	if l.start == 0 || l.ticks == 0 {
		return at.Tick
	}
	return at.Tick + (l.burst-(l.start-1))*l.ticks
}

// Allow is Take for callers that ask nothing but whether it passed. What it
// returns beside false is not to be written.
func Allow(l *Limit, tat int64, at Instant, n int) (next int64, ok bool) {
	if uint64(n) > uint64(l.burst) {
		return tat, false
	}
	c := int64(n) * l.ticks
	if c == 0 {
		return tat, true
	}
	base := max(tat, at.Tick)
	return base + c, base-at.Tick <= l.span-c
}

// Take decides on a request of n tokens and returns the TAT that follows. If
// it equals tat, there is nothing to write.
func Take(l *Limit, tat int64, at Instant, n int) (int64, Decision) {
	if uint64(n) > uint64(l.burst) {
		return tat, Decision{l, tat, at.Elapsed, misfit(n)}
	}
	c := int64(n) * l.ticks
	if c == 0 {
		return tat, Decision{l, tat, at.Elapsed, int64(n)}
	}
	base := max(tat, at.Tick)
	if base-at.Tick > l.span-c {
		return tat, Decision{l, tat, at.Elapsed, -int64(n)}
	}
	return base + c, Decision{l, base + c, at.Elapsed, int64(n)}
}

// misfit is the verdict on a cost that is negative or above the burst.
func misfit(n int) int64 {
	if n < 0 {
		return negative
	}
	return exceeds
}

// TakeUpTo decides on a request of at most n tokens: it grants as many as
// there are, and is refused only if there is none. A cost above the burst is
// not an error here.
func TakeUpTo(l *Limit, tat int64, at Instant, n int) (int64, Decision) {
	if n < 0 || l.burst == 0 {
		return Take(l, tat, at, n)
	}
	n = int(min(int64(n), l.burst))
	next, d := Take(l, tat, at, n)
	if d.OK() {
		return next, d
	}
	there := (l.span - (tat - at.Tick)) / l.ticks // below 0 in debt
	return Take(l, tat, at, int(max(there, 1)))
}

// Peek tells what Take would decide, with the tokens that are there before
// it, and grants nothing.
func Peek(l *Limit, tat int64, at Instant, n int) Decision {
	if _, d := Take(l, tat, at, n); !d.OK() {
		return d
	}
	return Decision{l, tat, at.Elapsed, 0}
}

// Refuse decides as an empty bucket does: for a key that an engine has no room
// to remember.
func Refuse(l *Limit, at Instant, n int) Decision {
	_, d := Take(l, at.Tick+l.span, at, n)
	return d
}

// Debit takes n tokens that were already used: as many of them as debt, the
// tokens that a bucket may lack below empty, leaves room for; 2^60 ticks at
// most. It is refused if that is none, and RetryAfter is then the time until
// the bucket has a token to give. A cost above the burst is not an error here.
func Debit(l *Limit, tat int64, at Instant, n, debt int) (int64, Decision) {
	if n < 0 || l.burst == 0 {
		return Take(l, tat, at, n)
	}
	if l.ticks == 0 || n == 0 {
		return tat, Decision{l, tat, at.Elapsed, int64(n)}
	}
	base := max(tat, at.Tick)
	room := int64(maxSpan)
	if int64(debt) <= room/l.ticks {
		room = int64(max(debt, 0)) * l.ticks
	}
	fits := min(int64(n), (l.span+room-(base-at.Tick))/l.ticks)
	if fits <= 0 {
		return tat, Decision{l, tat, at.Elapsed, -1}
	}
	return base + fits*l.ticks, Decision{l, base + fits*l.ticks, at.Elapsed, fits}
}
