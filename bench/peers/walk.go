package main

import (
	"fmt"
	"math"
)

// A walk is one goroutine on its way through its keys, and its count.
type walk[K comparable] struct {
	order[K]
	start   int // where it began
	at      int
	asks    int
	granted int

	ok [batch]bool
}

// batch is how many keys those who take batches are asked about at once.
const batch = 32

func (s keyset[K]) walks(d dist, n int) []*walk[K] {
	walks := make([]*walk[K], n)
	for i := range walks {
		walks[i] = &walk[K]{order: s.asked[d][i]}
	}
	return walks
}

// restart lets the walk count anew from where it is. It does not go back: keys
// that it has just asked about are in the cache.
func (w *walk[K]) restart() { w.start, w.asks, w.granted = w.at, 0, 0 }

// run asks about the next n keys.
func (w *walk[K]) run(i *instance[K], n int) {
	if i.many != nil {
		for n > 0 {
			n -= w.runBatch(i.many, n)
		}
		return
	}
	keys, allow, at, granted := w.keys, i.allow, w.at, 0
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

// runBatch asks about at most n keys at once and returns how many.
func (w *walk[K]) runBatch(many func([]K, []bool), n int) int {
	n = min(n, batch, len(w.keys)-w.at)
	many(w.keys[w.at:w.at+n], w.ok[:n])
	for _, ok := range w.ok[:n] {
		if ok {
			w.granted++
		}
	}
	if w.at += n; w.at == len(w.keys) {
		w.at = 0
	}
	w.asks += n
	return n
}

// A mix is which of the requests are granted.
type mix string

const (
	granted mix = "granted" // all
	refused mix = "refused" // none
	mixed   mix = "mixed"   // those about keys with an even number
)

// drains tells whether the key of that number is emptied before the requests
// are timed.
func (m mix) drains(number uint32) bool {
	return m == refused || m == mixed && number%2 == 1
}

// A claim is what the name of a case says about its requests.
type claim struct {
	keys int
	dist dist
	mix  mix
	// A walk's order has so many different keys, give or take.
	distinct, off float64
	// So many of them have to have been asked about.
	least int
	// Keys for which a full table has no room are refused, whatever the mix.
	lost map[uint32]bool
}

// grants tells whether the exact token bucket grants a request on the key of
// that number: no limit of a mix gives back a token within the run, and none
// that is not emptied becomes empty.
func (c claim) grants(number uint32) bool { return !c.mix.drains(number) && !c.lost[number] }

// model returns how many of an order's requests from start on it grants.
func (c claim) model(numbers []uint32, start, asks int) (want int) {
	if c.mix != mixed && len(c.lost) == 0 {
		if c.mix == refused {
			return 0
		}
		return asks
	}
	each := 0
	for _, n := range numbers {
		if c.grants(n) {
			each++
		}
	}
	want = asks / len(numbers) * each
	for i := range asks % len(numbers) {
		if c.grants(numbers[(start+i)%len(numbers)]) {
			want++
		}
	}
	return want
}

// A proof is what the requests were, counted.
type proof struct {
	touched int     // different keys that were asked about
	share   float64 // of the requests that were granted
}

// check returns an error if what was timed is not what the case claims.
func check[K comparable](c claim, walks []*walk[K]) (proof, error) {
	asks, got, model := 0, 0, 0
	for i, w := range walks {
		if off := math.Abs(float64(w.distinct) - c.distinct); off > c.off {
			return proof{}, fmt.Errorf("diversity: goroutine %d of %d has %d different keys in %d, want %.0f±%.0f of %d",
				i+1, len(walks), w.distinct, len(w.keys), c.distinct, c.off, c.keys)
		}
		if c.dist != zipf && len(w.keys) != c.keys {
			return proof{}, fmt.Errorf("diversity: goroutine %d of %d asks about %d keys before the first again, want %d",
				i+1, len(walks), len(w.keys), c.keys)
		}
		asks, got, model = asks+w.asks, got+w.granted, model+c.model(w.numbers, w.start, w.asks)
	}
	p := proof{touched(walks), float64(got) / float64(max(asks, 1))}
	switch {
	case got != model:
		return p, fmt.Errorf("share: %d of %d requests were granted, want %d", got, asks, model)
	case p.touched < c.least:
		return p, fmt.Errorf("diversity: %d different keys were asked about, want %d", p.touched, c.least)
	case c.mix == mixed && asks >= 1000 && (p.share < 0.3 || p.share > 0.7):
		return p, fmt.Errorf("share: %.3f were granted, want about half", p.share)
	}
	return p, nil
}

// touched returns how many different keys all walks together have asked about.
func touched[K comparable](walks []*walk[K]) (n int) {
	var seen []uint64
	for _, w := range walks {
		for i := range min(w.asks, len(w.numbers)) {
			number := w.numbers[(w.start+i)%len(w.numbers)]
			at, bit := int(number/64), uint64(1)<<(number%64)
			if at >= len(seen) {
				seen = append(seen, make([]uint64, at+1-len(seen))...)
			}
			if seen[at]&bit == 0 {
				seen[at] |= bit
				n++
			}
		}
	}
	return n
}

// audit lets walks ask one that writes down which keys it was asked about, and
// returns an error if those are not as many as touched makes them.
func audit[K comparable](set keyset[K], d dist) error {
	seen := make(map[K]struct{})
	single := func(key K) bool { seen[key] = struct{}{}; return true }
	for _, i := range []instance[K]{
		{allow: single},
		{many: func(keys []K, _ []bool) {
			for _, key := range keys {
				single(key)
			}
		}},
	} {
		clear(seen)
		walks := set.walks(d, len(set.asked[d]))
		for _, w := range walks {
			w.run(&i, min(len(w.keys), leastAsks))
		}
		if got := touched(walks); got != len(seen) {
			return fmt.Errorf("diversity: asked about %d different keys, which are counted as %d", len(seen), got)
		}
	}
	return nil
}

// fill asks once about every key, so that all are present and owe a token. It
// returns the numbers of those for which there was no room: an error, if they
// are more than the subject may spare.
func fill[K comparable](s subject[K], i *instance[K], keys []K) (lost map[uint32]bool, err error) {
	lost = make(map[uint32]bool)
	for n, key := range keys {
		if i.allow(key) {
			continue
		}
		if lost[uint32(n)] = true; len(lost) > s.spare(len(keys)) {
			return lost, fmt.Errorf("%s: the first request on key %d of %d was refused", s.lib, n+1, len(keys))
		}
	}
	return lost, remembers(s, i, len(keys)-len(lost))
}

// empty takes all tokens of the keys that the mix wants refused, if that is
// possible; those that it is not possible for have no mix but granted.
func (i *instance[K]) empty(keys []K, m mix) {
	if i.drain == nil {
		return
	}
	for n, key := range keys {
		if m.drains(uint32(n)) {
			i.drain(key)
		}
	}
}

// remembers returns an error if the subject can tell that it does not hold n
// keys.
func remembers[K comparable](s subject[K], i *instance[K], n int) error {
	if i.len != nil && i.len() != n {
		return fmt.Errorf("%s: remembers %d keys of %d", s.lib, i.len(), n)
	}
	return nil
}
