package shard

import (
	"math"
	"math/bits"
	"sync/atomic"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/internal/invariants"
)

// A slot is a key's place in a block: its hash and its TAT. A slot that was
// never used holds 0 and 0, and no slot ever becomes that again.
type slot struct {
	hash atomic.Uint64
	tat  invariants.Slot
}

const (
	// claimed is the TAT of a slot that is being written. The hash beside it may
	// be the old key's, the new one's or 0: whoever it is, it is not here.
	claimed = math.MinInt64
	// gone is the TAT of a slot of an old block whose key has been brought over.
	gone = claimed + 1
)

// A bucket is one line of the cache.
type bucket [4]slot

// A block is a table's memory under one generation of its limit.
type block struct {
	gen     *gatomic.Generation
	inserts bool   // keys came by inserts alone, none was brought over
	homes   uint64 // the buckets where a run may begin
	buckets []bucket
	// marks holds for each slot the highest TAT that was ever lowered there,
	// and resets the stamp of the last reset; both are nothing until then.
	marks, resets sparse
	// old is the block that keys are still being brought over from, and brought
	// has a bit for each bucket that needs no more of that.
	old     atomic.Pointer[block]
	brought []atomic.Uint64
}

// run is how many buckets in a row a key may be in, in each of two places. With 4
// the share of keys that find no slot is below 10⁻⁶ as a table fills, and 10⁻⁵
// once it has grown old: when as many keys owe as it is made for, and one comes
// for each that goes. With 6 that is 5·10⁻⁸ (TestTableShareInOldAge).
const run = 6

// fill is the percentage of slots that are taken at the declared capacity: that
// makes 23.5 bytes a key.
const fill = 68

func newBlock(gen *gatomic.Generation, homes uint64) *block {
	n := homes + run - 1
	return &block{gen: gen, homes: homes, buckets: make([]bucket, n), marks: newSparse(n), resets: newSparse(n)}
}

// home returns the first buckets of the two runs of a hash, which have no
// bucket in common. The number of buckets is not a power of two, which would
// waste up to half of the memory, so they are multiplied out, not masked.
func (b *block) home(h uint64) (x, y uint64) {
	x, _ = bits.Mul64(h, b.homes)
	far, _ := bits.Mul64(h*0x9e3779b97f4a7c15, b.homes-2*run+1)
	if y = x + run + far; y >= b.homes {
		y -= b.homes
	}
	return x, y
}

// find returns the slot that has the hash, or nil. Whoever finds one looks again,
// at its TAT first and at the hash after that.
//
// Nearly all keys are in one of their first two buckets, in a slot that cannot be
// foretold. So all eight are compared without a branch, which would be
// mispredicted while memory is waited for, and both lines are asked for at once.
func (b *block) find(h uint64) *slot {
	x, y := b.home(h)
	p, q := &b.buckets[x], &b.buckets[y]
	if m := p.match(h) | q.match(h)<<len(p); m != 0 {
		i := uint64(bits.TrailingZeros64(m))
		in := x ^ (x^y)&-(i/uint64(len(p))) // x or y, without a branch
		if s := &b.buckets[in][i%uint64(len(p))]; s.tat.Load() >= 0 {
			return s
		}
	}
	return b.seek(h, x, y)
}

// match returns a bit for each slot that has the hash.
func (b *bucket) match(h uint64) uint64 {
	return equal(b[0].hash.Load(), h) | equal(b[1].hash.Load(), h)<<1 |
		equal(b[2].hash.Load(), h)<<2 | equal(b[3].hash.Load(), h)<<3
}

// equal is 1 if a == b, and else 0.
func equal(a, b uint64) uint64 { return ((a-b)|(b-a))>>63 ^ 1 }

// seek is find where it takes longer.
func (b *block) seek(h, x, y uint64) *slot {
	p, q := &b.buckets[x], &b.buckets[y]
	if s := p.find(h); s != nil {
		return s
	}
	if s := q.find(h); s != nil {
		return s
	}
	// A key is beyond its first two buckets only if an insert found no slot
	// there. One that was never used would have been found.
	if b.inserts && (p.unused() || q.unused()) {
		return nil
	}
	for k := uint64(1); k < run; k++ {
		if s := b.buckets[x+k].find(h); s != nil {
			return s
		}
		if s := b.buckets[y+k].find(h); s != nil {
			return s
		}
	}
	return nil
}

// find returns the slot that has the hash, unless it is claimed: then that is
// of the key that is leaving.
func (b *bucket) find(h uint64) *slot {
	for j := range b {
		if s := &b[j]; s.hash.Load() == h && s.tat.Load() >= 0 {
			return s
		}
	}
	return nil
}

// unused reports whether a slot was never used and is not about to be: an
// insert may have gone on from one that was claimed when it came.
func (b *bucket) unused() bool {
	return b[0].tat.Load() == 0 || b[1].tat.Load() == 0 || b[2].tat.Load() == 0 || b[3].tat.Load() == 0
}

// scan finds the key's slot for who holds the lock of its stripe, so that the
// key cannot come meanwhile. A claimed slot that still has its hash counts as
// absent: it is being taken over.
func (b *block) scan(h uint64) (i uint64, j int, s *slot) {
	x, y := b.home(h)
	for k := range uint64(run) {
		for _, i := range [2]uint64{x + k, y + k} {
			for j := range b.buckets[i] {
				if s := &b.buckets[i][j]; s.hash.Load() == h && s.tat.Load() >= 0 {
					return i, j, s
				}
			}
		}
	}
	return 0, 0, nil
}

// usable reports whether a slot can be claimed by a swap of that TAT: it was
// never used, or its key is full, and has been for a tick, and so are all keys
// without a slot. If the TAT was ever lowered, the highest that it was has to
// have passed too: TATs of a slot only grow, from owner to owner, so that a
// swap that was meant for one never meets the same value under another.
func (b *block) usable(i uint64, j int, now, fresh int64) (tat int64, ok bool) {
	tat = b.buckets[i][j].tat.Load()
	if tat == 0 {
		return 0, true
	}
	// The mark after the TAT: whoever lowers it raises the mark first.
	return tat, tat > 0 && tat < now && fresh < now && b.marks.load(i, j) < now
}

// claim claims a slot for a key that has none: in the emptier of the first two
// buckets, or else in the emptiest of the others. Nobody undoes a claim. It
// returns nil if all slots are taken.
func (b *block) claim(h uint64, now, fresh int64) (s *slot, used bool) {
	for {
		in, room := b.roomiest(h, 0, 1, now, fresh)
		if room == 0 {
			in, room = b.roomiest(h, 1, run, now, fresh)
		}
		if room == 0 {
			return nil, false
		}
		for j := range b.buckets[in] {
			s := &b.buckets[in][j]
			if tat, ok := b.usable(in, j, now, fresh); ok && s.tat.CompareAndSwap(tat, claimed) {
				if invariants.On {
					invariants.Take(tat, b.marks.load(in, j), now, fresh)
				}
				return s, tat != 0
			}
		}
	}
}

// roomiest returns the bucket with the most usable slots among those from
// first to last in both runs.
func (b *block) roomiest(h uint64, first, last uint64, now, fresh int64) (best uint64, room int) {
	x, y := b.home(h)
	for k := first; k < last; k++ {
		for _, i := range [2]uint64{x + k, y + k} {
			n := 0
			for j := range b.buckets[i] {
				if _, ok := b.usable(i, j, now, fresh); ok {
					n++
				}
			}
			if n > room {
				best, room = i, n
			}
		}
	}
	return best, room
}

// A sparse array holds a number for each slot of a block, 0 until it is raised.
// It takes memory only where that has happened, for some buckets at once.
type sparse []atomic.Pointer[[group][len(bucket{})]invariants.Mark]

const group = 64

func newSparse(buckets uint64) sparse { return make(sparse, buckets/group+1) }

func (a sparse) load(i uint64, j int) int64 {
	if part := a[i/group].Load(); part != nil {
		return part[i%group][j].Load()
	}
	return 0
}

func (a sparse) raise(i uint64, j int, to int64) {
	part := a[i/group].Load()
	if part == nil {
		a[i/group].CompareAndSwap(nil, new([group][len(bucket{})]invariants.Mark))
		part = a[i/group].Load()
	}
	for n := &part[i%group][j]; ; {
		old := n.Load()
		if old >= to || n.CompareAndSwap(old, to) {
			return
		}
	}
}
