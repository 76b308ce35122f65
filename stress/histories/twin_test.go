package histories_test

import (
	"sync"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// A twin is a keyed limiter under one lock, with one fault. Where the fault is a
// gap it dawdles there.
type twin struct {
	flaw  string
	stage *stage
	core  gatomic.Core
	mu    sync.Mutex
	cells map[uint64]*word
	reset map[uint64]int // how often; not forgotten
}

type word struct {
	tat int64
	gen *gatomic.Generation
}

func makeTwin(flaw string) func([2]gcra.Limit, [2]clock.Clock) *rig {
	return func(l [2]gcra.Limit, c [2]clock.Clock) *rig {
		e := &twin{flaw: flaw, stage: c[0].(*probe).stage, cells: map[uint64]*word{}, reset: map[uint64]int{}}
		e.core.Init(l[0], gatomic.WithClock(c[0]))
		return &rig{lims: [2]limiter{e}}
	}
}

func (e *twin) gap() { e.stage.await(8, 60) }

// read returns what a decision decides with, the lock being held.
func (e *twin) read(key uint64) (now time.Duration, g *gatomic.Generation, tat int64) {
	if e.flaw == "generation first" {
		g = e.core.Current()
		e.mu.Unlock()
		e.gap()
		e.mu.Lock()
		now = e.core.Now()
		if c := e.cells[key]; c != nil && c.gen != g {
			g = e.core.Current() // as one who meets a newer cell has to
		}
	} else {
		now = e.core.Now()
		g = e.core.Current()
	}
	return now, g, e.balance(key, g)
}

func (e *twin) balance(key uint64, g *gatomic.Generation) int64 {
	c := e.cells[key]
	if c == nil {
		return g.Fresh()
	}
	return c.gen.Forward(c.tat, g)
}

func (e *twin) decide(key uint64, n int, op func(*gatomic.Generation, time.Duration, int64) int64) {
	var now time.Duration
	if e.flaw == "stale insert" {
		now = e.core.Now()
		e.gap()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.flaw == "parity bit" {
		e.decideByParity(key, op)
		return
	}
	again, g, tat := e.read(key)
	if e.flaw != "stale insert" || e.cells[key] != nil {
		now = again
	}
	held := e.cells[key]
	if e.flaw == "load then store" {
		e.mu.Unlock()
		e.gap()
		e.mu.Lock()
	}
	if e.flaw == "charges the dead" && held != nil && held.gen == g {
		e.mu.Unlock()
		e.gap()
		e.mu.Lock()
		held.tat = op(g, now, held.tat) // whether or not it is still in the map
		return
	}
	if next := op(g, now, tat); next != tat {
		e.cells[key] = &word{next, g}
	}
}

// decideByParity takes a word for one of its generation if the last bit of that
// is the same.
func (e *twin) decideByParity(key uint64, op func(*gatomic.Generation, time.Duration, int64) int64) {
	for {
		now := e.core.Now()
		g := e.core.Current()
		e.mu.Unlock()
		e.gap()
		e.mu.Lock()
		in := e.core.Current()
		if (in.Chain()-g.Chain())%2 != 0 {
			continue
		}
		tat := e.balance(key, in)
		if next := op(g, now, tat); next != tat {
			e.cells[key] = &word{next, in}
		}
		return
	}
}

type pure func(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision)

func (e *twin) take(key uint64, n int, op pure) (d gcra.Decision) {
	e.decide(key, n, func(g *gatomic.Generation, now time.Duration, tat int64) (next int64) {
		next, d = op(g.Limit(), tat, g.At(now), n)
		return next
	})
	return d
}

func (e *twin) AllowN(key uint64, n int) bool            { return e.Take(key, n).OK() }
func (e *twin) Take(key uint64, n int) gcra.Decision     { return e.take(key, n, gcra.Take) }
func (e *twin) TakeUpTo(key uint64, n int) gcra.Decision { return e.take(key, n, gcra.TakeUpTo) }
func (e *twin) Peek(key uint64, n int) gcra.Decision     { return e.take(key, n, look) }
func (e *twin) Debit(key uint64, n int) gcra.Decision    { return e.take(key, n, new(checker).charge) }

// A loan is a twin's reservation.
type loan struct {
	e      *twin
	key    uint64
	gen    *gatomic.Generation
	resets int
	b      gcra.Booking
	at     gcra.Instant
	d      gcra.Decision
	delay  time.Duration
	n      int
	done   bool
}

func (r *loan) Delay() time.Duration    { return r.delay }
func (r *loan) Decision() gcra.Decision { return r.d }

func (e *twin) ReserveWithin(key uint64, within time.Duration, n int) reservation {
	r := &loan{e: e, key: key, n: n}
	first := time.Duration(-1)
	e.decide(key, n, func(g *gatomic.Generation, now time.Duration, tat int64) int64 {
		if first < 0 {
			first = now
		}
		c := &checker{read: now}
		var next int64
		op := c.book(&op{reads: []reading{{at: first}}}, within, &r.b)
		r.gen, r.at, r.resets = g, g.At(now), e.reset[key]
		next, r.d = op(g.Limit(), tat, r.at, n)
		if r.delay = r.d.RetryAfter(); r.d.OK() {
			r.delay = gcra.Until(g.Limit(), r.b.Slot, r.at)
		}
		return next
	})
	return r
}

func (r *loan) Settle(actual int) {
	e := r.e
	e.mu.Lock()
	if actual < 0 || !r.d.OK() || r.done && e.flaw != "cancel twice" {
		e.mu.Unlock()
		return
	}
	r.done = true
	if actual > r.n {
		e.mu.Unlock()
		e.Debit(r.key, actual-r.n)
		return
	}
	defer e.mu.Unlock()
	now := e.core.Now()
	g := e.core.Current()
	if g != r.gen && e.flaw != "cancel across a change" || e.reset[r.key] != r.resets {
		return
	}
	at, tat := g.At(now), e.balance(r.key, g)
	if e.flaw == "cancel at the booking's instant" {
		at = r.at
	}
	if next := gcra.GiveBack(r.gen.Limit(), tat, at, r.b, r.n-actual); next != tat {
		e.cells[r.key] = &word{next, g}
	}
}

func (e *twin) Reset(key uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.core.Now()
	g := e.core.Current()
	if lower := max(g.Fresh(), g.At(now).Tick); e.balance(key, g) > lower {
		e.cells[key] = &word{lower, g}
		e.reset[key]++
	}
}

func (e *twin) Sweep() (forgotten int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.core.Now()
	g := e.core.Current()
	at := g.At(now).Tick
	if e.flaw == "forgets early" {
		next, _ := gcra.Allow(g.Limit(), 1, gcra.Instant{}, 1)
		at += next - 1 // a token
	}
	for key := range e.cells {
		if e.balance(key, g) <= at && g.Fresh() <= at {
			delete(e.cells, key)
			forgotten++
		}
	}
	return forgotten
}

func (e *twin) SetLimit(l gcra.Limit) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if *e.core.Current().Limit() == l {
		return
	}
	g := e.core.SetLimit(l, nil)
	if e.flaw == "SetLimit refills" {
		clear(e.cells)
	}
	if e.flaw == "SetLimit keeps the ticks" {
		for _, c := range e.cells {
			c.gen = g
		}
	}
}
