package gcra_test

import (
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A spec is what a limit is made of, as its constructors take it.
type spec struct {
	n      int64
	period time.Duration // 0: the zero Limit; -1: Unlimited
	burst  int64
	start  int64         // full: not given
	step   time.Duration // 0: continuous
}

const full = -1

func per(n int64, period time.Duration, burst int64) spec { return spec{n, period, burst, full, 0} }

// fits reports whether the platform's int holds the counts.
func (s spec) fits() bool {
	return int64(int(s.n)) == s.n && int64(int(s.burst)) == s.burst && int64(int(s.start)) == s.start
}

func (s spec) limit() gcra.Limit {
	switch s.period {
	case 0:
		return gcra.Limit{}
	case -1:
		return gcra.Unlimited()
	}
	l := gcra.Per(int(s.n), s.period).Burst(int(s.burst))
	if s.start != full {
		l = l.Start(int(s.start))
	}
	if s.step != 0 {
		l = l.InSteps(s.step)
	}
	return l
}

// legal is rule 1's list of what constructors refuse.
func (s spec) legal() bool {
	rate := new(big.Int).Mul(num(int64(s.period)), num(64))
	return s.n >= 0 && s.period > 0 && s.period <= 1<<58 && num(s.n).Cmp(rate) <= 0 &&
		s.burst >= 1 && s.burst <= 1<<60 && (s.start == full || 0 <= s.start && s.start <= s.burst) && s.step >= 0
}

// A model is the token bucket in rational numbers over the instants as read,
// and its readings are rules 1, 2, 3, 6 and 7 in whole numbers without bound.
// It shares nothing with the package but the constants Never and the errors.
type model struct {
	spec
	n, p, k, end *big.Int // n·k/p ticks a nanosecond, E
	burst        *big.Rat

	// The tokens that are there at the tick since, negative in debt. Without
	// a charge they grow by 1/k a tick, up to the burst.
	tokens *big.Rat
	since  *big.Int
}

var one = big.NewInt(1)

func num(v int64) *big.Int { return big.NewInt(v) }

func newModel(s spec) *model {
	m := &model{spec: s, n: num(s.n), p: num(int64(s.period)), k: num(1), end: num(1)}
	m.burst = new(big.Rat).SetInt64(s.burst)
	if s.period > 0 {
		m.k = tokenTicks(m.n, m.p, num(s.burst))
		room := new(big.Int).Mul(num(2*s.burst), m.k)
		m.end = room.Sub(num(math.MaxInt64-1<<60), room)
	}
	m.tokens, m.since = m.burst, m.reading(0)
	if s.start != full {
		m.tokens = new(big.Rat).SetInt64(s.start)
	}
	return m
}

// tokenTicks is k of rule 1.
func tokenTicks(n, p, burst *big.Int) *big.Int {
	over := func(a, b *big.Int) *big.Int { return new(big.Int).Quo(a, b) }
	times := func(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }
	whole := func(v *big.Int) *big.Int { return over(p, new(big.Int).GCD(nil, nil, v, p)) } // P/gcd(P, v)

	room := over(num(1<<60), burst)
	q, k := over(n, new(big.Int).GCD(nil, nil, n, p)), whole(n)
	if q.Cmp(num(32)) <= 0 && k.Cmp(room) <= 0 {
		return k
	}
	k = over(times(num(32), p), n)
	if k.Cmp(room) > 0 {
		k = room
	}
	if k.Sign() == 0 {
		k = one
	}
	for _, unit := range []int64{1e3, 1e6} {
		if u := whole(times(n, num(unit))); u.Cmp(k) <= 0 {
			return times(over(k, u), u)
		}
	}
	return k
}

// reading is rules 2, 3, 6 and 7: the tick of a time since the birth.
func (m *model) reading(elapsed time.Duration) *big.Int {
	if m.n.Sign() == 0 || m.period < 0 {
		return m.end
	}
	e := max(elapsed, 0)
	if m.step > 0 {
		e -= e % m.step
	}
	t := num(int64(e))
	t.Quo(t.Mul(t, m.n).Mul(t, m.k), m.p).Add(t, one)
	if t.Cmp(m.end) > 0 {
		return m.end
	}
	return t
}

// until is rule 5: the wait until the clock shows the tick.
func (m *model) until(tick *big.Int, elapsed time.Duration) time.Duration {
	if tick.Cmp(m.reading(elapsed)) <= 0 {
		return 0
	}
	if m.n.Sign() <= 0 || m.period < 0 || tick.Cmp(m.end) > 0 {
		return gcra.Never
	}
	rate := new(big.Int).Mul(m.n, m.k)
	e := new(big.Int).Sub(tick, one)
	e = ceil(e.Mul(e, m.p), rate)
	if m.step > 0 {
		step := num(int64(m.step))
		e = ceil(e, step)
		e.Mul(e, step)
	}
	if !e.IsInt64() {
		return gcra.Never
	}
	if e.Sub(e, num(int64(elapsed))); e.IsInt64() {
		return time.Duration(e.Int64())
	}
	return gcra.Never
}

// ceil is a/b, rounded up.
func ceil(a, b *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	if r.Sign() > 0 {
		q.Add(q, one)
	}
	return q
}

// there is the balance at a tick.
func (m *model) there(tick *big.Int) *big.Rat {
	gain := new(big.Int).Sub(tick, m.since)
	x := new(big.Rat).SetFrac(gain, m.k)
	if x.Add(x, m.tokens); x.Cmp(m.burst) > 0 {
		return m.burst
	}
	return x
}

// whole is what Remaining shows of it.
func (m *model) whole(tick *big.Int) int {
	switch x := m.there(tick); {
	case m.period < 0:
		return math.MaxInt
	case x.Sign() <= 0:
		return 0
	default:
		return int(min(new(big.Int).Quo(x.Num(), x.Denom()).Int64(), math.MaxInt))
	}
}

// first is the first tick at which n tokens are there, if nobody else asks.
func (m *model) first(n *big.Rat) *big.Int {
	x := new(big.Rat).Sub(n, m.tokens)
	x.Mul(x, new(big.Rat).SetInt(m.k))
	return new(big.Int).Add(m.since, ceil(x.Num(), x.Denom()))
}

// tat is the tick at which the bucket is full.
func (m *model) tat() int64 { return m.first(m.burst).Int64() }

func (m *model) charge(tick *big.Int, n int) {
	if n > 0 && m.period > 0 {
		m.tokens = new(big.Rat).Sub(m.there(tick), new(big.Rat).SetInt64(int64(n)))
		m.since = tick
	}
}

// An answer is every field of a decision and the TAT after it.
type answer struct {
	granted, remaining int
	retry, reset       time.Duration
	err                error
	tat                int64
}

func (a answer) String() string {
	return fmt.Sprintf("granted %d, remaining %d, retry after %d, reset after %d, %v, tat %d",
		a.granted, a.remaining, a.retry, a.reset, a.err, a.tat)
}

// answered is what a package's decision says, for comparison with a model's.
func answered(tat int64, d gcra.Decision) answer {
	return answer{d.Granted(), d.Remaining(), d.RetryAfter(), d.ResetAfter(), d.Err(), tat}
}

// answer fills in what follows from the state after a decision.
func (m *model) answer(elapsed time.Duration, granted int, retry time.Duration, err error) answer {
	full := m.first(m.burst)
	return answer{granted, m.whole(m.reading(elapsed)), retry, m.until(full, elapsed), err, full.Int64()}
}

// wrong is the answer to a cost that no bucket of the limit can serve, or nil.
func (m *model) wrong(elapsed time.Duration, n int) *answer {
	err := error(nil)
	switch {
	case n < 0:
		err = gcra.ErrCost
	case int64(n) > m.spec.burst && m.period >= 0:
		err = gcra.ErrExceedsBurst
	default:
		return nil
	}
	a := m.answer(elapsed, 0, gcra.Never, err)
	return &a
}

func (m *model) take(elapsed time.Duration, n int) answer {
	if a := m.wrong(elapsed, n); a != nil {
		return *a
	}
	now, cost := m.reading(elapsed), new(big.Rat).SetInt64(int64(n))
	if n > 0 && m.period > 0 && m.there(now).Cmp(cost) < 0 {
		return m.answer(elapsed, 0, m.until(m.first(cost), elapsed), gcra.ErrLimited)
	}
	m.charge(now, n)
	return m.answer(elapsed, n, 0, nil)
}

func (m *model) takeUpTo(elapsed time.Duration, n int) answer {
	if n > 0 && m.period > 0 {
		n = max(min(n, m.whole(m.reading(elapsed))), 1)
	}
	return m.take(elapsed, n)
}

func (m *model) peek(elapsed time.Duration, n int) answer {
	before := *m
	a := before.take(elapsed, n)
	return m.answer(elapsed, 0, a.retry, a.err)
}

func (m *model) refuse(elapsed time.Duration, n int) answer {
	empty := *m
	empty.tokens, empty.since = new(big.Rat), m.reading(elapsed)
	return empty.take(elapsed, n)
}

// book is the slot at which n tokens will be there, seen from the tick from.
func (m *model) book(elapsed time.Duration, from *big.Int, n int) (gcra.Booking, answer) {
	if a := m.wrong(elapsed, n); a != nil {
		return gcra.Booking{}, *a
	}
	t := from.Int64()
	if n == 0 || m.period < 0 {
		return gcra.Booking{From: t, Slot: t, End: m.tat()}, m.answer(elapsed, n, 0, nil)
	}
	slot := m.first(new(big.Rat).SetInt64(int64(n)))
	if slot.Cmp(from) < 0 {
		slot = from
	}
	if slot.Cmp(m.end) > 0 {
		return gcra.Booking{}, m.answer(elapsed, 0, m.until(slot, elapsed), gcra.ErrLimited)
	}
	m.charge(from, n)
	cost := new(big.Int).Mul(num(int64(n)), m.k)
	return gcra.Booking{Cost: cost.Int64(), From: t, Slot: slot.Int64(), End: m.tat()}, m.answer(elapsed, n, 0, nil)
}

// schedule is rule 13: where a waiter books from whose timer was late.
func (m *model) schedule(elapsed, late time.Duration, word int64) *big.Int {
	now := m.reading(elapsed)
	then := m.reading(max(elapsed, 0) - min(late, max(elapsed, 0)))
	if v := num(word); m.step == 0 && then.Cmp(v) <= 0 && v.Cmp(now) < 0 {
		return v
	}
	return now
}

// giveBack is rule 15, case by case.
func (m *model) giveBack(elapsed time.Duration, b gcra.Booking, n int) int64 {
	now, word, c := m.reading(elapsed), num(m.tat()), num(b.Cost)
	span := new(big.Int).Mul(num(m.spec.burst), m.k)
	a := new(big.Int).Mul(num(int64(max(n, 0))), m.k)
	if a.Cmp(c) > 0 {
		a = c
	}
	early := now.Cmp(num(b.Slot)) < 0
	back := new(big.Int)
	switch limit := new(big.Int).Add(now, span); {
	case early && a.Cmp(c) == 0 && word.Cmp(num(b.End)) == 0: // (1)
		back = a
	case early && a.Cmp(c) < 0:
	case word.Cmp(limit) > 0: // (2)
	default: // (3)
		refilled := new(big.Int).Sub(now, num(b.From))
		back = least(a, new(big.Int).Sub(c, refilled), new(big.Int).Sub(word, now))
	}
	if back.Sign() > 0 {
		m.tokens = new(big.Rat).Add(m.tokens, new(big.Rat).SetFrac(back, m.k))
	}
	return m.tat()
}

func least(v *big.Int, more ...*big.Int) *big.Int {
	for _, w := range more {
		if w.Cmp(v) < 0 {
			v = w
		}
	}
	return v
}
