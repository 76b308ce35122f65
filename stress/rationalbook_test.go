package stress_test

import (
	"fmt"
	"math/big"
	"time"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/stress"
)

// ticket is a reservation of the reference.
type ticket struct {
	e          *rational
	key        uint64
	n          int
	ok         bool
	delay      time.Duration
	in         *line // that it was booked in
	change     int
	from, slot *big.Int // ticks
	end        *big.Rat // the level that it left, at tick 0
	b          gcra.Booking
	done       bool
}

// zero is the line's level at tick 0, as if it were never cut off.
func (e *rational) zero(l *line) *big.Rat {
	return new(big.Rat).Sub(l.level, e.tokens(l.tick))
}

func (e *rational) Reserve(key uint64, n int) stress.Reservation {
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.lines[key]
	if l == nil {
		l, now = e.fresh, e.now()
	}
	now = max(now, e.since)
	e.latest = max(e.latest, now)
	tick := e.ticks(now)
	level, at := e.at(l, tick), gcra.At(&e.limit, now)
	r := &ticket{e: e, key: key, n: n, change: e.change, from: tick, slot: tick}

	charge, err := e.fits(n)(level)
	rate, _ := e.limit.Rate()
	if err == gcra.ErrLimited && rate > 0 {
		charge, err = n, nil
		wait := new(big.Rat).Sub(big.NewRat(int64(n), 1), level)
		wait.Mul(wait, big.NewRat(e.k, 1))
		r.slot = new(big.Int).Add(tick, wait.Num())
	}
	b, d := gcra.Book(&e.limit, e.tat(level, at), at, at.Tick, n)
	level.Sub(level, big.NewRat(int64(charge), 1))
	if r.ok, r.b, r.delay = err == nil, b, d.RetryAfter(); d.Err() != err {
		panic(fmt.Sprintf("%v: booking %d: err %v, want %v", e.limit, n, d.Err(), err))
	}
	if !r.ok {
		return r
	}
	r.delay = e.until(r.slot, now)
	if want := gcra.Until(&e.limit, b.Slot, at); charge > 0 && (b.End != e.tat(level, at) || r.delay != want) {
		panic(fmt.Sprintf("%v: booking %d: TAT %d in %v, want %d in %v", e.limit, n, b.End, want, e.tat(level, at), r.delay))
	}
	if charge > 0 && e.k > 0 {
		r.in = e.put(key, level, tick)
		r.end = e.zero(r.in)
	}
	return r
}

// until is the time until the clock shows the tick: the first nanosecond whose
// ⌊elapsed·R⌋ is no less, or the first step after it.
func (e *rational) until(tick *big.Int, now time.Duration) time.Duration {
	if tick.Cmp(e.ticks(now)) <= 0 {
		return 0
	}
	n, period := e.limit.Rate()
	q := new(big.Int).Mul(tick, big.NewInt(int64(period)))
	r := new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(e.k))
	q.Add(q, r).Sub(q, big.NewInt(1)).Div(q, r)
	first := time.Duration(q.Int64())
	if down := e.limit.Birth(first); down < first { // within a step
		step := time.Duration(1)
		for e.limit.Birth(down+step) == down {
			step *= 2
		}
		first = e.limit.Birth(down + step)
	}
	return first - now
}

func (r *ticket) OK() bool             { return r.ok }
func (r *ticket) Delay() time.Duration { return r.delay }
func (r *ticket) Cancel()              { r.Settle(0) }

func (r *ticket) Settle(actual int) {
	e := r.e
	e.mu.Lock()
	defer e.mu.Unlock()
	if actual < 0 || !r.ok || r.done {
		return
	}
	if r.done = true; actual > r.n {
		e.mu.Unlock()
		e.Debit(r.key, actual-r.n)
		e.mu.Lock()
		return
	}
	for {
		l := e.lines[r.key]
		if l == nil || l != r.in || r.change != e.change {
			return
		}
		was := e.zero(l)
		e.mu.Unlock()
		now := e.now()
		e.mu.Lock()
		if l == e.lines[r.key] && r.change == e.change && was.Cmp(e.zero(l)) == 0 {
			r.back(l, now, r.n-actual)
			return
		}
	}
}

// back is the rule of give-back, in tokens.
func (r *ticket) back(l *line, now time.Duration, n int) {
	e := r.e
	now = max(now, e.since)
	tick, at := e.ticks(now), gcra.At(&e.limit, now)
	level := e.at(l, tick)
	back, whole := new(big.Rat), big.NewRat(int64(n), 1)
	switch {
	case tick.Cmp(r.slot) < 0 && r.end.Cmp(e.zero(l)) == 0:
		if n == r.n {
			back = whole
		}
	case level.Sign() < 0:
	default:
		left := new(big.Rat).Sub(big.NewRat(int64(r.n), 1), e.tokens(new(big.Int).Sub(tick, r.from)))
		missing := new(big.Rat).Sub(e.burst(), level)
		for _, most := range []*big.Rat{left, missing, whole} {
			if back.Sign() == 0 || most.Cmp(back) < 0 {
				back = most
			}
		}
		if left.Sign() <= 0 || missing.Sign() <= 0 {
			back = new(big.Rat)
		}
	}
	tat := e.tat(level, at)
	level.Add(level, back)
	if got := gcra.GiveBack(&e.limit, tat, at, r.b, n); got != e.tat(level, at) && back.Sign() > 0 || back.Sign() == 0 && got < tat {
		panic(fmt.Sprintf("%v: %d of %d given back: TAT %d, want %d", e.limit, n, r.n, got, e.tat(level, at)))
	}
	if back.Sign() > 0 {
		l.level, l.tick = level, tick
	}
}
