package shard

import (
	"fmt"
	"hash/maphash"
	"iter"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/invariants"
)

// A Table limits each key of type K by a bucket of its own, like a [Limiter],
// in one block of memory whose size is fixed when it is made: 24 bytes for each
// key that it is made for, and nothing in it for the collector to look at. It
// is for millions of keys. Make it with [NewTable]; the zero Table is not
// usable. It must not be copied, and all methods are safe for concurrent use.
// Decisions on keys that are present neither lock nor allocate; a new key takes
// a lock that it shares with a small part of the others, and does not allocate
// either.
//
// A key's slot is taken over by another once its bucket is full, and would be if
// nothing had been given back to it. If a new key finds no slot, the policy
// decides: it is refused, or admitted with [Admit], see [WithMaxKeys]. While no
// more keys than the capacity hold their slots, that happens to fewer than one
// new key in a million. A table has half as many slots again, and how many of
// those are used is chance.
//
// A key is its 64-bit hash, seeded anew for each table. Two keys with the same
// hash share one bucket: neither gets more than the limit, together they get no
// more than one would. Among n keys that happens to some pair with a probability
// of n²/2⁶⁵: 3 in 10⁸ for a million, 7 in 10⁶ for 16 million, 3 in 10⁴ for 100
// million; and nobody who does not know the seed can look for such keys. Where
// that is too much, use a Limiter. A table does not keep its keys, so what they
// point to can be collected, and equal keys have to have equal hashes for ever
// after: no pointers or channels but to what lives as long, and no netip.Addr
// with a zone. Types count: int64(5) and uint64(5) are two keys of an interface
// type. A key that is not equal to itself (NaN) gets the policy, and a key
// whose dynamic type cannot be compared panics.
//
// Tokens that are given back, by Cancel, Settle or Reset, take more memory: for
// the first ones among 256 slots 2 KiB, and as much again for the first Reset.
// Where they are everywhere that is 12 bytes a key, or 24.
//
// Under a limit that never refills nothing is ever full, so no slot is ever taken
// over, not even after a Reset.
type Table[K comparable] struct {
	core    gatomic.Core
	seed    maphash.Seed
	types   *typeHasher[K] // nil if no key holds an interface
	stripes []stripe
	policy  Policy
	report[K]

	block   atomic.Pointer[block]
	setting sync.Mutex   // held while SetLimit brings keys over
	resets  atomic.Int64 // stamps given to resets so far
	_       [48]byte     // the next object is not on the line that decisions read
}

// A stripe is the lock under which some of the keys come to be, are reset, or
// get tokens back; and what is counted for them.
type stripe struct {
	mu sync.Mutex
	tally

	slots, taken, capped atomic.Int64 // slots in use; taken over or dropped; not to be had
}

// maxCapacity keeps the size of a block an int on every platform.
const maxCapacity = (1<<(bits.UintSize-2) - 1) / 32

// NewTable returns a table for that many keys, each with that limit. It takes
// all options but [WithShards]; [WithMaxKeys] has to name the same number of
// keys.
func NewTable[K comparable](limit gcra.Limit, capacity int, opts ...Option) *Table[K] {
	if capacity < 1 || capacity > maxCapacity {
		panic(fmt.Sprintf("weir: NewTable: capacity %d: want 1 to %d", capacity, maxCapacity))
	}
	var cfg config
	for _, opt := range opts {
		opt(&cfg)
	}
	if cfg.shards != 0 {
		panic("weir: NewTable: a table has no shards")
	}
	if cfg.most != 0 && cfg.most != int64(capacity) {
		panic(fmt.Sprintf("weir: NewTable: WithMaxKeys(%d) and capacity %d", cfg.most, capacity))
	}
	homes := max(uint64(capacity)*100/(fill*uint64(len(bucket{})))+1, 2*run)
	t := &Table[K]{
		seed: maphash.MakeSeed(), policy: cfg.policy, report: newReport[K](&cfg),
		stripes: make([]stripe, 1<<min(bits.Len64(homes/32), 10)),
	}
	t.types = newTypeHasher[K](t.seed)
	t.core.Init(limit, cfg.core...)
	b := newBlock(t.core.Current(), homes)
	b.inserts = true
	t.block.Store(b)
	t.resets.Store(1)
	return t
}

// hash returns the key's hash and stripe. It is not ok for a key that cannot
// be found again.
func (t *Table[K]) hash(key K) (h uint64, st *stripe, ok bool) {
	h = maphash.Comparable(t.seed, key)
	if t.types != nil {
		h = t.types.add(h, key)
	}
	if h == 0 {
		h = 1 // 0 is a slot never used
	}
	return h, t.stripe(h), key == key
}

func (t *Table[K]) stripe(h uint64) *stripe { return &t.stripes[h&uint64(len(t.stripes)-1)] }

// current returns the block in force, settled. It has to be called after the
// clock was read: then what is decided in it is dated before the change that
// ends it.
func (t *Table[K]) current() (*block, *gatomic.Generation) {
	b := t.block.Load()
	return b, t.core.Settled(b.gen)
}

// lookup finds the key's slot in the block, once it is there if it has to be
// brought over.
func (t *Table[K]) lookup(b *block, h uint64) *slot {
	old := b.old.Load() // first: if there is none, all keys were there before find
	s := b.find(h)
	if s == nil && old != nil {
		t.bringAll(b, old, h)
		s = b.find(h)
	}
	return s
}

// decide decides in the slot, if it is still the key's.
func (s *slot) decide(h uint64, l *gcra.Limit, at gcra.Instant, n int, op take) (d gcra.Decision, here bool) {
	for {
		// The TAT, then the hash, then the swap. Between two loads of the same
		// TAT the slot had one owner, since no two owners ever store the same;
		// with the hash first, it could be an owner who left since.
		tat := s.tat.Load()
		if tat < 0 || s.hash.Load() != h {
			return gcra.Decision{}, false
		}
		next, d := op(l, tat, at, n)
		if invariants.On {
			invariants.Charge(l, at, tat, next, d.Granted(), math.MaxInt) // it may be a Debit
		}
		if next != tat {
			if s.tat.CompareAndSwap(tat, next) {
				return d, true
			}
		} else if s.tat.Load() == tat {
			// Nothing to write, and so no swap that would fail if the TAT was
			// that of another key, which may be ahead of a reading that is
			// older than the takeover.
			return d, true
		}
	}
}

// allow is decide for a Take of which nothing is asked but whether it passed.
func (s *slot) allow(h uint64, l *gcra.Limit, at gcra.Instant, n int) (ok, here bool) {
	for {
		tat := s.tat.Load()
		if tat < 0 || s.hash.Load() != h {
			return false, false
		}
		next, ok := gcra.Allow(l, tat, at, n)
		if invariants.On && ok {
			invariants.Charge(l, at, tat, next, n, 0)
		}
		if ok && next != tat {
			if s.tat.CompareAndSwap(tat, next) {
				return true, true
			}
		} else if s.tat.Load() == tat {
			return ok, true
		}
	}
}

// inForce has to be asked once a key was not found in a block and nothing is to
// be written: in a block that is no longer in force, the key may just have been
// brought over.
func (t *Table[K]) inForce(b *block) bool { return t.block.Load() == b }

func (t *Table[K]) take(h uint64, st *stripe, ok bool, n int, op take) gcra.Decision {
	if !ok {
		now := t.core.Now()
		_, g := t.current()
		next, d := op(g.Limit(), g.Fresh(), g.At(now), n)
		if next == g.Fresh() {
			return d // nothing to write, and so no room needed
		}
		return t.policy.turnAway(&t.core, &st.capped, n, d)
	}
	d, _ := t.takeAt(t.core.Now(), h, st, n, op)
	return d
}

// takeAt decides at a reading of the clock, or a later one, which it returns.
func (t *Table[K]) takeAt(now time.Duration, h uint64, st *stripe, n int, op take) (d gcra.Decision, at time.Duration) {
	for ; ; now = t.core.Now() {
		b, g := t.current()
		if s := t.lookup(b, h); s != nil {
			d, here := s.decide(h, g.Limit(), g.At(now), n, op)
			if here {
				return d, now
			}
			continue // it has just been taken over; lookup brings over what insert needs
		}
		fresh := g.Fresh()
		if next, d := op(g.Limit(), fresh, g.At(now), n); next == fresh {
			if t.inForce(b) {
				return d, now // nothing to write, and so no slot
			}
			continue
		}
		d, end := t.insert(b, h, st, func(g *gatomic.Generation, tat int64, again time.Duration) (int64, gcra.Decision) {
			now = again
			return op(g.Limit(), tat, g.At(now), n)
		})
		switch end {
		case decided:
			return d, now
		case noRoom:
			return t.policy.turnAway(&t.core, &st.capped, n, d), now
		}
	}
}

// Allow reports whether one token was there for the key, and takes it.
func (t *Table[K]) Allow(key K) bool { return t.AllowN(key, 1) }

// AllowN reports whether n tokens were there, and takes them all or none.
func (t *Table[K]) AllowN(key K, n int) bool {
	h, st, ok := t.hash(key)
	if ok && t.silent() {
		now := t.core.Now()
		b, g := t.current()
		if s := b.find(h); s != nil {
			if ok, here := s.allow(h, g.Limit(), g.At(now), n); here {
				return ok
			}
		}
	}
	return t.answer(&st.tally, key, t.take(h, st, ok, n, gcra.Take)).OK()
}

// Take takes n of the key's tokens or none. It is refused with
// gcra.ErrExceedsBurst if n is above the burst, and with gcra.ErrCost if it is
// negative.
func (t *Table[K]) Take(key K, n int) gcra.Decision {
	h, st, ok := t.hash(key)
	return t.answer(&st.tally, key, t.take(h, st, ok, n, gcra.Take))
}

// TakeUpTo takes as many of the key's tokens as there are, at most n. It is
// refused if there is none.
func (t *Table[K]) TakeUpTo(key K, n int) gcra.Decision {
	h, st, ok := t.hash(key)
	return t.answer(&st.tally, key, t.take(h, st, ok, n, gcra.TakeUpTo))
}

// Peek tells what Take would decide, takes nothing and writes nothing. It does
// not know whether there is room for a new key.
func (t *Table[K]) Peek(key K, n int) gcra.Decision {
	h, st, ok := t.hash(key)
	d := t.take(h, st, ok, n, look)
	if t.dry {
		return d.DryRun()
	}
	return d
}

// Debit takes n tokens that were already used, whether they are there or not:
// down to an empty bucket, and on into debt, as far as WithMaxDebt. Granted
// tells how many of them fitted; it is refused if none did.
func (t *Table[K]) Debit(key K, n int) gcra.Decision {
	h, st, ok := t.hash(key)
	return t.answer(&st.tally, key, t.take(h, st, ok, n, t.debit))
}

func (t *Table[K]) debit(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
	return gcra.Debit(l, tat, at, n, t.core.MaxDebt(l))
}

// Limit returns the limit in force.
func (t *Table[K]) Limit() gcra.Limit { return *t.block.Load().gen.Limit() }

// Len returns the number of slots in use: of keys that owe time, and of keys
// that are full and have not been taken over yet. So it does not fall but by a
// SetLimit, which drops those. It adds up to 1024 counters.
func (t *Table[K]) Len() int { return t.Stats().Keys }

// Stats returns the table's counts. A key is forgotten when its slot is taken
// over, and when a SetLimit finds it full.
func (t *Table[K]) Stats() Stats {
	var s Stats
	for i := range t.stripes {
		st := &t.stripes[i]
		st.addTo(&s)
		s.Keys += int(st.slots.Load())
		s.Forgotten += st.taken.Load()
		s.Capped += st.capped.Load()
	}
	t.rare.addTo(&s)
	return s
}

// TopRefused is as for a [Limiter], but for what a Settle charges beyond what was
// reserved. A table does keep the keys that this yields.
func (t *Table[K]) TopRefused() iter.Seq2[K, int64] { return t.worst.all }

// For returns the view of one key.
func (t *Table[K]) For(key K) View[K] { return View[K]{t, key} }

func (t *Table[K]) maxWait() time.Duration { return t.core.MaxWait() }
