package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A keyset is the keys of one case, prepared before anything is timed.
type keyset[K comparable] struct {
	// stored are the keys as the subjects get to keep them.
	stored []K
	// asked has an order for each goroutine: every key once, shuffled. It is
	// read in sequence, as a server finds a key's bytes in the cache because
	// they have just arrived, while a subject has to find its own copy.
	asked []order[K]
}

// An order is what a goroutine asks, over and over.
type order[K comparable] struct {
	keys     []K
	distinct int // counted, not assumed
}

func newOrder[K comparable](keys []K) order[K] {
	seen := make(map[K]struct{}, len(keys))
	for _, key := range keys {
		seen[key] = struct{}{}
	}
	return order[K]{keys, len(seen)}
}

// stringKeys returns n keys of 16 bytes for that many goroutines.
func stringKeys(n, goroutines int) keyset[string] {
	name := func(i int) string { return fmt.Sprintf("client-%09d", i) }
	set := keyset[string]{stored: make([]string, n)}
	for i := range set.stored {
		set.stored[i] = name(i)
	}
	for g := range goroutines {
		var all strings.Builder
		for _, i := range shuffled(n, g) {
			all.WriteString(set.stored[i])
		}
		keys := make([]string, n)
		for i := range keys {
			size := all.Len() / n
			keys[i] = all.String()[i*size : (i+1)*size]
		}
		set.asked = append(set.asked, newOrder(keys))
	}
	return set
}

// uintKeys returns n different keys that look random.
func uintKeys(n int) []uint64 {
	keys := make([]uint64, n)
	for i := range keys {
		// Odd, so this is one-to-one.
		keys[i] = uint64(i+1) * 0x9e3779b97f4a7c15
	}
	return keys
}

func shuffled(n, seed int) []int {
	return rand.New(rand.NewPCG(uint64(seed), 1)).Perm(n)
}

// A walk is one goroutine on its way through its keys, and its count.
type walk[K comparable] struct {
	order[K]
	at      int
	asks    int
	granted int
}

func (s keyset[K]) walks(n int) []*walk[K] {
	walks := make([]*walk[K], n)
	for i := range walks {
		walks[i] = &walk[K]{order: s.asked[i]}
	}
	return walks
}

// run asks about the next n keys.
func (w *walk[K]) run(allow func(K) bool, n int) {
	keys, at, granted := w.keys, w.at, 0
	for range n {
		if allow(keys[at]) {
			granted++
		}
		if at++; at == len(keys) {
			at = 0
		}
	}
	w.at, w.asks, w.granted = at, w.asks+n, w.granted+granted
}

// A claim is what the name of a case says about its requests.
type claim struct {
	keys    int  // so many different ones
	granted bool // all of them, else none
}

// check returns an error if what was timed is not what the case claims.
func check[K comparable](c claim, walks []*walk[K]) error {
	asks, granted := 0, 0
	for i, w := range walks {
		asks, granted = asks+w.asks, granted+w.granted
		// All keys of an order are different, or it is not c.keys long; so the
		// first n requests of a walk are about min(n, c.keys) keys.
		if w.distinct != c.keys || len(w.keys) != c.keys {
			return fmt.Errorf("diversity: goroutine %d of %d has %d different keys in %d, want %d",
				i+1, len(walks), w.distinct, len(w.keys), c.keys)
		}
	}
	want := 0
	if c.granted {
		want = asks
	}
	if granted != want {
		return fmt.Errorf("share: %d of %d requests were granted, want %d", granted, asks, want)
	}
	return nil
}

// touched returns the most different keys that one of the walks has asked about.
func touched[K comparable](walks []*walk[K]) (most int) {
	for _, w := range walks {
		most = max(most, min(w.asks, w.distinct))
	}
	return most
}

// fill asks once about every key, so that all are present, and none has a token
// left in the refused case.
func fill[K comparable](i instance[K], keys []K) error {
	for n, key := range keys {
		if !i.allow(key) {
			return fmt.Errorf("the first request on key %d of %d was refused", n+1, len(keys))
		}
	}
	if i.len != nil && i.len() != len(keys) {
		return fmt.Errorf("%d keys are remembered, want %d", i.len(), len(keys))
	}
	return nil
}
