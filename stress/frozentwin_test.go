package stress_test

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/stress"
)

// frozenTwins keep a cell for each key, of the limit that it was charged under.
// Who meets an older one freezes it and replaces it by its conversion.
var frozenTwins = []broken{
	{"charges the frozen", "L5 change of limit/race", "the charge is in a cell that was already converted"},
	{"converts without freezing", "L5 change of limit/race", "what is charged while it converts is lost"},
	{"frozen is dead", "L5 change of limit/case by case", "a key that was on its way has a full burst"},
}

type frozenTwin struct {
	flaw  string
	clock clock.Clock
	born  time.Duration
	now   atomic.Pointer[era]

	mu    sync.Mutex
	cells map[uint64]*dated
}

// An era is what a limit is in force in. It begins when somebody has read the
// clock after it was published.
type era struct {
	limit gcra.Limit
	since atomic.Int64 // -1: not begun
	fresh atomic.Int64
	last  *era
}

type dated struct {
	era  *era
	word atomic.Int64 // with the sign bit: frozen
}

func frozenSubject(_ *testing.T, flaw string) stress.Subject {
	return stress.Subject{Name: "frozen: " + flaw, New: func(limit gcra.Limit, c clock.Clock) stress.Engine {
		e := &frozenTwin{flaw: flaw, clock: c, born: c.Now(), cells: make(map[uint64]*dated)}
		first := &era{limit: limit}
		first.fresh.Store(gcra.Fresh(&limit, gcra.At(&limit, 0)))
		e.now.Store(first)
		return e
	}}
}

// at reads an instant as the era does, which began no later.
func (g *era) at(elapsed time.Duration) gcra.Instant {
	return gcra.At(&g.limit, max(elapsed, time.Duration(g.since.Load())))
}

// from brings a TAT over from an older era, one change after another.
func (g *era) from(old *era, tat int64) int64 {
	if g == old {
		return tat
	}
	tat = g.last.from(old, tat)
	since := time.Duration(g.since.Load())
	return gcra.Convert(tat, &g.last.limit, gcra.At(&g.last.limit, since), &g.limit, gcra.At(&g.limit, since))
}

// current returns the era in force, begun.
func (e *frozenTwin) current() *era {
	g := e.now.Load()
	if g.since.Load() < 0 {
		g.since.CompareAndSwap(-1, int64(e.clock.Now()-e.born))
	}
	if g.last != nil && g.fresh.Load() == 0 {
		g.fresh.Store(g.from(g.last, g.last.fresh.Load()))
	}
	return g
}

// cell returns the key's cell and the era in force, after it has brought the
// cell there; nil if there is none.
func (e *frozenTwin) cell(key uint64) (*dated, *era) {
	for {
		g := e.current()
		e.mu.Lock()
		c, same := e.cells[key], g == e.now.Load()
		e.mu.Unlock()
		if !same {
			continue
		}
		if c == nil || c.era == g {
			return c, g
		}
		word := c.word.Load()
		if e.flaw != "converts without freezing" && !c.word.CompareAndSwap(word, word|math.MinInt64) {
			continue
		}
		runtime.Gosched()
		next := &dated{era: g}
		next.word.Store(g.from(c.era, word&math.MaxInt64))
		e.mu.Lock()
		switch {
		case e.cells[key] != c:
		case e.flaw == "frozen is dead":
			delete(e.cells, key)
		default:
			e.cells[key] = next
		}
		e.mu.Unlock()
	}
}

func (e *frozenTwin) decide(key uint64, n int, op op) gcra.Decision {
	now := e.clock.Now() - e.born
	for {
		c, g := e.cell(key)
		if c == nil {
			e.mu.Lock()
			if e.cells[key] != nil || e.now.Load() != g {
				e.mu.Unlock()
				continue
			}
			now = e.clock.Now() - e.born
			next, d := op(&g.limit, g.fresh.Load(), g.at(now), n)
			if next != g.fresh.Load() {
				c := &dated{era: g}
				c.word.Store(next)
				e.cells[key] = c
			}
			e.mu.Unlock()
			return d
		}
		runtime.Gosched()
		word := c.word.Load()
		if word < 0 && e.flaw != "charges the frozen" {
			continue
		}
		next, d := op(&g.limit, word&math.MaxInt64, g.at(now), n)
		if c.word.CompareAndSwap(word, next|word&math.MinInt64) {
			return d
		}
	}
}

func (e *frozenTwin) SetLimit(limit gcra.Limit) {
	for {
		last := e.current()
		if last.limit == limit {
			return
		}
		next := &era{limit: limit, last: last}
		if next.since.Store(-1); e.now.CompareAndSwap(last, next) {
			e.current()
			return
		}
	}
}

func (e *frozenTwin) AllowN(key uint64, n int) bool        { return e.Take(key, n).OK() }
func (e *frozenTwin) Take(key uint64, n int) gcra.Decision { return e.decide(key, n, gcra.Take) }
func (e *frozenTwin) TakeUpTo(key uint64, n int) gcra.Decision {
	return e.decide(key, n, gcra.TakeUpTo)
}

func (e *frozenTwin) Peek(key uint64, n int) gcra.Decision {
	return e.decide(key, n, func(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
		return tat, gcra.Peek(l, tat, at, n)
	})
}

func (e *frozenTwin) Reset(key uint64) {
	now := e.clock.Now() - e.born
	for {
		c, g := e.cell(key)
		if c == nil {
			return
		}
		word, to := c.word.Load(), max(g.fresh.Load(), g.at(now).Tick)
		if word >= 0 && (word <= to || c.word.CompareAndSwap(word, to)) {
			return
		}
	}
}
