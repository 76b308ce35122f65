package shard

import (
	"strings"
	"testing"
	"time"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// TestTableOneBucket: keys that all have the same runs, as who knows the seed can
// choose them. As many as there are slots are limited exactly; the others get the
// policy, and are counted; keys elsewhere do not notice.
func TestTableOneBucket(t *testing.T) {
	const slots, beyond, burst = 2 * run * len(bucket{}), 30, 1000
	for _, policy := range []Policy{Refuse, Admit} {
		var clk clock.Manual
		l := NewTable[uint64](gcra.PerSecond(1).Burst(burst), 100, WithClock(&clk), WithMaxKeys(100, policy))
		b := l.block.Load()
		at := func(key uint64) [2]uint64 {
			h, _, _ := l.hash(key)
			x, y := b.home(h)
			return [2]uint64{x, y}
		}
		home, keys := at(0), []uint64(nil)
		for key := uint64(0); len(keys) < slots+beyond; key++ {
			if at(key) == home {
				keys = append(keys, key)
			}
		}
		clk.Set(time.Second)
		attack := func(first int) (turned int64) {
			before := l.Stats()
			for i := range keys {
				i = (i + first) % len(keys)
				if d := l.Take(keys[i], 1+int(keys[i]%7)); d.OK() != (i < slots || policy == Admit) {
					t.Fatalf("policy %d: key %d of %d: %v", policy, i, len(keys), d.Err())
				}
			}
			return l.Stats().Capped - before.Capped
		}
		for round := range 20 { // the first round is in order; later ones begin elsewhere
			if turned := attack(round * 7); turned != beyond {
				t.Fatalf("policy %d: %d were turned away, want %d", policy, turned, beyond)
			}
			for i, key := range keys {
				want := burst
				if i < slots {
					want -= (round + 1) * (1 + int(key%7))
				}
				if got := l.Peek(key, 0).Remaining(); got != want {
					t.Fatalf("policy %d, round %d: key %d has %d tokens, want %d", policy, round, i, got, want)
				}
			}
		}
		if n := l.Len(); n != slots {
			t.Errorf("policy %d: %d keys", policy, n)
		}
		// Elsewhere there is room.
		for key, left := uint64(1<<40), 40; left > 0; key++ {
			if p := at(key); p[0] > home[0]+run || p[0]+run < home[0] {
				left--
				if d := l.Take(key, 5); !d.OK() || l.Peek(key, 0).Remaining() != burst-5 {
					t.Fatalf("policy %d: a key elsewhere: %v", policy, d.Err())
				}
			}
		}
		// Once all are full, those who were turned away take the slots over.
		clk.Advance(burst*time.Second + 2)
		capped := l.Stats().Capped
		for i := len(keys) - 1; i >= len(keys)-slots; i-- {
			if l.Take(keys[i], 3); l.Peek(keys[i], 0).Remaining() != burst-3 {
				t.Fatalf("policy %d: key %d has %d tokens", policy, i, l.Peek(keys[i], 0).Remaining())
			}
		}
		if s := l.Stats(); s.Capped != capped || s.Forgotten == 0 {
			t.Errorf("policy %d: %+v", policy, s)
		}
	}
}

// TestTableOneHash: keys with one hash share a bucket, and get no more together
// than one would; what it shares is not lost to keys with other hashes.
func TestTableOneHash(t *testing.T) {
	var clk clock.Manual
	l := NewTable[int](gcra.PerSecond(1).Burst(10), 100, WithClock(&clk))
	granted := 0
	for key := range 50 { // each is, by its hash, the same
		h := uint64(1<<63 | 5)
		if d := l.take(h, l.stripe(h), true, 1, gcra.Take); d.OK() {
			granted++
		} else if key < 10 {
			t.Fatalf("key %d: %v", key, d.Err())
		}
		if d := l.take(h+1, l.stripe(h+1), true, 0, gcra.Take); d.Remaining() != 10 {
			t.Fatalf("the next hash has %d tokens", d.Remaining())
		}
	}
	if granted != 10 || l.Len() != 1 {
		t.Errorf("%d granted, %d keys", granted, l.Len())
	}
}

// TestLimiterOneHash: keys that all collide in the map are one chain there. They
// are slow and exact.
func TestLimiterOneHash(t *testing.T) {
	const keys, burst = 1500, 100
	var clk clock.Manual
	l := New[int](gcra.PerSecond(1).Burst(burst), WithClock(&clk), WithShards(1), WithMaxKeys(keys, Refuse))
	l.bins[0].cells = xsync.NewMapOfWithHasher[int, *cell](func(int, uint64) uint64 { return 42 })
	for round := range 3 {
		for key := range keys + 100 {
			if d := l.Take(key, 1+key%9); d.OK() != (key < keys) {
				t.Fatalf("key %d: %v", key, d.Err())
			}
		}
		for key := range keys {
			if got, want := l.Peek(key, 0).Remaining(), burst-(round+1)*(1+key%9); got != want {
				t.Fatalf("key %d has %d tokens, want %d", key, got, want)
			}
		}
	}
	if s := l.Stats(); s.Keys != keys || s.Capped != 300 {
		t.Errorf("%+v", s)
	}
	clk.Advance(9 * time.Second) // full are those that took no more than 9 tokens
	full := 0
	for key := range keys {
		if 3*(1+key%9) <= 9 {
			full++
		}
	}
	if n := l.Sweep(); n != full || l.Len() != keys-full || l.bins[0].cells.Size() != keys-full {
		t.Errorf("forgot %d, want %d; %d keys, %d entries", n, full, l.Len(), l.bins[0].cells.Size())
	}
}

// TestLongKeys: keys of a megabyte that differ in the last byte, or the first,
// or in length, are told apart, by a save too; a table keeps none of them.
func TestLongKeys(t *testing.T) {
	const mega = 1 << 20
	long := strings.Repeat("k", mega)
	keys := []string{long, long[1:], "l" + long[1:], long[1:] + "l", long[:mega/2] + "l" + long[mega/2+1:], long + "\x00", long[:mega-1] + "\xff"}
	var clk clock.Manual
	limit := gcra.PerHour(1).Burst(100)
	l, tab := New[string](limit, WithClock(&clk)), NewTable[string](limit, 100, WithClock(&clk))
	for i, key := range keys {
		own := strings.Clone(key)
		l.Take(own, i+1)
		tab.Take(own, i+1)
	}
	again := New[string](limit, WithClock(&clk))
	data := saved(t, l)
	sum := 0
	for _, key := range keys {
		sum += len(key)
	}
	if len(data) > sum+1000 {
		t.Errorf("saved %d bytes for keys of %d", len(data), sum)
	}
	if n := allocated(func() { load(t, again, data) }); n > 6*uint64(len(data)) {
		t.Errorf("Load allocates %d bytes for %d", n, len(data))
	}
	for i, key := range keys {
		for name, got := range map[string]int{
			"limiter": l.Peek(key, 0).Remaining(), "table": tab.Peek(key, 0).Remaining(), "loaded": again.Peek(key, 0).Remaining(),
		} {
			if got != 100-(i+1) {
				t.Errorf("%s: key %d has %d tokens, want %d", name, i, got, 100-(i+1))
			}
		}
	}
	if l.Len() != len(keys) || tab.Len() != len(keys) || again.Len() != len(keys) {
		t.Errorf("%d, %d and %d keys, want %d", l.Len(), tab.Len(), again.Len(), len(keys))
	}
	if raceSlow == 0 {
		if n := testing.AllocsPerRun(5, func() { l.Allow(keys[0]); tab.Allow(keys[0]) }); n != 0 {
			t.Errorf("%v allocations for a decision on a long key", n)
		}
	}
	before := heap()
	for i := range 20 {
		tab.Allow(long[i:] + "new")
	}
	if grown := heap() - before; grown > mega/2 {
		t.Errorf("a table keeps %d bytes of its keys", grown)
	}
}
