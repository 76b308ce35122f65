package atomic

import (
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/invariants"
)

// A Generation is one limit's time in an engine, from one SetLimit to the
// next: what says whose ticks a word counts. A cell belongs to one generation
// for good. Programs use it only to build an engine of their own out of cells.
//
// What deciders may rely on:
//
//   - Its instant, S, is read after it was published and before the next one
//     is. So a decision that read the clock, then its cell, then found the
//     cell's generation to be the current one, is dated before the S that ends
//     it; were the generation read before the clock, a charge in old ticks
//     could be dated after the change and convert into more than it took.
//   - Who decides under it uses no instant before S. Otherwise the time before
//     the change would count twice, once at each rate.
//   - Everybody converts with the same S, and so to the same word.
type Generation struct {
	limit gcra.Limit
	shift time.Duration // from the engine's first reading back to a step of the limit

	since atomic.Int64 // S, plus one; 0 is not read yet
	fresh atomic.Int64 // the TAT of keys without a cell at S; 0 is not worked out yet
	next  atomic.Pointer[Generation]
	chain int // how many changes came before it

	// What fresh follows from: the generation before as it was when this one
	// was made. Not a pointer, or none would ever be collected.
	old struct {
		limit gcra.Limit
		shift time.Duration
		fresh int64
	}
}

func (c *Core) newGeneration(limit gcra.Limit) *Generation {
	return &Generation{limit: limit, shift: c.born - limit.Birth(c.born)}
}

// first is the generation that an engine is made with.
func (c *Core) first(limit gcra.Limit) *Generation {
	g := c.newGeneration(limit)
	g.since.Store(1)
	g.fresh.Store(gcra.Fresh(&g.limit, g.At(0)))
	return g
}

// SetLimit publishes a generation with that limit, unless the current one has
// the very same, and returns the current one. An engine whose deciders find
// their generation in another place publishes it there in ready, which may be
// nil: after the link that conversion walks along, and before the generation's
// instant can be read.
func (c *Core) SetLimit(limit gcra.Limit, ready func(*Generation)) *Generation {
	c.set.Lock()
	defer c.set.Unlock()
	g := c.Current()
	if g.limit == limit {
		return g
	}
	next := c.newGeneration(limit)
	next.chain = g.chain + 1
	next.old.limit, next.old.shift, next.old.fresh = g.limit, g.shift, g.Fresh()
	if invariants.On {
		invariants.Publish(next.since.Load(), g.since.Load())
	}
	// The link first: who finds the new generation current can walk to it from
	// every older one.
	g.next.Store(next)
	if ready != nil {
		ready(next)
	}
	c.gen.Store(next)
	if invariants.On {
		invariants.Follow(c.Current().since.Load(), g.since.Load())
	}
	return c.Current()
}

// Current returns the generation in force. It has to be called after the
// clock was read and after the cell was found.
func (c *Core) Current() *Generation { return c.Settled(c.gen.Load()) }

// Settled returns g once its instant is known: for an engine that finds the
// generation in force in another place, which has to do as Current says.
func (c *Core) Settled(g *Generation) *Generation {
	if g.fresh.Load() == 0 {
		c.settle(g)
	}
	return g
}

// settle reads the generation's S, unless somebody has. Nobody decides or
// converts under a generation, or publishes the next one, before.
func (c *Core) settle(g *Generation) {
	if g.since.Load() == 0 {
		g.since.CompareAndSwap(0, int64(c.Now())+1)
	}
	// The same number from everybody, and the first stays, since SetFresh may
	// have followed.
	since := time.Duration(g.since.Load() - 1)
	g.fresh.CompareAndSwap(0, gcra.Convert(g.old.fresh,
		&g.old.limit, gcra.At(&g.old.limit, add(since, g.old.shift)),
		&g.limit, gcra.At(&g.limit, add(since, g.shift))))
	if invariants.On {
		invariants.Settled(g.since.Load(), gcra.At(&g.limit, add(since, g.shift)).Tick, g.fresh.Load())
	}
}

// Limit returns the limit, which is not to be changed.
func (g *Generation) Limit() *gcra.Limit { return &g.limit }

// At turns a reading into the limit's ticks. It is never before the
// generation's own instant.
func (g *Generation) At(elapsed time.Duration) gcra.Instant {
	if invariants.On {
		if next := g.next.Load(); next != nil {
			invariants.Dated(elapsed, next.since.Load())
		}
	}
	return gcra.At(&g.limit, add(max(elapsed, time.Duration(g.since.Load()-1)), g.shift))
}

// Fresh returns the TAT of keys without a cell.
func (g *Generation) Fresh() int64 { return g.fresh.Load() }

// Chain returns how many changes of the limit came before the generation.
func (g *Generation) Chain() int { return g.chain }

// SetFresh sets the TAT of keys without a cell, given under generation g, or what
// that has become by now. It is for an engine that has not decided yet: nothing
// is done about the keys that have read the old one.
func (c *Core) SetFresh(g *Generation, tat int64) {
	c.set.Lock() // SetLimit carries it over to the next generation
	defer c.set.Unlock()
	now := c.Current()
	now.fresh.Store(g.Forward(tat, now))
}

// Forward converts a TAT of this generation into one of a later generation,
// change by change, so that every burst in between caps the balance. It may
// be called with a value that a cell was frozen at, or only to look.
func (g *Generation) Forward(tat int64, to *Generation) int64 {
	for g != to {
		next := g.next.Load()
		since := time.Duration(next.since.Load() - 1)
		at := gcra.At(&g.limit, add(since, g.shift))
		if tat <= at.Tick && g.Fresh() <= at.Tick {
			return to.Fresh() // full then: the same as a key never seen
		}
		old := tat
		tat = gcra.Convert(old, &g.limit, at, &next.limit, gcra.At(&next.limit, add(since, next.shift)))
		if invariants.On {
			invariants.Convert(old, &g.limit, at, tat, &next.limit, gcra.At(&next.limit, add(since, next.shift)))
		}
		g = next
	}
	return tat
}
