package stress_test

import (
	"context"
	"math"
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

// twins are limiters with one fault each, and the law under which the suite
// has to reject them.
var twins = []struct {
	flaw string
	law  string
	why  string
}{
	{"load then store", "L1 window", "two goroutines spend the same tokens"},
	{"> for >=", "L2 exact", "a request that fits exactly is refused"},
	{"no max with now", "L2 exact", "an idle key saves up more than its burst"},
	{"no max with now", "L1 window", "an idle key saves up more than its burst"},
	{"refusal writes", "L3 refusal is a read", "who asks too often waits for ever"},
	{"peek makes a cell", "L3 refusal is a read", "a flood of reads fills memory"},
	{"sweep without check", "L6 forget", "a charge between check and delete is lost"},
	{"charges the dead", "L6 forget", "a charge to a cell that has left the map is lost"},
	{"stale insert", "L6 forget", "a charge dated into the past weighs nothing"},
	{"forgets early", "L6 forget", "a debt of less than a token is lost"},
	{"never forgets", "L6 forget", "memory grows without bound"},
	{"evicts", "L7 bounded memory", "a flood frees those who owe time"},
	{"cap counted late", "L7 bounded memory", "racing inserts overshoot the cap"},
	{"joint keeps the first charge", "L8 joint", "a refusal costs those who would have granted"},
	{"joint rolls back to the take", "L8 joint", "what others took since is there again"},
	{"joint ignores the last member", "L8 joint", "one limit of several is not kept"},
	{"joint forgets to roll back", "L8 joint", "a lost race costs those who had granted"},
	{"rewinds", "L9 time", "an old reading makes time pass twice"},
	{"polls", "L10 waiting", "who wakes first wins, not who came first"},
	{"keeps the slot", "L10 waiting", "a waiter that gave up leaves its slot empty"},
	{"frees the middle", "L10 waiting", "a slot before others' is given twice"},
	{"books past the deadline", "L10 waiting", "a hopeless waiter takes a slot"},
	{"takes when done", "L10 waiting", "a dead request takes a token"},
	{"context wins", "L10 waiting", "a token is taken and an error returned"},
	{"allocates", "L11 no hidden work", "garbage in the hot path"},
	{"janitor", "L11 no hidden work", "a goroutine for each limiter"},
}

func TestTwinsAreRejected(t *testing.T) {
	for _, row := range twins {
		t.Run(row.flaw, func(t *testing.T) {
			err := law(t, row.law).Check(t, twinSubject(t, row.flaw))
			if err == nil {
				t.Fatalf("%s passed %s: %s", row.flaw, row.law, row.why)
			}
			t.Log(err)
		})
	}
}

// The twin without a flaw passes, so it is the flaws that are rejected.
func TestTwinWithoutFlaw(t *testing.T) { stress.Run(t, twinSubject(t, "")) }

func law(t *testing.T, name string) stress.Law {
	for _, law := range stress.Laws() {
		if law.Name == name {
			return law
		}
	}
	t.Fatalf("there is no law %q", name)
	return stress.Law{}
}

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
		Join:      joinTwins,
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

func (e *twin) now() gcra.Instant { return e.gen.At(e.core.Now()) }

func (e *twin) find(key uint64) *word {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cells[key]
}

func (e *twin) AllowN(key uint64, n int) bool            { return e.Take(key, n).OK() }
func (e *twin) Take(key uint64, n int) gcra.Decision     { return e.decide(key, n, e.take) }
func (e *twin) TakeUpTo(key uint64, n int) gcra.Decision { return e.decide(key, n, e.takeUpTo) }

func (e *twin) take(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
	return e.flawed(gcra.Take, l, tat, at, n)
}

func (e *twin) takeUpTo(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
	return e.flawed(gcra.TakeUpTo, l, tat, at, n)
}

// flawed does the arithmetic, right or wrong.
func (e *twin) flawed(op op, l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
	if e.flaw == "no max with now" && tat < at.Tick {
		at.Tick = tat
	}
	next, d := op(l, tat, at, n)
	switch {
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
		next, d := op(&e.limit, from, at, n)
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

// WaitN books in the key's cell, which it makes if there is none.
func (e *twin) WaitN(ctx context.Context, key uint64, n int) error {
	if e.flaw == "polls" {
		return e.poll(ctx, key, n)
	}
	asked := ctx
	if e.flaw == "takes when done" || e.flaw == "books past the deadline" && ctx.Err() == nil {
		asked = context.WithoutCancel(ctx)
	}
	t, err := e.core.Begin(asked)
	if err != nil {
		return err
	}
	for {
		c := e.find(key)
		if c == nil {
			e.mu.Lock()
			if e.cells[key] == nil {
				t = e.core.Again(t, e.core.Now())
				e.put(key, max(e.fresh, t.At(e.gen).Tick), t.At(e.gen))
			}
			e.mu.Unlock()
			continue
		}
		tat := c.Load()
		if tat == dead {
			runtime.Gosched()
			continue
		}
		b, d := t.Book(e.gen, tat, n)
		if d.OK() && b.End != tat && !c.CompareAndSwap(tat, b.End) {
			continue
		}
		err := e.core.Finish(ctx, e.gen, t, n, b, d, nil)
		if err != nil && d.OK() {
			e.giveBack(c, b, n)
		}
		if err == nil && e.flaw == "context wins" {
			err = ctx.Err()
		}
		return err
	}
}

func (e *twin) giveBack(c *word, b gcra.Booking, n int) {
	at := e.now()
	for e.flaw != "keeps the slot" {
		tat := c.Load()
		next := gcra.GiveBack(&e.limit, tat, at, b, n)
		if e.flaw == "frees the middle" {
			next = tat - min(b.Cost, max(tat-at.Tick, 0))
		}
		if c.CompareAndSwap(tat, next) {
			return
		}
	}
}

func (e *twin) poll(ctx context.Context, key uint64, n int) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		d := e.Take(key, n)
		if d.Err() != gcra.ErrLimited {
			return d.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d.RetryAfter()):
		}
	}
}
