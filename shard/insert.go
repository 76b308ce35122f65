package shard

import (
	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
)

type take func(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision)

// takeNew decides for a key that has no cell or a dead one. It is not done if
// the key has got a cell meanwhile.
func (l *Limiter[K]) takeNew(b *bin[K], key K, at gcra.Instant, n int, op take) (d gcra.Decision, done bool) {
	g := &l.gen
	if next, d := op(&g.limit, g.fresh, at, n); next == g.fresh {
		return d, true // nothing to write, and so no cell
	}
	return l.takeInsert(b, key, n, op)
}

func (l *Limiter[K]) takeInsert(b *bin[K], key K, n int, op take) (gcra.Decision, bool) {
	g := &l.gen
	d, _, end := l.insert(b, key, func() (int64, gcra.Decision) {
		return op(&g.limit, g.fresh, l.now(), n)
	})
	if end == noRoom {
		d = l.turnAway(n, d)
	}
	return d, end != present
}

// bookNew is takeNew for a booking, and also returns the cell that holds it.
func (l *Limiter[K]) bookNew(bin *bin[K], key K, t gatomic.Turn, n int) (gcra.Booking, gcra.Decision, *cell, bool) {
	g := &l.gen
	var b gcra.Booking
	d, c, end := l.insert(bin, key, func() (int64, gcra.Decision) {
		// The turn's instant was read after the key was missed; it is read
		// again here because it has to be after the lock was taken.
		t = l.pacer.Again(&g.limit, t)
		var d gcra.Decision
		if b, d = t.Book(&g.limit, g.fresh, n); !d.OK() {
			return g.fresh, d
		}
		return b.End, d
	})
	if end == noRoom {
		d = l.turnAway(n, d)
		if b.Slot > t.At.Tick {
			d = gcra.Refuse(&g.limit, t.At, n)
		}
	}
	return b, d, c, end != present
}

type ending uint8

const (
	decided ending = iota
	present        // the key has a live cell: decide there
	noRoom         // decided as for a key never seen, but not stored
)

// insert lets decide, which reads the clock, decide for a key without a live
// cell, and stores what it returns as the key's new cell, all in one map
// operation. It is the only place where a key comes to be.
func (l *Limiter[K]) insert(b *bin[K], key K, decide func() (int64, gcra.Decision)) (d gcra.Decision, c *cell, end ending) {
	if key != key {
		_, d = decide()
		return d, nil, noRoom
	}
	for search := true; ; search = false {
		inserted := false
		b.cells.Compute(key, func(old *cell, loaded bool) (*cell, bool) {
			// Under the lock of the key's bucket. Look again: only a dead cell
			// may be replaced, and it cannot come back to life.
			if loaded && !old.Forgotten() {
				end = present
				return old, false
			}
			var next int64
			next, d = decide()
			switch {
			case next == l.gen.fresh:
				end = decided
				return old, !loaded
			case !loaded && !l.reserve():
				end = noRoom
				return nil, true
			}
			// The cell is published with the charge in it: there is no moment
			// at which another goroutine could find it full.
			c = &cell{gen: &l.gen}
			c.Init(next)
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

// reserve counts one key more, unless there is no room. A compare-and-swap,
// since to add first and take back later would turn others away meanwhile.
func (l *Limiter[K]) reserve() bool {
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

// turnAway applies the policy to a new key for which there is no room; d is
// the decision on a key never seen.
func (l *Limiter[K]) turnAway(n int, d gcra.Decision) gcra.Decision {
	l.capped.Add(1)
	if l.policy == Admit {
		return d
	}
	return gcra.Refuse(&l.gen.limit, l.now(), n)
}
