package stress_test

import (
	"fmt"
	"math/big"
	"sync"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/stress"
)

// rational is the reference: buckets of rational tokens under one lock, and none
// of gcra's arithmetic in what it decides. A bucket is a line, its level at an
// instant, which rises by the rate and is cut off at the burst. From gcra come
// the ticks of a token, the step (by Limit.Birth), and the Decision, which nobody
// else can make: of the TAT that follows from the line. What that says has to be
// what the line said, and the TAT after it the line's, or the reference panics:
// so each law that holds for it holds for gcra as against arithmetic without
// words, ticks and overflow.
type rational struct {
	clock clock.Clock
	born  time.Duration

	mu     sync.Mutex
	limit  gcra.Limit
	k      int64         // ticks of a token
	latest time.Duration // that a decision has used
	since  time.Duration // that the limit is in force
	change int           // how many there were
	fresh  *line
	lines  map[uint64]*line
}

// A line is a level of tokens at a tick.
type line struct {
	level *big.Rat
	tick  *big.Int
}

func newRational(limit gcra.Limit, c clock.Clock) stress.Engine {
	e := &rational{clock: c, born: limit.Birth(c.Now()), lines: make(map[uint64]*line)}
	e.use(limit)
	// Start has no accessor: the level that gcra gives a new key is taken over,
	// and the suite compares it.
	at := gcra.At(&e.limit, 0)
	start := big.NewRat(0, 1)
	if e.k > 0 {
		start = e.tokens(big.NewInt(at.Tick - gcra.Fresh(&limit, at)))
		start.Add(start, e.burst())
	}
	e.fresh = &line{start, new(big.Int)}
	return e
}

func (e *rational) use(limit gcra.Limit) {
	b, _ := gcra.Book(&limit, 0, gcra.Instant{}, 0, 1)
	e.limit, e.k = limit, b.Cost
}

func (e *rational) burst() *big.Rat { return big.NewRat(int64(e.limit.Capacity()), 1) }

func (e *rational) tokens(ticks *big.Int) *big.Rat {
	return new(big.Rat).SetFrac(ticks, big.NewInt(max(e.k, 1)))
}

// ticks is ⌊elapsed·R⌋, R being the rate in ticks a nanosecond.
func (e *rational) ticks(elapsed time.Duration) *big.Int {
	n, period := e.limit.Rate()
	if e.k == 0 || n == 0 {
		return new(big.Int)
	}
	r := big.NewInt(int64(e.limit.Birth(max(elapsed, 0)))) // down to a step
	r.Mul(r, big.NewInt(int64(n))).Mul(r, big.NewInt(e.k))
	return r.Div(r, big.NewInt(int64(period)))
}

// at is the line's level at a tick, also before its own.
func (e *rational) at(l *line, tick *big.Int) *big.Rat {
	level := e.tokens(new(big.Int).Sub(tick, l.tick))
	if level.Add(level, l.level); level.Cmp(e.burst()) > 0 {
		return e.burst()
	}
	return level
}

func floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }

// tat is the TAT of a level at gcra's instant.
func (e *rational) tat(level *big.Rat, at gcra.Instant) int64 {
	if e.k == 0 {
		return at.Tick
	}
	missing := new(big.Rat).Sub(e.burst(), level)
	missing.Mul(missing, big.NewRat(e.k, 1))
	if !missing.IsInt() {
		panic(fmt.Sprintf("%v lacks %v ticks", e.limit, missing))
	}
	return at.Tick + missing.Num().Int64()
}

func (e *rational) now() time.Duration { return e.clock.Now() - e.born }

// decide charges a key by what verdict says of its level: how many tokens, and
// why not. Then gcra has its say.
func (e *rational) decide(key uint64, n int, peek bool, op op, verdict func(level *big.Rat) (charge int, err error)) gcra.Decision {
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.lines[key]
	if l == nil {
		l, now = e.fresh, e.now() // it may have come and gone since
	}
	now = max(now, e.since)
	e.latest = max(e.latest, now)
	tick := e.ticks(now)
	level := e.at(l, tick)
	charge, err := verdict(level)

	at := gcra.At(&e.limit, now)
	next, d := op(&e.limit, e.tat(level, at), at, n)
	if !peek {
		level.Sub(level, big.NewRat(int64(charge), 1))
	}
	if rate, _ := e.limit.Rate(); rate > 0 && e.k > 0 && at.Tick != tick.Int64()+1 {
		panic(fmt.Sprintf("%v reads %v as tick %d, want %d", e.limit, now, at.Tick, tick.Int64()+1))
	}
	if d.Err() != err || next != e.tat(level, at) {
		panic(fmt.Sprintf("%v, cost %d: err %v and TAT %d, want %v and %d", e.limit, n, d.Err(), next, err, e.tat(level, at)))
	}
	if charge > 0 && !peek && e.k > 0 {
		e.put(key, level, tick)
	}
	return d
}

func (e *rational) put(key uint64, level *big.Rat, tick *big.Int) *line {
	l := e.lines[key]
	if l == nil {
		l = new(line)
		e.lines[key] = l
	}
	l.level, l.tick = level, tick
	return l
}

// fits is the verdict on n tokens at once.
func (e *rational) fits(n int) func(*big.Rat) (int, error) {
	return func(level *big.Rat) (int, error) {
		switch burst := e.limit.Capacity(); {
		case n < 0:
			return 0, gcra.ErrCost
		case n == 0 || e.limit == gcra.Unlimited():
			return 0, nil
		case n > burst:
			return 0, gcra.ErrExceedsBurst
		case level.Cmp(big.NewRat(int64(n), 1)) < 0:
			return 0, gcra.ErrLimited
		}
		return n, nil
	}
}

// part is the verdict on up to n tokens, of which a debt may take some.
func (e *rational) part(n, debt int) func(*big.Rat) (int, error) {
	return func(level *big.Rat) (int, error) {
		room := floor(new(big.Rat).Add(level, big.NewRat(int64(debt), 1)))
		switch {
		case n < 0:
			return 0, gcra.ErrCost
		case n == 0 || e.limit == gcra.Unlimited():
			return 0, nil
		case room.Sign() <= 0:
			if e.limit == (gcra.Limit{}) {
				return 0, gcra.ErrExceedsBurst
			}
			return 0, gcra.ErrLimited
		case room.Cmp(big.NewInt(int64(n))) < 0:
			return int(room.Int64()), nil
		}
		return n, nil
	}
}

func (e *rational) AllowN(key uint64, n int) bool { return e.Take(key, n).OK() }

func (e *rational) Take(key uint64, n int) gcra.Decision {
	return e.decide(key, n, false, gcra.Take, func(l *big.Rat) (int, error) { return e.fits(n)(l) })
}

func (e *rational) TakeUpTo(key uint64, n int) gcra.Decision {
	return e.decide(key, n, false, gcra.TakeUpTo, func(l *big.Rat) (int, error) { return e.part(n, 0)(l) })
}

func (e *rational) Peek(key uint64, n int) gcra.Decision {
	return e.decide(key, n, true, func(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
		return tat, gcra.Peek(l, tat, at, n)
	}, func(l *big.Rat) (int, error) { return e.fits(n)(l) })
}

func (e *rational) Debit(key uint64, n int) gcra.Decision {
	return e.decide(key, n, false, func(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
		return gcra.Debit(l, tat, at, n, l.Capacity())
	}, func(l *big.Rat) (int, error) { return e.part(n, e.limit.Capacity())(l) })
}

func (e *rational) Reset(key uint64) {
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	tick := e.ticks(max(now, e.since))
	if l := e.lines[key]; l != nil && e.at(l, tick).Cmp(e.at(e.fresh, tick)) < 0 {
		delete(e.lines, key)
	}
}

func (e *rational) Len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.lines)
}

func (e *rational) Sweep() (forgotten int) {
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	tick := e.ticks(max(now, e.since))
	if e.at(e.fresh, tick).Cmp(e.burst()) < 0 {
		return 0
	}
	for key, l := range e.lines {
		if e.at(l, tick).Cmp(e.burst()) == 0 {
			delete(e.lines, key)
			forgotten++
		}
	}
	return forgotten
}

// SetLimit moves every line to the new limit, at an instant that no decision was
// after.
func (e *rational) SetLimit(limit gcra.Limit) {
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if limit == e.limit {
		return
	}
	now = max(now, e.latest)
	was := e.ticks(now)
	lines := []*line{e.fresh}
	for _, l := range e.lines {
		lines = append(lines, l)
	}
	for _, l := range lines {
		l.level = e.at(l, was)
	}
	unlimited := e.limit == gcra.Unlimited()
	e.use(limit)
	e.change++
	for _, l := range lines {
		if l.level.Cmp(e.burst()) > 0 || unlimited {
			l.level = e.burst()
		}
		whole := new(big.Rat).Mul(l.level, big.NewRat(max(e.k, 1), 1))
		l.level, l.tick = e.tokens(floor(whole)), e.ticks(now) // in whole ticks
	}
	e.latest, e.since = now, now
}
