package shard

import (
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// unblocked fails the test if do is held up for good.
func unblocked(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s waits for a lock", what)
	}
}

// presentKey is every decision on a key that is there.
func presentKey(e decider, key string) map[string]func() {
	v := e.For(key)
	rows := map[string]func(){
		"Allow": func() { e.Allow(key) }, "AllowN": func() { e.AllowN(key, 2) }, "Take": func() { e.Take(key, 1) },
		"TakeUpTo": func() { e.TakeUpTo(key, 1) }, "Peek": func() { e.Peek(key, 1) }, "Debit": func() { e.Debit(key, 1) },
		"above the burst": func() { e.Take(key, 1<<30) }, "view": func() { v.Take(1) }, "joint": func() { Join(v, v).Take(1) },
	}
	if t, ok := e.(*Table[string]); ok {
		rows["AllowBatch"] = func() { t.AllowBatch([]string{key, key}, make([]bool, 2)) }
	}
	return rows
}

// TestPresentKeysTakeNoLock holds all locks that new keys take, and decides on a
// key that is there: who floods a limiter holds up nobody.
func TestPresentKeysTakeNoLock(t *testing.T) {
	var clk clock.Manual
	limit := gcra.PerHour(1).Burst(1 << 20)
	tab := NewTable[string](limit, 1000, WithClock(&clk), WithStats())
	tab.Allow("here")
	tab.setting.Lock()
	for i := range tab.stripes {
		tab.stripes[i].mu.Lock()
	}
	for name, decide := range presentKey(tab, "here") {
		unblocked(t, "Table: "+name, decide)
	}

	l := New[string](limit, WithClock(&clk), WithStats(), WithMaxKeys(1, Refuse))
	l.Allow("here")
	for i := range l.bins {
		l.bins[i].mu.Lock()
	}
	// Within Compute the lock of the key's own bucket is held.
	l.bin("here").cells.Compute("here", func(c *cell, _ bool) (*cell, bool) {
		for name, decide := range presentKey(l, "here") {
			unblocked(t, "Limiter: "+name, decide)
		}
		return c, false
	})
}

// TestFindLooksNoFurther: whatever else the table holds, a decision looks at the
// slots of two runs. One that has the hash but lies outside is not found.
func TestFindLooksNoFurther(t *testing.T) {
	var clk clock.Manual
	l := NewTable[int](gcra.PerHour(1).Burst(9), 1000, WithClock(&clk))
	b := l.block.Load()
	const h = 0x123456789abcdef1
	x, y := b.home(h)
	in := func(i uint64) bool { return i >= x && i < x+run || i >= y && i < y+run }
	inside := 0
	for i := range b.buckets {
		if in(uint64(i)) {
			inside += len(bucket{})
		}
		for j := range b.buckets[i] {
			s := &b.buckets[i][j]
			s.tat.Store(1)
			if s.hash.Store(h); in(uint64(i)) {
				s.hash.Store(h + 1)
			}
		}
	}
	if s := b.find(h); s != nil || inside != 2*run*len(bucket{}) {
		t.Fatalf("found %v outside of the %d slots of the key's runs", s, inside)
	}
	for k := range uint64(run) {
		for _, i := range []uint64{x + k, y + k} {
			for j := range b.buckets[i] {
				s := &b.buckets[i][j]
				s.hash.Store(h)
				if got := b.find(h); got != s {
					t.Fatalf("bucket %d, slot %d: not found", i, j)
				}
				s.hash.Store(h + 1)
			}
		}
	}
}

// TestFloodLeavesTheMapAlone: new keys at a full limiter put nothing into the
// maps, so that a search for a key that is there stays as short as it was.
func TestFloodLeavesTheMapAlone(t *testing.T) {
	const keys = 500
	for _, policy := range []Policy{Refuse, Admit} {
		var clk clock.Manual
		l := New[int](gcra.PerHour(1).Burst(9), WithClock(&clk), WithMaxKeys(keys, policy))
		for key := range keys {
			l.Take(key, key%9+1)
		}
		for key := range 20_000 {
			if l.Allow(1_000_000+key) != (policy == Admit) {
				t.Fatalf("policy %d: new key %d was decided otherwise", policy, key)
			}
		}
		entries, listed := 0, 0
		for i := range l.bins {
			entries, listed = entries+l.bins[i].cells.Size(), listed+l.bins[i].keys.len
		}
		if s := l.Stats(); entries != keys || listed != keys || s.Keys != keys || s.Capped != 20_000 || s.Forgotten != 0 {
			t.Errorf("policy %d: %d entries, %d listed, %+v", policy, entries, listed, s)
		}
		for key := range keys {
			if got := l.Peek(key, 0).Remaining(); got != 9-(key%9+1) {
				t.Fatalf("policy %d: key %d has %d tokens", policy, key, got)
			}
		}
	}
}
