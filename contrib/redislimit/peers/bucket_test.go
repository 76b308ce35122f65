package main

import (
	"math/big"
	"testing"
	"time"
)

// TestBucket works 3 in a second with a burst of 3 by hand: a token in 333 333 1/3 µs.
func TestBucket(t *testing.T) {
	b := newBucket(limit{3, time.Second, 3}, 0)
	for _, row := range []struct {
		at, cost int64
		want     bool // granted
		left     int
		due      int64 // µs until the next whole token, rounded up
	}{
		{0, 3, true, 0, 333_334},
		{333_333, 1, false, 0, 1},
		{333_334, 1, true, 0, 333_333},
		{666_666, 1, false, 0, 1},
		{666_667, 1, true, 0, 333_333},
		{1_000_000, 1, true, 0, 333_334},
		{1_999_999, 3, false, 2, 1},
		{2_000_000, 3, true, 0, 333_334},
		{9_000_000, 1, true, 2, 333_334},
	} {
		b.advance(row.at)
		got := b.grants(int(row.cost), 0)
		if got != row.want {
			t.Errorf("at %d: granted is %v, want %v", row.at, got, row.want)
		}
		if got {
			b.take(int(row.cost))
		}
		if left := b.whole(0); left != row.left {
			t.Errorf("at %d: %d left, want %d", row.at, left, row.left)
		}
		if due := up(b.until(big.NewRat(int64(row.left+1), 1))); due != row.due {
			t.Errorf("at %d: the next token in %d, want %d", row.at, due, row.due)
		}
	}
	// What was granted too much is owed, and no whole token is negative.
	b.take(5)
	if b.whole(0) != 0 || b.level.Sign() >= 0 || b.grants(1, 1_000_000) || !b.grants(1, 2_000_000) {
		t.Errorf("after 5 of 2 tokens the level is %v", b.level)
	}
}
