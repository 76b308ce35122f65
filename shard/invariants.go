package shard

import (
	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/invariants"
)

// What is checked with the tag invariants and needs to know maps and blocks.
// Nothing of this is called, or compiled into a program, without it.

// succeeds checks a cell that is put in the place of another, which owed until
// kept in the new one's ticks.
func succeeds(next, old *cell, kept int64) {
	tat, _ := next.State()
	invariants.Replace(old.Alive(), old.gen.Chain(), next.gen.Chain(), kept, tat)
	invariants.Happened(invariants.Replaced)
}

// dropped checks a cell that has left its map.
func dropped(c *gatomic.Cell) {
	if c.Alive() {
		invariants.Broken("only a cell whose life is over leaves its map", "it is alive")
	}
	invariants.Happened(invariants.Forgotten)
}

// listed checks that each item of the list has an entry of the map, which was
// made before it. It is called with mu held, without which none leaves.
func (b *bin[K]) listed() {
	if n := b.cells.Size(); b.keys.len > n {
		invariants.Broken("a key is listed while it has an entry", "%d keys listed, %d entries", b.keys.len, n)
	}
}

// held checks that the lock of the key's stripe is held.
func (t *Table[K]) held(h uint64, st *stripe) {
	if st != t.stripe(h) || st.mu.TryLock() {
		invariants.Broken("a key comes, is reset and gets tokens back under the lock of its stripe", "%x is not locked", h)
	}
}

// claimedBy checks a slot that is about to be the key's.
func (t *Table[K]) claimedBy(s *slot, h uint64, at gcra.Instant, next int64) {
	t.held(h, t.stripe(h))
	invariants.Owned(s.tat.Load() == claimed, s.hash.Load(), h)
	if next <= at.Tick {
		invariants.Broken("from owner to owner the TATs of a slot grow", "a takeover at %d stores %d", at.Tick, next)
	}
}

// inserted checks a key that has just come.
func (t *Table[K]) inserted(b *block, h uint64, st *stripe, used bool) {
	t.held(h, st)
	if n := b.times(h); n > 1 {
		invariants.Broken("a key has one slot", "%x has %d", h, n)
	}
	if used {
		invariants.Happened(invariants.Takeover)
		invariants.Happened(invariants.Forgotten)
	}
}

// times returns how many slots are the key's, for who holds the lock of its
// stripe. A slot whose hash was seen between two equal TATs was its owner's.
func (b *block) times(h uint64) (n int) {
	x, y := b.home(h)
	for k := range uint64(run) {
		for _, i := range [2]uint64{x + k, y + k} {
			for j := range b.buckets[i] {
				s := &b.buckets[i][j]
				if tat := s.tat.Load(); tat > 0 && s.hash.Load() == h && s.tat.Load() == tat {
					n++
				}
			}
		}
	}
	return n
}

// marked checks the mark of a slot whose TAT is about to be lowered.
func marked(mark, tat int64) {
	if mark < tat {
		invariants.Broken("a slot's mark is raised before its TAT is lowered", "mark %d, TAT %d", mark, tat)
	}
}

// free checks the slot that a key is brought over to.
func free(s *slot) {
	if hash, tat := s.hash.Load(), s.tat.Load(); hash != 0 || tat != 0 {
		invariants.Broken("a key is brought over to a slot that nobody has used", "TAT %d, hash %x", tat, hash)
	}
}
