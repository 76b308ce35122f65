package shard

import (
	"sync/atomic"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/invariants"
)

// SetLimit changes the limit of every key, as SetLimit of a [Limiter] does:
// balances stay, debt stays, nobody gets a free burst. The limit's Start means
// nothing here, and an equal limit changes nothing.
//
// It takes a second block of memory while it runs, and time for every slot, used
// or not: some 30 ns each. Decisions go on meanwhile, under the new limit, and
// who sleeps in Wait keeps his slot; the first that meets a key which has not
// been brought over does that, and takes a few locks for it.
func (t *Table[K]) SetLimit(limit gcra.Limit) {
	t.setting.Lock()
	defer t.setting.Unlock()
	old := t.block.Load()
	if *old.gen.Limit() == limit {
		return
	}
	b := old.successor()
	t.publish(b, limit)
	for i := range b.buckets {
		t.bring(b, old, uint64(i))
	}
	b.old.Store(nil)
}

// successor is the block that old's keys are to be brought over to.
func (old *block) successor() *block {
	b := newBlock(nil, old.homes)
	b.brought = make([]atomic.Uint64, len(b.buckets)/64+1)
	b.old.Store(old)
	return b
}

// publish makes b the block in force, and begins its generation. All stripes
// are locked while the block changes, so that no insert is under way: then no
// slot of the old block is claimed, now or ever after, and what it holds can be
// worked out. The instant of the change is read after the block was published:
// who decides in the old one has read the clock before.
func (t *Table[K]) publish(b *block, limit gcra.Limit) {
	t.core.SetLimit(limit, func(g *gatomic.Generation) {
		for i := range t.stripes {
			t.stripes[i].mu.Lock()
			defer t.stripes[i].mu.Unlock()
		}
		b.gen = g
		t.block.Store(b)
	})
}

// bringAll brings over all buckets that a key may be in.
func (t *Table[K]) bringAll(b, old *block, h uint64) {
	x, y := b.home(h)
	for k := range uint64(run) {
		t.bring(b, old, x+k)
		t.bring(b, old, y+k)
	}
}

// bring brings the keys of one bucket of the old block over to the same slots
// of the new one. They are free: nobody inserts where he has not brought over
// what was there. Keys that read the same without a slot do not come along.
func (t *Table[K]) bring(b, old *block, i uint64) {
	done := &b.brought[i/64]
	if done.Load()>>(i%64)&1 != 0 {
		return
	}
	// Not the lock of a key but of a bucket; nobody holds two.
	st := &t.stripes[i&uint64(len(t.stripes)-1)]
	st.mu.Lock()
	defer st.mu.Unlock()
	for j := range old.buckets[i] {
		from, to := &old.buckets[i][j], &b.buckets[i][j]
		h, tat := from.hash.Load(), from.tat.Load()
		// One step with the reading: a decider that found the old block before
		// the change may still swap, and what it charges counts.
		for h != 0 && tat != gone && !from.tat.CompareAndSwap(tat, gone) {
			tat = from.tat.Load()
		}
		if h == 0 || tat == gone {
			continue
		}
		tat = old.gen.Forward(tat, b.gen)
		if tat == b.gen.Fresh() {
			t.stripe(h).slots.Add(-1)
			t.stripe(h).taken.Add(1)
			continue
		}
		if invariants.On {
			free(to)
		}
		to.tat.Store(claimed)
		to.hash.Store(h)
		if invariants.On {
			invariants.Owned(to.tat.Load() == claimed, to.hash.Load(), h)
		}
		to.tat.Store(tat)
	}
	done.Or(1 << (i % 64)) // last: who sees it looks at the slots next
}

// Move takes the key's balance over to another table, as Move of a [Limiter]
// does. It fails with [ErrNoRoom] if there is no slot for the key there,
// whatever the policy.
func (t *Table[K]) Move(key K, to *Table[K]) error {
	if t == to {
		return nil
	}
	h, _, ok := t.hash(key)
	if !ok {
		_, st, _ := to.hash(key)
		st.capped.Add(1)
		return ErrNoRoom
	}
	for {
		now := t.core.Now()
		b, g := t.current()
		tat := int64(0)
		if s := t.lookup(b, h); s != nil {
			tat = s.read(h)
		}
		if tat == 0 {
			if !t.inForce(b) {
				continue
			}
			tat = g.Fresh()
		}
		return to.receive(key, tat, g, g.At(now))
	}
}

// read returns the TAT if the slot is still the key's, else 0.
func (s *slot) read(h uint64) int64 {
	for {
		tat := s.tat.Load()
		if tat < 0 || s.hash.Load() != h {
			return 0
		}
		if s.tat.Load() == tat {
			return tat
		}
	}
}

// receive makes the key owe at least what a TAT of generation from, at that
// instant, comes to.
func (t *Table[K]) receive(key K, tat int64, from *gatomic.Generation, at gcra.Instant) error {
	h, st, _ := t.hash(key)
	for {
		now := t.core.Now()
		b, g := t.current()
		if s := t.lookup(b, h); s != nil {
			if s.raise(h, gcra.Convert(tat, from.Limit(), at, g.Limit(), g.At(now))) {
				return nil
			}
			continue
		}
		_, end := t.insert(b, h, st, func(g *gatomic.Generation, own int64, now time.Duration) (int64, gcra.Decision) {
			then := g.At(now)
			moved := gcra.Convert(tat, from.Limit(), at, g.Limit(), then)
			if max(own, moved) <= then.Tick {
				return own, gcra.Decision{} // full on both sides: that takes no slot
			}
			return max(own, moved), gcra.Decision{}
		})
		switch end {
		case decided:
			return nil
		case noRoom:
			st.capped.Add(1)
			return ErrNoRoom
		}
	}
}
