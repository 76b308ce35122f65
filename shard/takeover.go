package shard

import (
	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/invariants"
)

// insert decides for a key that has no slot in the block, and stores what
// follows in one: never used, or taken over. It is the only place where a key
// comes to be in a table. The block is settled, and the buckets of the key have
// been brought over.
func (t *Table[K]) insert(b *block, h uint64, st *stripe, decide decide) (d gcra.Decision, end ending) {
	// One key comes once: who inserts the same one waits here, and then finds it.
	st.mu.Lock()
	defer st.mu.Unlock()
	if t.block.Load() != b {
		return d, present // or at least not for this block
	}
	if _, _, s := b.scan(h); s != nil {
		return d, present
	}
	// The clock after the scan. A reading from before may be older than the
	// whole life of a slot that the key had, and that was taken over meanwhile:
	// a charge dated by it would lie in the past and be worth nothing.
	now, g := t.core.Now(), b.gen
	fresh := g.Fresh()
	next, d := decide(g, fresh, now)
	if next == fresh {
		return d, decided
	}
	s, used := b.claim(h, g.At(now).Tick, fresh)
	if s == nil {
		return d, noRoom
	}
	// While it is claimed nobody reads its hash for his own, and nobody swaps
	// its TAT. The hash before the TAT, or the charge were the old key's.
	s.hash.Store(h)
	if invariants.On {
		t.claimedBy(s, h, g.At(now), next)
	}
	s.tat.Store(next)
	if invariants.On {
		t.inserted(b, h, st, used)
	}
	if used {
		st.taken.Add(1)
	} else {
		st.slots.Add(1)
	}
	return d, decided
}

// look is gcra.Peek in the form of the others. There is never anything to
// write.
func look(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
	return tat, gcra.Peek(l, tat, at, n)
}

// lower swaps the TAT of a slot for a lower one, which takes the lock of its
// key's stripe.
func (b *block) lower(i uint64, j int, s *slot, tat, next int64) bool {
	// The mark before the swap. A taker that loads the lower TAT then sees the
	// mark, and does not take the slot until a TAT of its own is above all
	// that a swap, held up since long ago, may still be waiting to meet.
	b.marks.raise(i, j, tat)
	if invariants.On {
		marked(b.marks.load(i, j), tat)
		return invariants.LowerSlot(&s.tat, tat, next)
	}
	return s.tat.CompareAndSwap(tat, next)
}

// Reset makes the key what it would be if nothing had ever been taken from it.
// Waiters that sleep keep their slots, and nothing that was booked before is
// given back after.
func (t *Table[K]) Reset(key K) {
	h, st, ok := t.hash(key)
	for b, g := t.current(); ok; b, g = t.current() {
		if t.lookup(b, h) == nil {
			if t.inForce(b) {
				return
			}
			continue
		}
		if t.reset(b, g, h, st) {
			return
		}
	}
}

func (t *Table[K]) reset(b *block, g *gatomic.Generation, h uint64, st *stripe) (done bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for {
		i, j, s := b.scan(h)
		if s == nil {
			return t.block.Load() == b
		}
		tat := s.tat.Load()
		if tat < 0 || s.hash.Load() != h {
			continue
		}
		now := t.core.Now() // after the TAT: it is not lowered to before what it was charged at
		if t.block.Load() != b {
			return false
		}
		next := max(g.Fresh(), g.At(now).Tick)
		if tat <= next {
			if s.tat.Load() == tat {
				return true // and it owed nothing at that instant
			}
			continue
		}
		// A booking loads its stamp between the TAT and the swap, and so does
		// this, anew for each attempt: the lower one swapped first.
		if invariants.On {
			t.held(h, st)
			invariants.Reset(g.At(now), tat, next, g.Fresh())
		}
		stamp := t.resets.Add(1)
		if b.lower(i, j, s, tat, next) {
			b.resets.raise(i, j, stamp)
			return true
		}
	}
}

// giveBack returns n tokens of a booking that was made in generation g. It reads
// the word, then the clock, then the generation, as a Core does.
func (t *Table[K]) giveBack(g *gatomic.Generation, h uint64, stamp int64, bk gcra.Booking, n int) {
	if n <= 0 || bk.Cost == 0 || stamp == unstored {
		return
	}
	st := t.stripe(h)
	st.mu.Lock() // no reset comes in between
	defer st.mu.Unlock()
	for {
		b := t.block.Load()
		if b.gen != g {
			return
		}
		i, j, s := b.scan(h)
		if s == nil {
			return // full since, so that there is nothing to give back
		}
		tat := s.tat.Load()
		if tat < 0 || s.hash.Load() != h {
			return
		}
		now := t.core.Now()
		if t.block.Load() != b || b.resets.load(i, j) > stamp {
			return
		}
		next := gcra.GiveBack(g.Limit(), tat, g.At(now), bk, n)
		if invariants.On {
			t.held(h, st)
			invariants.GiveBack(g.Limit(), g.At(now), tat, next, bk, n)
		}
		if next == tat && s.tat.Load() == tat || next != tat && b.lower(i, j, s, tat, next) {
			return
		}
	}
}

// raise makes the TAT of a booking's key at least that, unless the limit has
// changed or the key was reset since.
func (t *Table[K]) raise(g *gatomic.Generation, h uint64, stamp, tat int64) {
	st := t.stripe(h)
	st.mu.Lock() // no reset comes in between
	defer st.mu.Unlock()
	b := t.block.Load()
	if b.gen != g || stamp == unstored {
		return
	}
	if i, j, s := b.scan(h); s != nil && b.resets.load(i, j) <= stamp {
		s.raise(h, tat)
	}
}

// raise makes the TAT at least that, if the slot is still the key's.
func (s *slot) raise(h uint64, to int64) (here bool) {
	for {
		tat := s.tat.Load()
		if tat < 0 || s.hash.Load() != h {
			return false
		}
		if s.tat.CompareAndSwap(tat, max(tat, to)) {
			return true
		}
	}
}
