package shard

import (
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// TestTableReturnIsDatedAfterItsWord: while a give-back reads the clock, all
// that was booked is refilled, and the key charged again. A reading from before
// that charge would have half of the booking come back on top of the refill.
func TestTableReturnIsDatedAfterItsWord(t *testing.T) {
	clk := new(hookClock)
	l := NewTable[int](gcra.PerSecond(1).Burst(2), 10, WithClock(clk))
	r := l.Reserve(1, 2)
	clk.Advance(time.Second)
	clk.hook = func() {
		clk.hook = nil
		clk.Advance(time.Second)
		l.Take(1, 1)
	}
	r.Cancel()
	if got := l.Peek(1, 0).Remaining(); got != 1 {
		t.Errorf("%d tokens of a burst of 2 after one was taken, want 1", got)
	}
}
