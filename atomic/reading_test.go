package atomic_test

import (
	"context"
	"testing"

	gatomic "github.com/weir-go/weir/atomic"
)

// A booking whose clock was read before a reset must not be made after it with
// that reading: the time in between would count once more.
func TestReadingFromBeforeAReset(t *testing.T) {
	for _, row := range []struct {
		name string
		ask  func(l *gatomic.Limiter) bool // whether it got a token at once
		peek bool                          // whether somebody has looked at the reset bucket
		want bool
		left bool // whether there is one more
	}{
		{"Reserve", reserves, false, true, false},
		{"Wait", func(l *gatomic.Limiter) bool { return l.Wait(context.Background()) == nil }, false, true, false},
		{"Allow", (*gatomic.Limiter).Allow, false, true, false},
		{"Take", func(l *gatomic.Limiter) bool { return l.Take(1).OK() }, false, true, false},
		{"TakeUpTo", func(l *gatomic.Limiter) bool { return l.TakeUpTo(1).OK() }, false, true, false},
		{"Debit", func(l *gatomic.Limiter) bool { return l.Debit(1).OK() }, false, true, false},
		{"Take of the next cell", (*gatomic.Limiter).Allow, true, false, true},
		{"Reserve of the next cell", reserves, true, false, false},
	} {
		l, clk := aQueue(1)
		clk.hooks = append(clk.hooks, func() {
			clk.Advance(10 * second)
			l.Take(1)
			l.Reset()
			if row.peek {
				l.Peek(1)
			}
		})
		// Who finds the reset cell reads again and has its token. Who finds
		// the next one gets no credit for its old reading.
		if got, left := row.ask(l), l.Allow(); got != row.want || left != row.left || l.Allow() {
			t.Errorf("%s by a reading from before a reset: %v, and then %v; want %v and %v", row.name, got, left, row.want, row.left)
		}
	}
}

// reserves reports whether a reservation was for now.
func reserves(l *gatomic.Limiter) bool {
	r := l.Reserve(1)
	return r.Delay() == 0
}

// What others took since the clock was read has been refilled for them: it
// must not come back.
func TestCancelReadsTheClockAfterTheWord(t *testing.T) {
	l, clk := aQueue(2)
	r := l.Reserve(2)
	clk.Advance(second)
	clk.hooks = append(clk.hooks, func() {
		clk.Advance(second)
		l.Take(1) // of two that have been refilled
	})
	r.Cancel()
	if got := l.Peek(0).Remaining(); got != 1 {
		t.Errorf("%d tokens are there beside one that was taken in this instant, want 1 of a burst of 2", got)
	}
}
