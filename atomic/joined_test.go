package atomic

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// TestJoinedDecisions: what a joint reservation says that has no parts, as the
// refused ones and those of a dry run.
func TestJoinedDecisions(t *testing.T) {
	l := NewLimiter(gcra.PerSecond(1).Burst(2), WithClock(new(clock.Manual)))
	l.Take(2)
	limited, exceeds := l.Peek(1), l.Peek(3)
	r := Joined(limited, 1, nil)
	var wait *WaitError
	if err := r.Wait(t.Context()); r.Delay() != time.Second || !errors.As(err, &wait) || wait.Delay != time.Second || wait.Err != gcra.ErrLimited {
		t.Errorf("refused: %v, and %v away; want that of a slot 1s away", err, r.Delay())
	}
	r = Joined(exceeds, 3, nil)
	if err := r.Wait(t.Context()); r.Delay() != gcra.Never || err != exceeds.Err() {
		t.Errorf("above the burst: %v, and %v away", err, r.Delay())
	}
	r = Joined(limited.DryRun(), 1, nil)
	if r.Delay() != 0 || !r.OK() {
		t.Errorf("a dry run: %v away, granted: %v", r.Delay(), r.OK())
	}
}

// A context that is over before the wait says itself why.
func TestReservationAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(gcra.PerSecond(1))
		l.Allow()
		ctx, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		r := l.Reserve(1)
		if err := r.Wait(ctx); err != context.DeadlineExceeded {
			t.Errorf("%v, want the context's own error", err)
		}
		l = NewLimiter(gcra.PerSecond(1).Burst(2))
		l.Allow()
		r = l.Reserve(2) // one of them was there: it would come back at the slot
		if err := r.Wait(t.Context()); err != nil || l.Peek(0).Remaining() != 0 {
			t.Errorf("waited for: %v, and %d tokens are left, want none", err, l.Peek(0).Remaining())
		}
	})
}

// shrinks is a waiter whose burst is gone at the second look.
type shrinks struct {
	*Limiter
	looks int
}

func (s *shrinks) Limit() gcra.Limit {
	if s.looks++; s.looks > 1 {
		return gcra.Limit{}
	}
	return gcra.PerSecond(1).Burst(1)
}

// TestReaderLosesItsBurst: what was read before the burst went is not passed
// on unpaid.
func TestReaderLosesItsBurst(t *testing.T) {
	r := NewReader(t.Context(), &reads{{1, nil}}, &shrinks{Limiter: NewLimiter(gcra.PerSecond(1))})
	for range 2 {
		if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, gcra.ErrExceedsBurst) {
			t.Errorf("Read = %d, %v; want 0 and no burst", n, err)
		}
	}
}
