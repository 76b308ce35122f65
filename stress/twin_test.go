package stress_test

import (
	"math"
	"math/big"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/stress"
)

func twinSubject(t *testing.T, flaw string) stress.Subject {
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	capped := func(limit gcra.Limit, c clock.Clock, keys int, admit bool) stress.Engine {
		e := &twin{limit: limit, flaw: flaw, most: keys, admit: admit, cells: make(map[uint64]*word)}
		e.core.Init(limit, gatomic.WithClock(c))
		e.gen = e.core.Current()
		e.fresh = e.gen.Fresh()
		full := limit.Burst(max(limit.Capacity(), 1)).Start(0)
		e.span = gcra.Fresh(&full, gcra.At(&full, 0)) - gcra.At(&full, 0).Tick
		if flaw == "janitor" {
			go func() { <-stop }()
		}
		return e
	}
	return stress.Subject{
		Name: "twin: " + flaw,
		New: func(limit gcra.Limit, c clock.Clock) stress.Engine {
			return capped(limit, c, math.MaxInt, false)
		},
		NewCapped: capped,
		NewOdd: func(limit gcra.Limit, c clock.Clock, admit bool) stress.Engine {
			return &oddTwin{twin: capped(limit, c, 0, admit).(*twin)}
		},
		Join: joinTwins,
	}
}

const dead = math.MinInt64

type word struct {
	atomic.Int64
	last int64 // the last instant, for "rewinds"
}

// twin is a keyed limiter like the real one, with a mutex where that has a
// concurrent map.
type twin struct {
	limit       gcra.Limit
	fresh, span int64
	core        gatomic.Core
	gen         *gatomic.Generation
	flaw        string
	most        int
	least       int // the keys that it was made for, if there may be more
	admit       bool

	mu    sync.Mutex
	cells map[uint64]*word
	sink  *int
}

type op = func(*gcra.Limit, int64, gcra.Instant, int) (int64, gcra.Decision)

func (e *twin) now() gcra.Instant {
	at := e.gen.At(e.core.Now())
	if n, period := e.limit.Rate(); e.flaw == "interval truncated" && n > 0 && at.Elapsed > 0 && int64(period) > int64(n) {
		// As if a token took ⌊period/n⌋ ns, which is less.
		short := big.NewInt(int64(period) / int64(n) * int64(n))
		elapsed := new(big.Int).Mul(big.NewInt(int64(at.Elapsed)), big.NewInt(int64(period)))
		at.Tick = gcra.At(&e.limit, time.Duration(elapsed.Div(elapsed, short).Int64())).Tick
	}
	return at
}

func (e *twin) find(key uint64) *word {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cells[key]
}

func (e *twin) AllowN(key uint64, n int) bool        { return e.Take(key, n).OK() }
func (e *twin) Take(key uint64, n int) gcra.Decision { return e.decide(key, n, e.take) }
func (e *twin) TakeUpTo(key uint64, n int) gcra.Decision {
	if e.flaw == "parts in two steps" && n > 1 {
		if there := e.Peek(key, 0).Remaining(); there > 0 {
			runtime.Gosched()
			return e.Take(key, min(n, there))
		}
	}
	return e.decide(key, n, e.takeUpTo)
}

func (e *twin) take(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
	return e.flawed(gcra.Take, l, tat, at, n)
}

func (e *twin) takeUpTo(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
	return e.flawed(gcra.TakeUpTo, l, tat, at, n)
}

// flawed does the arithmetic, right or wrong.
func (e *twin) flawed(op op, l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
	if e.flaw == "a negative cost is a refund" && n < 0 {
		return tat + int64(n), gcra.Decision{}
	}
	if e.flaw == "no max with now" && tat < at.Tick {
		at.Tick = tat
	}
	next, d := op(l, tat, at, n)
	switch {
	case e.flaw == "a tick of tolerance" && d.Err() == gcra.ErrLimited:
		if over, d := op(l, tat, gcra.Instant{Tick: at.Tick + 1, Elapsed: at.Elapsed}, n); d.OK() {
			return over, d
		}
	case e.flaw == "> for >=" && next != tat && next == at.Tick+e.span:
		return tat, gcra.Refuse(l, at, n)
	case e.flaw == "refusal writes" && d.Err() == gcra.ErrLimited:
		return tat + 1, d
	}
	return next, d
}

func (e *twin) decide(key uint64, n int, op op) gcra.Decision {
	at := e.now()
	if e.flaw == "allocates" {
		e.mu.Lock()
		e.sink = new(int)
		e.mu.Unlock()
	}
	for {
		c := e.find(key)
		if c == nil {
			if d, done := e.insert(key, at, n, op); done {
				return d
			}
			continue
		}
		tat := c.Load()
		if tat == dead && e.flaw != "charges the dead" {
			runtime.Gosched()
			continue // until the sweeper has deleted it
		}
		from := max(tat, 0)
		if e.flaw == "rewinds" {
			e.mu.Lock()
			if at.Tick < c.last {
				from -= c.last - at.Tick
			}
			c.last = at.Tick
			e.mu.Unlock()
		}
		if e.flaw == "fetch-add without undo" && n > 0 {
			for t := c.Load(); t < at.Tick && !c.CompareAndSwap(t, at.Tick); t = c.Load() {
			}
			cost := min(int64(n), int64(e.limit.Capacity())) * (e.span / int64(max(e.limit.Capacity(), 1)))
			_, d := op(&e.limit, c.Add(cost)-cost, at, n)
			return d
		}
		next, d := op(&e.limit, from, at, n)
		if e.flaw == "refusal stores what it read" && next == tat {
			runtime.Gosched()
			c.Store(tat)
		}
		if e.flaw == "load then store" || e.flaw == "rewinds" {
			runtime.Gosched()
			c.Store(next)
			return d
		}
		if next == tat || c.CompareAndSwap(tat, next) {
			return d
		}
	}
}

func (e *twin) insert(key uint64, at gcra.Instant, n int, op op) (gcra.Decision, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cells[key] != nil {
		return gcra.Decision{}, false
	}
	if e.flaw != "stale insert" {
		at = e.now()
	}
	next, d := op(&e.limit, e.fresh, at, n)
	if next == e.fresh {
		return d, true
	}
	if e.least > 0 && len(e.cells) >= e.least {
		switch e.flaw {
		case "charges the refused":
			e.put(key, next, at)
			fallthrough
		case "keeps room":
			return gcra.Refuse(&e.limit, at, n), true
		case "passes the refused":
			return d, true
		}
	}
	if len(e.cells) >= e.most {
		switch {
		case e.flaw == "evicts":
			for victim := range e.cells {
				delete(e.cells, victim)
				break
			}
		case e.flaw == "cap counted late":
			e.mu.Unlock()
			runtime.Gosched()
			e.mu.Lock()
			if len(e.cells) > e.most+1 {
				return gcra.Refuse(&e.limit, at, n), true
			}
		case e.sweep(at) > 0:
		case e.admit:
			return d, true
		default:
			return gcra.Refuse(&e.limit, at, n), true
		}
	}
	e.put(key, next, at)
	return d, true
}

func (e *twin) put(key uint64, tat int64, at gcra.Instant) {
	c := &word{last: at.Tick}
	c.Store(tat)
	e.cells[key] = c
}

func (e *twin) Peek(key uint64, n int) gcra.Decision {
	at, tat := e.now(), e.fresh
	c := e.find(key)
	if c == nil && e.flaw == "peek makes a cell" {
		e.mu.Lock()
		e.put(key, e.fresh, at)
		e.mu.Unlock()
	}
	if c != nil {
		if t := c.Load(); t != dead {
			tat = t
		}
	}
	return gcra.Peek(&e.limit, tat, at, n)
}

func (e *twin) Reset(key uint64) {
	e.reset(key)
	for i := 0; i < 20 && e.flaw == "reset until it holds"; i++ {
		if runtime.Gosched(); e.Peek(key, 0).ResetAfter() > 0 {
			e.reset(key)
		}
	}
}

func (e *twin) reset(key uint64) {
	at := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.cells[key]; c != nil {
		if tat := c.Load(); tat > max(e.fresh, at.Tick) {
			c.Store(max(e.fresh, at.Tick))
		}
	}
}

func (e *twin) Len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.cells)
}

func (e *twin) Sweep() int {
	at := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sweep(at)
}

func (e *twin) sweep(at gcra.Instant) (forgotten int) {
	if e.flaw == "never forgets" {
		return 0
	}
	for key, c := range e.cells {
		tat, margin := c.Load(), int64(0)
		if e.flaw == "forgets early" {
			margin = e.span / int64(e.limit.Capacity())
		}
		if tat > at.Tick+margin || e.fresh > at.Tick {
			continue
		}
		if e.flaw == "sweep without check" {
			e.mu.Unlock() // a charge needs no lock, but here it needs a moment
			runtime.Gosched()
			e.mu.Lock()
		} else if !c.CompareAndSwap(tat, dead) {
			continue
		}
		if e.flaw == "charges the dead" {
			e.mu.Unlock()
			runtime.Gosched()
			e.mu.Lock()
		}
		delete(e.cells, key)
		forgotten++
	}
	return forgotten
}
