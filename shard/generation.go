package shard

import (
	"errors"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/invariants"
)

// SetLimit changes the limit of every key. A key keeps its tokens, the fraction
// of one included, and at most the new burst; debt stays, in tokens, and is
// paid at the new rate: nobody gets a free burst, and nobody waits longer than
// that balance takes under the new limit. The limit's Start means nothing here.
// An equal limit changes nothing.
//
// It takes no longer for a million keys than for one: each is converted by the
// next decision that finds it, except that every 64th change brings all keys
// forward. Decisions go on meanwhile, and who sleeps in Wait keeps his slot.
func (l *Limiter[K]) SetLimit(limit gcra.Limit) {
	before := l.core.Current()
	if g := l.core.SetLimit(limit, nil); g == before || g.Chain()%longest != 0 {
		return
	}
	for i := range l.bins {
		b := &l.bins[i]
		b.cells.Range(func(key K, c *cell) bool {
			if c.gen != l.core.Current() {
				l.renew(b, key, c)
			}
			return true
		})
	}
}

// longest bounds the changes that a cell may have to be converted through.
const longest = 64

// renew puts a cell of the current generation, with the same balance, in the
// place of an older one, if that is still there.
func (l *Limiter[K]) renew(b *bin[K], key K, old *cell) {
	b.cells.Compute(key, func(c *cell, loaded bool) (*cell, bool) {
		if !loaded || c != old {
			return c, !loaded
		}
		tat, ok := c.Freeze()
		if !ok {
			return c, false
		}
		g := l.core.Current()
		next := &cell{gen: g}
		next.Init(c.gen.Forward(tat, g))
		if invariants.On {
			succeeds(next, c, 0)
		}
		return next, false
	})
}

// ErrNoRoom is returned by Move if the limiter there remembers as many keys as
// it may.
var ErrNoRoom = errors.New("weir: no room for another key")

// Move takes the key's balance over to another limiter, for a client whose plan
// changes: there it has the smaller of what it had there and, in tokens, what
// it has here. Here the key stays as it is until its bucket is full; otherwise
// who goes on asking here would have a full burst for every Move. Reservations
// are given back only where they were made.
func (l *Limiter[K]) Move(key K, to *Limiter[K]) error {
	if l == to {
		return nil
	}
	now, tat, g := l.read(l.bin(key), key)
	at, b := g.At(now), to.bin(key)
	for {
		now, c, there := to.find(b, key)
		if c != nil && c.gen == there && c.Raise(gcra.Convert(tat, g.Limit(), at, there.Limit(), there.At(now))) {
			return nil
		}
		_, _, end := to.insert(b, key, func(there *gatomic.Generation, own int64, now time.Duration) (int64, gcra.Decision) {
			then := there.At(now)
			moved := gcra.Convert(tat, g.Limit(), at, there.Limit(), then)
			if max(own, moved) <= then.Tick {
				return own, gcra.Decision{} // full on both sides: that takes no cell, and no room
			}
			return max(own, moved), gcra.Decision{}
		})
		switch end {
		case decided:
			return nil
		case noRoom:
			to.capped.Add(1)
			return ErrNoRoom
		}
	}
}
