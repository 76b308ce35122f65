package shard

import (
	"runtime"
	"testing"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// half is the first half of a SetLimit: the new block is in force, and nothing
// has been brought over. What it returns is the second.
func (t *Table[K]) half(limit gcra.Limit) (rest func()) {
	t.setting.Lock()
	old := t.block.Load()
	if *old.gen.Limit() == limit {
		return t.setting.Unlock
	}
	b := old.successor()
	t.publish(b, limit)
	return func() {
		for i := range b.buckets {
			t.bring(b, old, uint64(i))
		}
		b.old.Store(nil)
		t.setting.Unlock()
	}
}

// A key that a decider has brought over and charged is not brought over again,
// nor is one that came to be, or was lowered, while others had still to be.
func TestTableBroughtOverOnce(t *testing.T) {
	var clk clock.Manual
	l := NewTable[int](gcra.PerSecond(1).Burst(10), 50, WithClock(&clk))
	for key := range 40 {
		l.Take(key, 4)
	}
	old := l.block.Load()
	rest := l.half(gcra.PerSecond(4).Burst(20))
	here := func() (n int) { // keys that have been brought over
		b := l.block.Load()
		for i := range b.buckets {
			for j := range b.buckets[i] {
				if b.buckets[i][j].hash.Load() != 0 {
					n++
				}
			}
		}
		return n
	}
	if here() != 0 {
		t.Fatal("the half of a change has brought keys over")
	}
	for key := range 10 {
		l.Take(key, 3) // 6 were there
	}
	l.Reset(10)
	r := l.Reserve(11, 5)
	r.Cancel()
	for key := 100; key < 110; key++ {
		l.Take(key, 10)
	}
	if n := here(); n < 22 {
		t.Errorf("%d keys are there after deciders asked for 22", n)
	}
	for i := range old.buckets { // and again, as another decider would
		l.bring(l.block.Load(), old, uint64(i))
	}
	rest()
	if n := here(); n != 50 || l.Len() != 50 {
		t.Errorf("%d keys are there and %d counted, want 50", n, l.Len())
	}
	for key := range 110 {
		want := 6
		switch {
		case key < 10:
			want = 3
		case key == 10:
			want = 10 // what fresh has
		case key >= 100:
			want = 0
		case key >= 40:
			continue
		}
		if got := l.Peek(key, 0).Remaining(); got != want {
			t.Errorf("key %d has %d tokens, want %d", key, got, want)
		}
	}
}

// An insert that waited for its lock while the limit changed stores nothing in
// the block that it found before: that would be lost, or be brought over in the
// middle.
func TestTableInsertAcrossAChange(t *testing.T) {
	var clk clock.Manual
	l := NewTable[int](gcra.PerSecond(1).Burst(10), 10, WithClock(&clk))
	const h = 1 << 50
	st := l.stripe(h)
	for _, finished := range []bool{false, true} {
		b, g := l.current()
		rate, _ := g.Limit().Rate()
		rest := l.half(gcra.PerSecond(rate + 1).Burst(10))
		if finished {
			rest()
		}
		_, end := l.insert(b, h, st, func(g *gatomic.Generation, tat int64, now time.Duration) (int64, gcra.Decision) {
			return gcra.Take(g.Limit(), tat, g.At(now), 4)
		})
		if end != present || l.left(h) != 10 || l.Len() != 0 {
			t.Errorf("finished %v: an insert in an old block ended in %d, %d left, %d slots", finished, end, l.left(h), l.Len())
		}
		if done := l.reset(b, g, h, st); done && l.block.Load() != b {
			t.Error("a reset in an old block says it is done")
		}
		if !finished {
			rest()
		}
	}
	if d := l.ask(h, 4, gcra.Take); !d.OK() || l.left(h) != 6 {
		t.Errorf("%v, %d left", d.Err(), l.left(h))
	}
	// A charge in an old block counts until its key is brought over, and is
	// refused a place there after.
	b, g := l.current()
	s := b.find(h)
	rest := l.half(gcra.PerSecond(9).Burst(10))
	if _, here := s.decide(h, g.Limit(), g.At(l.core.Now()), 1, gcra.Take); !here || l.left(h) != 5 {
		t.Errorf("a late charge: here %v, %d left, want 5", here, l.left(h))
	}
	if _, here := s.decide(h, g.Limit(), g.At(l.core.Now()), 1, gcra.Take); here || l.left(h) != 5 {
		t.Errorf("a charge after its key was brought over: here %v, %d left, want 5", here, l.left(h))
	}
	rest()
}

// A decision that stopped between load and swap while its key was brought over
// charges it where it is now.
func TestTableSwapAcrossAChange(t *testing.T) {
	for _, half := range []bool{false, true} {
		clk := new(hookClock)
		l := NewTable[int](gcra.PerSecond(1).Burst(10), 10, WithClock(clk))
		const h = 1 << 50
		l.ask(h, 4, gcra.Take)
		rest := func() {}
		d := l.ask(h, 2, between(gcra.Take, func() {
			clk.Advance(time.Second)
			if rest = l.half(gcra.PerSecond(10).Burst(10)); !half {
				rest()
			}
			l.ask(h, 1, gcra.Take) // of 7, at the end of a second
			clk.Advance(100 * time.Millisecond)
		}))
		if half {
			rest()
		}
		if !d.OK() || d.Remaining() != 5 || l.left(h) != 5 {
			t.Errorf("half %v: err %v, %d remaining, %d left, want 5", half, d.Err(), d.Remaining(), l.left(h))
		}
	}
}

// The change's instant is read after the new block was published, and under no
// lock of a stripe: deciders may go on meanwhile, in keys old and new.
func TestTableClockOfAChange(t *testing.T) {
	clk := new(hookClock)
	l := NewTable[int](gcra.PerSecond(1).Burst(10), 10, WithClock(clk))
	l.Take(1, 10)
	clk.hook = func() {
		clk.Advance(time.Second)
		if d := l.Take(1, 1); !d.OK() || d.Limit() != gcra.PerSecond(2).Burst(10) {
			t.Errorf("inside the change: %v under %v", d.Err(), d.Limit())
		}
		l.Take(2, 3)
		clk.Advance(time.Second)
	}
	l.SetLimit(gcra.PerSecond(2).Burst(10))
	if a, b := l.Peek(1, 0).Remaining(), l.Peek(2, 0).Remaining(); a != 2 || b != 9 {
		t.Errorf("%d and %d tokens, want 2 and 9", a, b)
	}
}

// TestTableSetLimitKeepsAll: all keys of a large table, in debt or full, come
// over at their place, and a second change comes over the first.
func TestTableSetLimitKeepsAll(t *testing.T) {
	keys := fewer(100_000)
	var clk clock.Manual
	l := NewTable[int](gcra.PerHour(10).Burst(10), keys, WithClock(&clk))
	for key := range keys {
		l.Debit(key, 1+key%15)
	}
	l.SetLimit(gcra.PerHour(20).Burst(8))
	l.SetLimit(gcra.PerHour(40).Burst(16))
	for key := range keys {
		d, had := l.Peek(key, 1), 10-(1+key%15)
		wait := time.Duration(max(1-had, 0)) * time.Hour / 40
		if d.Remaining() != min(max(had, 0), 8) || d.RetryAfter() != wait {
			t.Fatalf("key %d has %d tokens and one in %v, want %d and %v", key, d.Remaining(), d.RetryAfter(), min(max(had, 0), 8), wait)
		}
	}
	full := 0 // under the limit in between
	for key := range keys {
		if 10-(1+key%15) >= 8 {
			full++
		}
	}
	if s := l.Stats(); s.Keys != keys-full || s.Forgotten != int64(full) || l.block.Load().old.Load() != nil {
		t.Errorf("%+v of %d keys, %d of which were full", s, keys, full)
	}
}

// A change waits for the inserts that are under way, since it could not tell what
// a claimed slot will hold.
func TestTableChangeWaitsForInserts(t *testing.T) {
	var clk clock.Manual
	l := NewTable[int](gcra.PerSecond(1).Burst(10), 10, WithClock(&clk))
	const h = 1 << 50
	b := l.block.Load()
	changed := make(chan bool)
	_, end := l.insert(b, h, l.stripe(h), func(g *gatomic.Generation, tat int64, now time.Duration) (int64, gcra.Decision) {
		go func() {
			l.SetLimit(gcra.PerSecond(2).Burst(10))
			close(changed)
		}()
		for range 10_000 {
			if runtime.Gosched(); l.block.Load() != b {
				t.Error("the block changed in the middle of an insert")
				break
			}
		}
		return gcra.Take(g.Limit(), tat, g.At(now), 4)
	})
	if <-changed; end != decided || l.left(h) != 6 || l.Len() != 1 {
		t.Errorf("the insert ended in %d, %d left, %d slots", end, l.left(h), l.Len())
	}
}
