package atomic_test

import (
	"context"
	"testing"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
)

// TestCatchUp says what a lateness is worth at once; here is when it ends,
// while somebody keeps the key's TAT so near that its age alone decides.
func TestLatenessEnds(t *testing.T) {
	const ms = time.Millisecond
	// idle lets the key rest for d in all, and lie 3 ms behind at the end.
	idle := func(d time.Duration) func(*gatomic.Limiter) {
		return func(l *gatomic.Limiter) {
			time.Sleep(d - 3*ms)
			l.Allow()
			time.Sleep(3 * ms)
		}
	}
	for _, row := range []struct {
		late time.Duration
		then func(l *gatomic.Limiter)
		want int // waits that pass at once then
		why  string
	}{
		{4 * ms, idle(8 * ms), 3, "2 ms behind, 8 ms after a lateness of 4"},
		{4 * ms, idle(10 * ms), 3, "the same, 10 ms after: one catch-up"},
		{4 * ms, idle(10*ms + 1), 1, "the same, a nanosecond later"},
		{4 * ms, idle(11 * ms), 1, "the same, 11 ms after"},
		{4 * ms, idle(time.Hour), 1, "the same, an hour after"},
		{ms, idle(8 * ms), 1, "2 ms behind, and late by one"},
		{11 * ms, func(*gatomic.Limiter) {}, 11, "behind by 10 ms, the default catch-up"},
		{11*ms + 1, func(*gatomic.Limiter) {}, 1, "behind by more"},
		{50 * ms, idle(8 * ms), 3, "more than the catch-up counts as that: here it is enough"},
		{4 * ms, func(l *gatomic.Limiter) {
			time.Sleep(2 * ms)
			l.Allow()
			l.Wait(context.Background())
			time.Sleep(3 * ms)
		}, 1, "a timer that was on time clears it"},
	} {
		pace(t, func(l *gatomic.Limiter, clk *lateClock) {
			l.Allow()
			sleepLate(t, l, clk, row.late)
			row.then(l)
			if got := burst(t, l); got != row.want {
				t.Errorf("late by %v: %d waits passed at once, want %d: %s", row.late, got, row.want, row.why)
			}
		})
	}
}
