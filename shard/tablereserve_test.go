package shard

import (
	"errors"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// What comes back of a reservation is checked by the suite in stress; here is
// what befalls it where slots go from key to key.
func TestTableReservationMeanwhile(t *testing.T) {
	type table = Table[string]
	pushOut := func(l *table, clk *clock.Manual) { // "a", which is full
		for key := '一'; l.lookup(l.block.Load(), l.hashOf("a")) != nil; key++ {
			l.Take(string(key), 5)
		}
		clk.Advance(5*time.Second + 1) // so that there is room again
	}
	for _, row := range []struct {
		meanwhile func(l *table, clk *clock.Manual)
		settle    int
		want      int // tokens of 5
		why       string
	}{
		{func(*table, *clock.Manual) {}, 0, 5, "nothing happened"},
		{func(l *table, clk *clock.Manual) { clk.Advance(5*time.Second + 1); pushOut(l, clk); l.Take("a", 3) }, 0, 2, "pushed out, and come again"},
		{func(l *table, clk *clock.Manual) { clk.Advance(5*time.Second + 1); pushOut(l, clk) }, 0, 5, "pushed out"},
		{func(l *table, _ *clock.Manual) { l.Reset("a"); l.Take("a", 3) }, 0, 2, "reset"},
		{func(l *table, clk *clock.Manual) {
			l.Reset("a")
			clk.Advance(4*time.Second + 1)
			pushOut(l, clk)
			l.Take("a", 3)
		}, 0, 2, "reset and pushed out"},
		{func(l *table, _ *clock.Manual) { l.SetLimit(gcra.PerSecond(2).Burst(5)) }, 0, 1, "another limit"},
		{func(l *table, _ *clock.Manual) {
			l.SetLimit(gcra.PerSecond(2).Burst(5))
			l.Allow("a")
			l.SetLimit(gcra.PerSecond(1).Burst(5))
		}, 0, 0, "two changes, to the same limit"},
		{func(l *table, _ *clock.Manual) { l.half(gcra.PerSecond(2).Burst(5)) }, 0, 1, "a change that is half done"},
		{func(l *table, _ *clock.Manual) {
			l.SetLimit(gcra.PerSecond(1).Burst(5))
		}, 0, 5, "an equal limit is no change"},
		{func(l *table, _ *clock.Manual) {
			l.Move("a", NewTable[string](gcra.PerSecond(1).Burst(5), 10))
		}, 0, 5, "moved: it is returned where it was made"},
		{func(l *table, clk *clock.Manual) { clk.Advance(5*time.Second + 1); pushOut(l, clk) }, 6, 3, "settled upwards when forgotten: charged to the key as it is"},
		{func(l *table, _ *clock.Manual) { l.Reset("a") }, 7, 2, "settled upwards after a reset"},
		{func(l *table, _ *clock.Manual) { l.SetLimit(gcra.PerSecond(2).Burst(5)) }, 5, 0, "settled upwards under another limit"},
	} {
		var clk clock.Manual
		l := NewTable[string](gcra.PerSecond(1).Burst(5), 1, WithClock(&clk))
		r := l.Reserve("a", 4)
		row.meanwhile(l, &clk)
		r.Settle(row.settle)
		if got := l.Peek("a", 0).Remaining(); got != row.want {
			t.Errorf("%s: %d tokens, want %d", row.why, got, row.want)
		}
	}
}

func (t *Table[K]) hashOf(key K) uint64 {
	h, _, _ := t.hash(key)
	return h
}

// A booking from before a reset gives nothing back after it, also when later
// ones have made the TAT what the booking left.
func TestTableResetThenTheSameTAT(t *testing.T) {
	var clk clock.Manual
	l := NewTable[int](gcra.PerSecond(1), 10, WithClock(&clk))
	l.Allow(1)
	before := l.Reserve(1, 1) // in a second
	if l.Reset(1); !l.Allow(1) {
		t.Fatal("a reset key is not full")
	}
	after := l.Reserve(1, 1)
	if before.Delay() != time.Second || after.Delay() != time.Second {
		t.Fatalf("delays %v and %v", before.Delay(), after.Delay())
	}
	if before.Cancel(); l.Peek(1, 1).RetryAfter() != 2*time.Second {
		t.Errorf("the next token comes in %v, want 2s: a booking from before the reset was given back", l.Peek(1, 1).RetryAfter())
	}
	if after.Cancel(); l.Peek(1, 1).RetryAfter() != time.Second {
		t.Errorf("the next token comes in %v, want 1s: a booking from after the reset was not given back", l.Peek(1, 1).RetryAfter())
	}
	// Resets of others, whose slots are elsewhere, are no matter.
	other := l.Reserve(2, 1)
	for key := range 10 {
		l.Allow(100 + key)
		l.Reset(100 + key)
	}
	if other.Cancel(); !l.Peek(2, 1).OK() {
		t.Error("a reset of other keys kept a booking from coming back")
	}
}

// Returned by an old reading, or lowered to before one that was used, a token
// would come twice: the clock is read after the TAT.
func TestTableReturnReadsTheClockLast(t *testing.T) {
	clk := new(hookClock)
	l := NewTable[int](gcra.PerSecond(1).Burst(2), 10, WithClock(clk))
	for _, back := range []func(){
		func() {
			r := l.Reserve(1, 2)
			clk.Advance(time.Second)
			clk.hook = func() { clk.Advance(time.Second); l.Take(1, 1) }
			r.Cancel()
		},
		func() {
			l.Take(1, 2)
			clk.hook = func() { clk.hook = func() { clk.Advance(time.Second); l.Take(1, 1) } }
			l.resetHash(l.hashOf(1))
		},
	} {
		back()
		clk.hook = nil
		if got := l.Peek(1, 0).Remaining(); got > 2 {
			t.Errorf("%d tokens of a burst of 2", got)
		}
		clk.Advance(time.Hour)
	}
}

func TestTableReservationWithoutRoom(t *testing.T) {
	for _, row := range []struct {
		policy Policy
		start  int
		want   error
	}{{Refuse, 2, gcra.ErrLimited}, {Admit, 2, nil}, {Admit, 0, gcra.ErrLimited}} {
		var clk clock.Manual
		l := NewTable[int](gcra.PerSecond(1).Burst(2).Start(row.start), 1, WithClock(&clk), WithMaxKeys(1, row.policy))
		for key := range 1000 {
			l.Debit(key, 2)
		}
		capped := l.Stats().Capped
		r := l.Reserve(5000, 2)
		if !errors.Is(r.Err(), row.want) || r.OK() != (row.want == nil) {
			t.Errorf("policy %d, start %d: %v, want %v", row.policy, row.start, r.Err(), row.want)
		}
		if r.Cancel(); l.Len() != l.slots() || l.Stats().Capped != capped+1 { // it stands nowhere
			t.Errorf("policy %d: %d keys, %d turned away", row.policy, l.Len(), l.Stats().Capped-capped)
		}
	}
}
