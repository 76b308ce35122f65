package histories_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// A twinTable is a table of two slots for two keys, under one limit, with one
// fault. The first slot is taken over whenever that can be.
type twinTable struct {
	flaw  string
	stage *stage
	core  gatomic.Core
	gen   *gatomic.Generation
	mu    sync.Mutex // of those who insert and those who lower
	slots [2]twinSlot
}

type twinSlot struct{ hash, tat, mark atomic.Int64 }

const claimed = math.MinInt64

func makeTwinTable(flaw string) func([2]gcra.Limit, [2]clock.Clock) *rig {
	return func(l [2]gcra.Limit, c [2]clock.Clock) *rig {
		e := &twinTable{flaw: flaw, stage: c[0].(*probe).stage}
		e.core.Init(l[0], gatomic.WithClock(c[0]))
		e.gen = e.core.Current()
		return &rig{lims: [2]limiter{e}}
	}
}

func (e *twinTable) gap() { e.stage.await(8, 60) }

func (e *twinTable) find(h int64) *twinSlot {
	for i := range e.slots {
		if s := &e.slots[i]; s.hash.Load() == h && s.tat.Load() >= 0 {
			return s
		}
	}
	return nil
}

func (e *twinTable) decide(key uint64, n int, op pure) gcra.Decision {
	h, l := int64(key)+1, e.gen.Limit()
	for {
		at := e.gen.At(e.core.Now())
		s := e.find(h)
		if s == nil {
			fresh := e.gen.Fresh()
			if next, d := op(l, fresh, at, n); next == fresh {
				return d
			}
			if d, done := e.insert(h, n, op); done {
				return d
			}
			continue
		}
		tat := s.tat.Load()
		if tat < 0 || s.hash.Load() != h {
			continue
		}
		if e.flaw != "takeover without claim" {
			e.gap()
		}
		next, d := op(l, tat, at, n)
		if next != tat && s.tat.CompareAndSwap(tat, next) || next == tat && s.tat.Load() == tat {
			return d
		}
	}
}

func (e *twinTable) insert(h int64, n int, op pure) (d gcra.Decision, done bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.find(h) != nil {
		return d, false
	}
	at, fresh := e.gen.At(e.core.Now()), e.gen.Fresh()
	next, d := op(e.gen.Limit(), fresh, at, n)
	if next == fresh {
		return d, true
	}
	for i := range e.slots {
		s := &e.slots[i]
		tat := s.tat.Load()
		free := tat == 0 || tat > 0 && tat < at.Tick && fresh < at.Tick && s.mark.Load() < at.Tick
		if e.flaw == "takeover without mark" {
			free = tat == 0 || tat > 0 && tat < at.Tick && fresh < at.Tick
		}
		switch {
		case !free:
		case e.flaw == "takeover without claim":
			if s.tat.CompareAndSwap(tat, next) {
				e.gap()
				s.hash.Store(h)
				return d, true
			}
		case s.tat.CompareAndSwap(tat, claimed):
			s.hash.Store(h)
			s.tat.Store(next)
			return d, true
		}
	}
	return d, false // try again
}

func (e *twinTable) AllowN(key uint64, n int) bool            { return e.Take(key, n).OK() }
func (e *twinTable) Take(key uint64, n int) gcra.Decision     { return e.decide(key, n, gcra.Take) }
func (e *twinTable) TakeUpTo(key uint64, n int) gcra.Decision { return e.decide(key, n, gcra.TakeUpTo) }
func (e *twinTable) Peek(key uint64, n int) gcra.Decision     { return e.decide(key, n, look) }
func (e *twinTable) Debit(key uint64, n int) gcra.Decision {
	return e.decide(key, n, new(checker).charge)
}

type tableLoan struct {
	loan
	t *twinTable
}

func (e *twinTable) ReserveWithin(key uint64, within time.Duration, n int) reservation {
	r := &tableLoan{loan{key: key, n: n}, e}
	first := true
	r.d = e.decide(key, n, func(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
		if first {
			first, r.at = false, at
		}
		c := &checker{read: at.Elapsed}
		next, d := c.book(&op{reads: []reading{{at: r.at.Elapsed}}}, within, &r.b)(l, tat, at, n)
		if r.delay = d.RetryAfter(); d.OK() {
			r.delay = gcra.Until(l, r.b.Slot, at)
		}
		return next, d
	})
	return r
}

func (r *tableLoan) Settle(actual int) {
	e := r.t
	e.mu.Lock()
	if actual < 0 || r.done {
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
	for s := e.find(int64(r.key) + 1); s != nil; {
		tat := s.tat.Load()
		at := e.gen.At(e.core.Now())
		next := gcra.GiveBack(e.gen.Limit(), tat, at, r.b, r.n-actual)
		if next == tat {
			return
		}
		for old := s.mark.Load(); old < tat && !s.mark.CompareAndSwap(old, tat); old = s.mark.Load() {
		}
		if s.tat.CompareAndSwap(tat, next) {
			return
		}
	}
}

// heldUp is the program in which a swap is held up while the TAT that it waits
// for is lowered, its slot taken over, and the same TAT comes again.
func heldUp(rng *rand.Rand) [][]*op {
	wait := time.Duration(1 + rng.IntN(2))
	return [][]*op{
		{{kind: reserve, n: 2}, {kind: settle}, {kind: advance, within: wait}, {kind: take, key: 1, n: 1}, {kind: peek, key: 1}, {kind: peek}},
		{{kind: take, n: 1}, {kind: peek}, {kind: peek, key: 1}},
	}
}
