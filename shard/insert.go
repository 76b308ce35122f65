package shard

import (
	"sync/atomic"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/invariants"
)

type take func(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision)

// takeNew decides for a key that has no cell, or one whose life is over: dead,
// frozen, or of an older generation. It is not done if the key has got another
// cell meanwhile.
func (l *Limiter[K]) takeNew(b *bin[K], key K, c *cell, g *gatomic.Generation, now time.Duration, n int, op take) (gcra.Decision, bool) {
	tat := balance(c, g)
	if next, d := op(g.Limit(), tat, g.At(now), n); next == tat {
		return d, l.still(b, key, c, g) // nothing to write, and so no cell
	}
	return l.takeInsert(b, key, n, op)
}

func (l *Limiter[K]) takeInsert(b *bin[K], key K, n int, op take) (gcra.Decision, bool) {
	d, _, end := l.insert(b, key, func(g *gatomic.Generation, tat int64, now time.Duration) (int64, gcra.Decision) {
		return op(g.Limit(), tat, g.At(now), n)
	})
	if end == noRoom {
		d = l.policy.turnAway(&l.core, &l.capped, n, d)
	}
	return d, end != present
}

// bookNew is takeNew for a booking.
func (l *Limiter[K]) bookNew(bin *bin[K], key K, c *cell, t gatomic.Turn, n int) (place, bool) {
	g := l.core.Current()
	tat := balance(c, g)
	if b, d := t.Book(g, tat, n); !d.OK() || b.End == tat {
		return place{turn: t, gen: g, b: b, d: d}, l.still(bin, key, c, g)
	}
	return l.bookInsert(bin, key, t, n)
}

func (l *Limiter[K]) bookInsert(bin *bin[K], key K, t gatomic.Turn, n int) (place, bool) {
	var p place
	d, c, end := l.insert(bin, key, func(g *gatomic.Generation, tat int64, now time.Duration) (int64, gcra.Decision) {
		p.turn, p.gen = l.core.Again(t, now), g
		if p.b, p.d = p.turn.Book(g, tat, n); !p.d.OK() {
			return tat, p.d
		}
		return p.b.End, p.d
	})
	p.d, p.cell = d, c
	if end == noRoom {
		p.d, p.turnedAway = l.policy.turnAway(&l.core, &l.capped, n, d), true
		if at := p.turn.At(p.gen); p.b.Slot > at.Tick {
			p.d = gcra.Refuse(p.gen.Limit(), at, n)
		}
	}
	return p, end != present
}

type ending uint8

const (
	decided ending = iota
	present        // the key has a live cell: decide there
	noRoom         // decided as for a key never seen, but not stored
)

// decide decides over a key's TAT under the generation, and returns the next.
type decide func(g *gatomic.Generation, tat int64, now time.Duration) (int64, gcra.Decision)

// insert decides for a key without a live cell of the current generation, and
// stores what follows as the key's new cell, all in one map operation. It is
// the only place where a key comes to be.
func (l *Limiter[K]) insert(b *bin[K], key K, decide decide) (d gcra.Decision, c *cell, end ending) {
	if key != key {
		now := l.core.Now()
		g := l.core.Current()
		_, d = decide(g, g.Fresh(), now)
		return d, nil, noRoom
	}
	for search := true; ; search = false {
		inserted := false
		b.cells.Compute(key, func(old *cell, loaded bool) (*cell, bool) {
			now, g, tat, live := l.again(old)
			if live {
				if invariants.On {
					invariants.Happened(invariants.Retried)
				}
				end = present
				return old, false
			}
			var next int64
			next, d = decide(g, tat, now)
			switch {
			case next == tat:
				end = decided
				return old, !loaded
			case !loaded && !l.reserveKey():
				end = noRoom
				return nil, true
			}
			// The cell is published with the charge in it: there is no moment
			// at which another goroutine could find it full.
			c = &cell{gen: g}
			c.Init(next)
			if invariants.On && loaded {
				succeeds(c, old, tat)
			}
			inserted, end = !loaded, decided
			return c, false
		})
		if inserted {
			b.remember(l, key)
		}
		if end != noRoom || !search || !l.makeRoom() {
			return d, c, end
		}
	}
}

// again reads anew, under the lock of the key's bucket and in the same order,
// what was read before it, since a life of the cell, or of its generation, may
// have passed: the clock, the generation, and the key's TAT under it. It
// reports whether the cell, nil if there is none, is the one to decide in.
func (l *Limiter[K]) again(c *cell) (now time.Duration, g *gatomic.Generation, tat int64, live bool) {
	// Only a cell that was dead before the clock was read counts as none: one
	// that died since may have been charged at a later instant than that.
	for dead := c == nil || c.Dead(); ; dead = true {
		now = l.core.Now()
		g = l.core.Current()
		if dead {
			return now, g, g.Fresh(), false
		}
		if c.gen == g && c.Alive() {
			return now, g, 0, true
		}
		if frozen, ok := c.Freeze(); ok {
			// Whoever froze it has seen a newer generation than its own, and
			// so do we now.
			g = l.core.Current()
			return now, g, c.gen.Forward(frozen, g), false
		}
	}
}

// reserveKey counts one key more, unless there is no room. A compare-and-swap,
// since to add first and take back later would turn others away meanwhile.
func (l *Limiter[K]) reserveKey() bool {
	for {
		n := l.keys.Load()
		if l.most > 0 && n >= l.most {
			return false
		}
		if l.keys.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// turnAway counts a decision on a new key for which there is no room, and applies
// the policy; d is the decision on a key never seen.
func (p Policy) turnAway(core *gatomic.Core, capped *atomic.Int64, n int, d gcra.Decision) gcra.Decision {
	capped.Add(1)
	if p == Admit {
		return d
	}
	now := core.Now()
	g := core.Current()
	return emptied(g.Limit(), g.At(now), n)
}

// emptied is the refusal of n tokens that could have been granted if there had
// been room. It may be more than a burst: TakeUpTo and Debit take what there is.
// And the limit may have been set since then to one that grants no token at all.
func emptied(l *gcra.Limit, at gcra.Instant, n int) gcra.Decision {
	return gcra.Refuse(l, at, max(1, min(n, l.Capacity())))
}
