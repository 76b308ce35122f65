// Package exact is the token bucket in math/big, to hold the engines against: it shares no arithmetic with package gcra.
//
//	s, err := exact.SpecOf(limit)
//	m := exact.New(s, now)
//	if got := exact.AnswerOf(limiter.Take(key, n)); got != m.Take(key, now, n) {
//		disagree()
//	}
//
// It reads clocks by rules 1 to 7 of the design, as the engines do, so that the two agree in all that a decision says and
// not only nearly. It keeps every key for ever, allocates at every turn, and is for one goroutine.
package exact

import (
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A Model decides as the exact token bucket does, in whole numbers without bound: balances in tokens of k parts, which gain
// one part a tick, over instants read by rules 1 to 7 of the design. It shares no arithmetic with package gcra, keeps every
// key for ever, and is slow. It is for one goroutine.
type Model struct {
	Spec
	n, p, k *big.Int // n·k/p ticks a nanosecond
	full    *big.Int // the burst, in parts
	end     *big.Int // the last tick of the range
	born    *big.Int // on the clock's scale
	buckets map[string]*bucket
}

// A bucket has so many parts at that tick.
type bucket struct{ have, since *big.Int }

// New returns a model that was made when the clock read now.
func New(s Spec, now int64) *Model {
	m := &Model{Spec: s, n: num(s.N), p: num(int64(s.Period)), buckets: make(map[string]*bucket)}
	if s.Unlimited {
		return m
	}
	m.k, _ = s.grain()
	m.full = times(num(s.Burst), m.k)
	m.end = new(big.Int).Sub(num(math.MaxInt64-1<<60), times(num(2), m.full))
	m.born = num(now)
	if s.Step > 0 {
		past := new(big.Int).Mod(m.born, num(int64(s.Step))) // Euclidean: of instants before the epoch too
		if m.born.Sub(m.born, past); !m.born.IsInt64() {
			m.born.Add(m.born, num(int64(s.Step)))
		}
	}
	return m
}

// elapsed is the time since the birth, as far as a time.Duration reaches. It is below 0 only where no multiple of the step lies
// before the first reading.
func (m *Model) elapsed(now int64) *big.Int {
	return atMost(new(big.Int).Sub(num(now), m.born), num(math.MaxInt64))
}

// tick is the reading of an elapsed time, where what is before the birth counts as the birth.
func (m *Model) tick(elapsed *big.Int) *big.Int {
	if m.n.Sign() == 0 {
		return m.end
	}
	e := elapsed
	if e.Sign() < 0 {
		e = new(big.Int)
	}
	if m.Step > 0 {
		e = times(over(e, num(int64(m.Step))), num(int64(m.Step)))
	}
	t := over(times(times(e, m.n), m.k), m.p)
	return atMost(t.Add(t, num(1)), m.end)
}

// until is the wait until the clock shows the tick.
func (m *Model) until(tick, elapsed *big.Int) time.Duration {
	switch {
	case tick.Cmp(m.tick(elapsed)) <= 0:
		return 0
	case m.n.Sign() == 0 || tick.Cmp(m.end) > 0:
		return gcra.Never
	}
	e := overUp(times(new(big.Int).Sub(tick, num(1)), m.p), times(m.n, m.k))
	if m.Step > 0 {
		e = times(overUp(e, num(int64(m.Step))), num(int64(m.Step)))
	}
	if !e.IsInt64() {
		return gcra.Never
	}
	return time.Duration(clip(e.Sub(e, elapsed)))
}

// An Answer is all that a decision says.
type Answer struct {
	Granted, Remaining int
	Retry, Reset       time.Duration
	Err                error
}

// AnswerOf is what a decision of an engine says.
func AnswerOf(d gcra.Decision) Answer {
	return Answer{d.Granted(), d.Remaining(), d.RetryAfter(), d.ResetAfter(), d.Err()}
}

func (a Answer) String() string {
	verdict := "granted"
	if a.Err != nil {
		verdict = fmt.Sprintf("refused (%v)", a.Err)
	}
	return fmt.Sprintf("%s: %d granted, %d remaining, retry after %v, reset after %v", verdict, a.Granted, a.Remaining, a.Retry, a.Reset)
}

// Take decides on n tokens of the key when the clock reads now, which is never earlier than before.
func (m *Model) Take(key string, now int64, n int) Answer {
	if m.Unlimited {
		if n < 0 {
			return Answer{0, math.MaxInt, gcra.Never, 0, gcra.ErrCost}
		}
		return Answer{n, math.MaxInt, 0, 0, nil}
	}
	elapsed := m.elapsed(now)
	tick := m.tick(elapsed)
	b := m.buckets[key]
	if b == nil {
		b = &bucket{have: times(num(m.Start), m.k), since: m.tick(new(big.Int))}
		m.buckets[key] = b
	}
	gain := new(big.Int).Sub(tick, b.since)
	b.have, b.since = atMost(gain.Add(gain, b.have), m.full), tick

	var a Answer
	cost := times(num(int64(n)), m.k)
	lacks := new(big.Int).Sub(cost, b.have)
	switch {
	case n < 0:
		a.Err, a.Retry = gcra.ErrCost, gcra.Never
	case int64(n) > m.Burst:
		a.Err, a.Retry = gcra.ErrExceedsBurst, gcra.Never
	case n > 0 && lacks.Sign() > 0:
		a.Err, a.Retry = gcra.ErrLimited, m.until(lacks.Add(lacks, tick), elapsed)
	default:
		a.Granted = n
		b.have = new(big.Int).Sub(b.have, cost)
	}
	a.Remaining = int(min(clip(over(b.have, m.k)), math.MaxInt))
	lacks.Sub(m.full, b.have)
	a.Reset = m.until(lacks.Add(lacks, tick), elapsed)
	return a
}
