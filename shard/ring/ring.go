// Package ring says which process owns a key.
//
// A limit that several processes share needs no common store if each key is decided in one place. A [Ring] names that
// place: every process builds it from the same list of names, and all of them agree about every key without talking.
//
//	full, err := ring.New([]string{"10.0.0.1:7000", "10.0.0.2:7000", "10.0.0.3:7000"})
//	var current atomic.Pointer[ring.Ring]
//	current.Store(full)
//
//	if owner := current.Load().Owner(key); owner == self {
//		ok = limiter.Allow(key) // decide here
//	} else {
//		ok = ask(owner, key) // decide there
//	}
//
//	less, err := full.Without("10.0.0.2:7000") // it died: its keys go to the others
//	current.Store(less)
//	current.Store(full) // it is back, and so are its keys
//
// # Promises
//
// The hash of a key picks one of 131 071 slots, and each slot has an owner. While all nodes are live the owners are
// those of Maglev hashing (Eisenbud et al., Maglev: A Fast and Reliable Software Network Load Balancer, NSDI 2016,
// section 3.4). The slots of nodes that are out are handed on, each to the owner of the next slot whose node is live
// and not yet at its fair share (compare Mirrokni, Thorup and Zadimoghaddam, Consistent Hashing with Bounded Loads,
// SODA 2018). It follows that a Ring is
//
//   - Stable. The owner of a key depends on the names given to New, the names that are out, and the key: not on the
//     order or the history of either, on the process, the machine or its word size. The mapping is part of the API: to
//     change it is a breaking change.
//   - Even. Every live node owns ⌊131 071/live⌋ slots or one more, whoever is out: with 100 nodes within 0.08 % of
//     fair, with MaxNodes within 1 %.
//   - Sticky. When one of n nodes leaves a full ring, its keys move, 1/n of all, and no others. When it returns they
//     move back, and no others. In general no key moves while the node that owns it in the full ring is live; a
//     further departure or return moves, besides the keys of the node itself, a few whose node was out already: in all
//     less than 1.6 fair shares with 100 nodes, and 6 with 1000 (TestManyLeave).
//   - Tolerant. Processes that differ about who is out agree about every key whose node in the full ring both
//     believe in.
//
// All processes must give New the same list. Another list is another Maglev table, and moves keys between nodes that
// are in both: one more or less of 100 nodes moves 1.4/n of all keys, of 1000 nodes 7/n (TestAnotherList). Where a
// cluster grows and shrinks, give New every name that may come, and leave out by Without those that are not there.
//
// An Owner costs 11 ns for a key of 8 bytes and 44 ns for one of 40, a New of 100 nodes 8 ms, a Without 1 to 2 ms
// (go test -bench . ./shard/ring, Xeon of family 6 model 207, Go 1.26.8).
//
// # The library underneath
//
// The table is computed by go-maglev. Its Rebuild loops forever when every node is dead or there is none, wants the
// list of the dead sorted and the size prime, and writes what Lookup reads. None of this can happen here: New and
// Without return ErrNoNodes where the loop would start, the size is a constant, Rebuild is never called, and a Ring
// never changes. Storing it in an atomic.Pointer publishes it whole, and who loaded the one before goes on with that.
//
// # What it does not do
//
// It does not find out who is alive, and does not make processes agree on it: while they differ, a key may be decided
// in more than one place and get its limit in each. It carries no balances: a key that moves starts fresh at its new
// owner. Its hash has no secret, as all processes must share it: who can choose keys freely can choose keys of one
// owner. Nodes have no weights. Names are compared byte by byte.
package ring

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dgryski/go-maglev"
)

// MaxNodes is the largest number of nodes of a Ring, 1310. It leaves a hundred slots for each, which keeps the shares
// within 1 % of fair.
const MaxNodes = size / 100

// size is the number of slots: a prime, as Maglev's permutations need, and the same for every Ring, because a size that
// followed the number of nodes would move nearly all keys whenever it changed.
const size = 1<<17 - 1

// The errors of New and Without. They come wrapped, with the value at fault: use errors.Is.
var (
	ErrNoNodes       = errors.New("ring: no live node")
	ErrEmptyNode     = errors.New("ring: empty node name")
	ErrDuplicateNode = errors.New("ring: duplicate node")
	ErrUnknownNode   = errors.New("ring: unknown node")
	ErrTooManyNodes  = errors.New("ring: too many nodes")
)

// A table holds the owner of each slot, as an index into the names.
type table [size]uint16

// A Ring maps every key to the node that owns it. It never changes, so all its methods are safe for concurrent use.
// Rings are made by New and Without; the zero Ring has no table, and panics when asked for an owner. A ring of New
// takes 256 KiB, and each ring made from it by Without as much again.
type Ring struct {
	nodes []string // sorted; shared with the rings made by Without, as home is
	home  *table   // the owners while all are live
	out   []bool   // by index: left out by Without
	owner *table   // home, with the slots of those who are out handed on
}

// New returns the ring of the named nodes, all of them live. Their order does not matter, and the slice is not kept.
// The error is ErrNoNodes, ErrEmptyNode, ErrDuplicateNode or ErrTooManyNodes. New allocates 1.3 MB, most of it garbage
// when it returns, and takes milliseconds: it is not for the path of a decision.
func New(nodes []string) (*Ring, error) {
	if len(nodes) == 0 {
		return nil, ErrNoNodes
	}
	if len(nodes) > MaxNodes {
		return nil, fmt.Errorf("%w: %d, at most %d", ErrTooManyNodes, len(nodes), MaxNodes)
	}
	if i := slices.Index(nodes, ""); i >= 0 {
		return nil, fmt.Errorf("%w: nodes[%d]", ErrEmptyNode, i)
	}
	nodes = slices.Sorted(slices.Values(nodes))
	for i, name := range nodes[1:] {
		if name == nodes[i] {
			return nil, fmt.Errorf("%w: %q", ErrDuplicateNode, name)
		}
	}

	m := maglev.New(nodes, size)
	home := new(table)
	for s := range home {
		home[s] = uint16(m.Lookup(uint64(s)))
	}
	return &Ring{nodes: nodes, home: home, out: make([]bool, len(nodes)), owner: home}, nil
}

// Owner returns the name of the node that owns key. Every string is a key, the empty one too. Owner is OwnerHash of the
// key's 64-bit FNV-1a hash: one multiplication for each byte, one load from the table, no allocation.
func (r *Ring) Owner(key string) string {
	h := uint64(14695981039346656037)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	return r.OwnerHash(h)
}

// OwnerHash returns the name of the node that owns the keys with this hash. It is for keys that are not strings. The
// hash need not be well mixed, so an integer key can stand for itself; but it must be the same in every process, which
// hash/maphash is not.
func (r *Ring) OwnerHash(hash uint64) string {
	return r.nodes[r.owner[mix(hash)%size]]
}

// Nodes returns the names of the live nodes, sorted, in a new slice.
func (r *Ring) Nodes() []string {
	live := make([]string, 0, len(r.nodes))
	for i, name := range r.nodes {
		if !r.out[i] {
			live = append(live, name)
		}
	}
	return live
}

// Without returns the ring in which the named nodes, and those that are out of r already, own nothing. It leaves r as
// it is: a node returns when the caller goes back to a ring that has it. Order and repeats do not matter, nor whether
// nodes leave in one step or several; if none of them was still in r, the result is r itself. The error is
// ErrUnknownNode for a name that was not given to New, or ErrNoNodes if nobody is left. Without allocates up to 1 MB,
// and keeps 256 KiB of it.
func (r *Ring) Without(dead ...string) (*Ring, error) {
	out := slices.Clone(r.out)
	for _, name := range dead {
		i, ok := slices.BinarySearch(r.nodes, name)
		if !ok {
			return nil, fmt.Errorf("%w: %q", ErrUnknownNode, name)
		}
		out[i] = true
	}
	if slices.Equal(out, r.out) {
		return r, nil
	}
	if !slices.Contains(out, false) {
		return nil, fmt.Errorf("%w: all %d are out", ErrNoNodes, len(out))
	}
	return &Ring{nodes: r.nodes, home: r.home, out: out, owner: handOn(r.home, out)}, nil
}

// handOn returns home with each slot of a node that is out given to the next live owner along the table who has room.
// The live keep what they have, for in a smaller ring their share is no less; and the shares add up to size, so there is
// room until the last slot is given.
func handOn(home *table, out []bool) *table {
	held := make([]int, len(out))
	heirs := make([]uint16, 0, size) // the owners of the live slots, in their order
	for _, n := range home {
		if !out[n] {
			heirs = append(heirs, n)
			held[n]++
		}
	}

	live := 0
	for _, o := range out {
		if !o {
			live++
		}
	}
	share, extra := size/live, size%live // so many nodes hold one more than their share
	for _, h := range held {
		if h > share {
			extra--
		}
	}
	room := func(n uint16) bool { return held[n] < share || held[n] == share && extra > 0 }

	// A node once full stays full, so whoever walks past full ones leaves a shortcut behind. Without it a node whose slots
	// lie close together, when it is the last to have room, costs thousands of others a walk round the table.
	past := make([]int32, len(heirs))
	for i := range past {
		past[i] = int32((i + 1) % len(heirs))
	}

	owner := new(table)
	next := 0 // in heirs: the first live slot after s
	for s, n := range home {
		if !out[n] {
			owner[s] = n
			next++
			continue
		}
		i := int32(next % len(heirs))
		for !room(heirs[i]) {
			if p := past[i]; !room(heirs[p]) {
				past[i] = past[p]
			}
			i = past[i]
		}
		heir := heirs[i]
		if held[heir] == share {
			extra--
		}
		held[heir]++
		owner[s] = heir
	}
	return owner
}

// mix is the finalizer of MurmurHash3. FNV-1a alone leaves keys that differ in their last byte close together.
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
