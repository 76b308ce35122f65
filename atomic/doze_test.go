package atomic

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/gcra"
)

// TestDozeAsksTheTime: a context that ends with the time does not hide that the
// time is there, and one that ends before it does end the doze.
func TestDozeAsksTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 { // either case of the select may be chosen
			if err := doze(over, 0); err != nil {
				t.Fatalf("a doze of no time: %v", err)
			}
			if err := doze(over, time.Nanosecond); err != context.Canceled {
				t.Fatalf("a doze that is given up: %v", err)
			}
		}
	})
}

// TestSpinEndsAtTheSlot: who spins at the end of his wait ends at the very slot,
// also where time stands still meanwhile.
func TestSpinEndsAtTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(gcra.PerSecond(1), WithSpin(10*time.Millisecond))
		l.Allow()
		start := time.Now()
		if err := l.Wait(t.Context()); err != nil || time.Since(start) != time.Second {
			t.Errorf("%v after %v, want no error after 1s", err, time.Since(start))
		}
	})
}

func TestWaitErrorSaysHowFar(t *testing.T) {
	for _, row := range []struct {
		delay time.Duration
		want  string
	}{
		{time.Second, "weir: the slot is 1s away: " + gcra.ErrLimited.Error()},
		{gcra.Never, "weir: the slot never comes: " + gcra.ErrLimited.Error()},
	} {
		if got := (&WaitError{row.delay, gcra.ErrLimited}).Error(); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}
