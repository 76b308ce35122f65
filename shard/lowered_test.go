package shard

import (
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// What lowers or raises a slot's TAT, step by step: Reset, the give-back, and
// the raise of a strict Wait.

// aSlot returns a table of one token a second with one key that owes that many.
func aSlot(owes int) (l *Table[int], clk *hookClock, s *slot, h uint64) {
	clk = new(hookClock)
	l = NewTable[int](gcra.PerSecond(1).Burst(10), 10, WithClock(clk))
	l.Take(1, owes)
	h = l.hashOf(1)
	return l, clk, l.block.Load().find(h), h
}

func TestTableResetRows(t *testing.T) {
	for _, row := range []struct {
		owes  int
		after time.Duration
		tat   int64 // in seconds after the first tick; what it owed is gone
		stamp bool  // whether bookings from before are cut off
		why   string
	}{
		{4, 0, 0, true, "just charged"},
		{4, 3 * time.Second, 3, true, "partly refilled"},
		{4, 4 * time.Second, 4, false, "full in this instant: nothing is lowered"},
		{4, 9 * time.Second, 4, false, "full since long"},
	} {
		l, clk, s, h := aSlot(row.owes)
		clk.Advance(row.after)
		for range 2 { // the second changes nothing
			l.Reset(1)
			if got := s.tat.Load(); got != 1+row.tat*sec {
				t.Errorf("%s: a TAT of %d, want %d", row.why, got, 1+row.tat*sec)
			}
			i, j, _ := l.block.Load().scan(h)
			if stamp := l.block.Load().resets.load(i, j); (stamp != 0) != row.stamp {
				t.Errorf("%s: stamp %d", row.why, stamp)
			}
		}
		if l.left(h) != 10 || l.Len() != 1 {
			t.Errorf("%s: %d tokens and %d keys", row.why, l.left(h), l.Len())
		}
		l.Reset(2) // a key without a slot
		if l.Len() != 1 {
			t.Error("a reset made a key")
		}
	}
}

// TestTableResetMeetsACharge: the TAT has passed when the clock is read, but
// not when it was loaded, and a charge came in between: it is reset too, at an
// instant when it has been made.
func TestTableResetMeetsACharge(t *testing.T) {
	l, clk, _, h := aSlot(5)
	clk.Advance(5 * time.Second)
	clk.hook = func() { l.Take(1, 3) }
	if l.resetHash(h); l.left(h) != 10 {
		t.Errorf("%d tokens after a reset, want 10", l.left(h))
	}
}

// A reset that comes to the old block too late leaves it alone.
func TestTableResetOfAnOldBlock(t *testing.T) {
	l, clk, old, h := aSlot(5)
	b, g := l.current()
	rest := l.half(gcra.PerSecond(2).Burst(10))
	clk.Advance(time.Second)
	before := old.tat.Load()
	if l.reset(b, g, h, l.stripe(h)) || old.tat.Load() != before {
		t.Errorf("a reset in the old block: its TAT was %d, and is %d", before, old.tat.Load())
	}
	if l.reset(b, g, l.hashOf(2), l.stripe(l.hashOf(2))) {
		t.Error("a key that is not in the old block counts as reset")
	}
	if l.Reset(1); l.left(h) != 10 {
		t.Errorf("%d tokens after a reset amid a change, want 10", l.left(h))
	}
	rest()
	if l.left(h) != 10 {
		t.Errorf("%d tokens after the change, want 10", l.left(h))
	}
}

// TestTableResetsAreNumbered: each attempt to lower has a number of its own, so
// that a booking between two attempts is cut off by the second.
func TestTableResetsAreNumbered(t *testing.T) {
	l, clk, _, h := aSlot(5)
	var r spot
	charge := func() { l.Take(1, 1) } // so that the first attempt fails
	book := func() { r = l.book(h, l.stripe(h), true, l.core.Turn(), 1) }
	clk.hook = func() {
		charge()
		clk.hook = func() { book(); clk.hook = nil }
	}
	l.resetHash(h)
	if l.left(h) != 10 {
		t.Fatalf("%d tokens after a reset", l.left(h))
	}
	l.Take(1, 5)
	if l.giveBack(r.gen, h, r.stamp, r.b, 1); l.left(h) != 5 {
		t.Errorf("%d tokens, want 5: a booking from before the reset was given back", l.left(h))
	}
}

// A charge that comes while a booking is given back is not lost.
func TestTableReturnMeetsACharge(t *testing.T) {
	l, clk, _, h := aSlot(2)
	r := l.book(h, l.stripe(h), true, l.core.Turn(), 3)
	held := false
	clk.hook = func() {
		l.Take(1, 4)
		if mu := &l.stripe(h).mu; mu.TryLock() {
			mu.Unlock()
		} else {
			held = true
		}
	}
	if l.giveBack(r.gen, h, r.stamp, r.b, 3); l.left(h) != 4 {
		t.Errorf("%d tokens, want 4: 2 and 4 were taken of 10", l.left(h))
	}
	if !held {
		t.Error("a give-back reads the clock without the lock: a reset may come in between")
	}
	held = false
	clk.hook = func() { held = !l.stripe(h).mu.TryLock() }
	if l.resetHash(h); !held {
		t.Error("a reset reads the clock without the lock")
	}
}

func TestTableReturnsOfNothing(t *testing.T) {
	l, _, s, h := aSlot(5)
	g := l.core.Current()
	r := l.book(h, l.stripe(h), true, l.core.Turn(), 3)
	tat := s.tat.Load()
	for _, row := range []struct {
		do  func()
		why string
	}{
		{func() { l.giveBack(g, h, unstored, r.b, 3) }, "a booking that stands nowhere"},
		{func() { l.giveBack(g, l.hashOf(2), r.stamp, r.b, 3) }, "a key that is not there"},
		{func() { l.giveBack(g, h, r.stamp, r.b, 0) }, "no tokens"},
		{func() { l.giveBack(g, h, r.stamp, gcra.Booking{}, 3) }, "a booking of nothing"},
		{func() { l.raise(g, h, unstored, tat+1) }, "raised for a booking that stands nowhere"},
		{func() { l.raise(g, l.hashOf(2), r.stamp, tat+1) }, "raised for a key that is not there"},
		{func() { l.raise(g, h, r.stamp, tat-1) }, "raised to less"},
	} {
		if row.do(); s.tat.Load() != tat || l.Len() != 1 {
			t.Errorf("%s: the TAT was %d and is %d", row.why, tat, s.tat.Load())
		}
	}
	l.raise(g, h, r.stamp, tat+1)
	if l.raise(g, h, r.stamp, tat+2); s.tat.Load() != tat+2 { // twice: the lock is free again
		t.Errorf("raised to %d, want %d", s.tat.Load(), tat+2)
	}
	l.Reset(1)
	l.Take(1, 1)
	if tat = s.tat.Load(); tat != 1+sec {
		t.Fatalf("a TAT of %d", tat)
	}
	if l.raise(g, h, r.stamp, tat+1); s.tat.Load() != tat {
		t.Error("raised for a booking from before a reset")
	}
	after := l.book(h, l.stripe(h), true, l.core.Turn(), 1)
	if l.raise(g, h, after.stamp, tat+3*sec); s.tat.Load() != tat+3*sec {
		t.Error("not raised for a booking from after the reset")
	}
	l.SetLimit(gcra.PerSecond(2).Burst(10))
	s = l.block.Load().find(h)
	tat = s.tat.Load()
	l.giveBack(g, h, after.stamp, after.b, 1)
	if l.raise(g, h, after.stamp, 1<<60); s.tat.Load() != tat {
		t.Error("a booking from before a change of the limit moves a TAT after it")
	}
}

// A slot that is being written, or whose key has been brought over, is nobody's.
func TestTableRaiseOfNobodys(t *testing.T) {
	for _, tat := range []int64{claimed, gone} {
		var s slot
		s.hash.Store(mine)
		if s.tat.Store(tat); s.raise(mine, 5) || s.tat.Load() != tat || s.read(mine) != 0 {
			t.Errorf("a slot with %d was raised to %d, or read", tat, s.tat.Load())
		}
		p := spot{}
		if _, here := s.decide(mine, new(gcra.Limit), gcra.Instant{}, 1, gcra.Take); here || s.book(mine, &p, 1, nil) {
			t.Errorf("a slot with %d was decided in", tat)
		}
		if _, here := s.allow(mine, new(gcra.Limit), gcra.Instant{}, 1); here {
			t.Errorf("a slot with %d was decided in", tat)
		}
	}
}
