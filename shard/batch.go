package shard

import (
	"fmt"

	"github.com/weir-go/weir/gcra"
)

// ahead of a decision by so many keys, a batch asks memory for their slots.
const atOnce = 32

// AllowBatch decides on one token for each key, in the order of the keys, as
// Allow would at one reading of the clock, and sets ok[i] to whether keys[i] got
// it. It costs less than as many calls: memory is asked for the slots of 32 keys
// at once, instead of one after another, and the clock is read once, but for
// keys that are new. It panics, before it decides on any, if ok is shorter than
// keys or if a key cannot be compared.
func (t *Table[K]) AllowBatch(keys []K, ok []bool) {
	mustFit("AllowBatch", len(keys), len(ok))
	t.batch(keys, func(int) int { return 1 }, func(i int, d gcra.Decision) { ok[i] = d.OK() })
}

// TakeBatch takes n[i] tokens of keys[i], in that order, as Take would at one
// reading of the clock, and sets d[i] to the decision: see [Table.AllowBatch].
// It panics, before it decides on any, if n or d is shorter than keys or if a key
// cannot be compared.
func (t *Table[K]) TakeBatch(keys []K, n []int, d []gcra.Decision) {
	mustFit("TakeBatch", len(keys), min(len(n), len(d)))
	t.batch(keys, func(i int) int { return n[i] }, func(i int, dec gcra.Decision) { d[i] = dec })
}

func mustFit(method string, keys, room int) {
	if room < keys {
		panic(fmt.Sprintf("weir: %s: %d keys and room for %d", method, keys, room))
	}
}

func (t *Table[K]) batch(keys []K, cost func(int) int, answer func(int, gcra.Decision)) {
	if t.types != nil {
		// A key that cannot be compared panics before any key is charged.
		for _, key := range keys {
			t.hash(key)
		}
	}
	var hashes [atOnce]uint64
	now := t.core.Now()
	for first := 0; first < len(keys); first += atOnce {
		part := keys[first:min(first+atOnce, len(keys))]
		b := t.block.Load()
		for i, key := range part {
			h, _, _ := t.hash(key)
			hashes[i] = h
			x, y := b.home(h)
			b.buckets[x][0].tat.Load()
			b.buckets[y][0].tat.Load()
		}
		for i, key := range part {
			st := t.stripe(hashes[i])
			n := cost(first + i)
			d := gcra.Decision{}
			if key == key {
				// A key that is new is charged at a later reading, and may come
				// again in this batch.
				d, now = t.takeAt(now, hashes[i], st, n, gcra.Take)
			} else {
				d = t.take(hashes[i], st, false, n, gcra.Take)
			}
			answer(first+i, t.answer(&st.tally, key, d))
		}
	}
}
