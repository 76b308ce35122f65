package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	uber "go.uber.org/ratelimit"
	"golang.org/x/time/rate"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// The tests in this file and in coming_keys_test.go are the differences in
// behaviour that docs/coming-from.md names: what another library does, and what
// weir does instead. They fail when one of them changes.

var epoch = time.Unix(1_000_000_000, 0)

func TestXTimeNegativeCost(t *testing.T) {
	theirs := rate.NewLimiter(1, 5)
	theirs.AllowN(epoch, 5)
	if !theirs.AllowN(epoch, -5) || theirs.TokensAt(epoch) != 5 {
		t.Errorf("x/time has %v tokens after a cost of -5", theirs.TokensAt(epoch))
	}
	ours := gatomic.NewLimiter(gcra.PerSecond(1).Burst(5), gatomic.WithClock(new(clock.Manual)))
	ours.AllowN(5)
	if d := ours.Take(-5); d.OK() || d.Err() != gcra.ErrCost || ours.Peek(0).Remaining() != 0 {
		t.Errorf("weir: %v, %d tokens", d.Err(), ours.Peek(0).Remaining())
	}
}

func TestXTimeOlderInstant(t *testing.T) {
	theirs := rate.NewLimiter(1, 5)
	later := epoch.Add(5 * time.Second)
	theirs.AllowN(later, 5)
	theirs.AllowN(epoch, 0)
	if !theirs.AllowN(later, 5) {
		t.Error("x/time gave no second burst at the same instant")
	}
	clk := hand(5 * time.Second)
	ours := gatomic.NewLimiter(gcra.PerSecond(1).Burst(5), gatomic.WithClock(&clk))
	ours.AllowN(5)
	clk = 0
	ours.AllowN(0)
	clk = hand(5 * time.Second)
	if ours.Allow() {
		t.Error("weir gave credit for an instant older than one used")
	}
}

// A hand is a clock that goes back, as no clock should.
type hand time.Duration

func (h *hand) Now() time.Duration { return time.Duration(*h) }

func TestXTimeDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		theirs, ours := rate.NewLimiter(1, 1), gatomic.NewLimiter(gcra.PerSecond(1))
		theirs.Allow()
		ours.Allow()
		if err := theirs.Wait(ctx); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("x/time: %v", err)
		}
		wait := new(gatomic.WaitError)
		if err := ours.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &wait) || wait.Delay != time.Second {
			t.Errorf("weir: %v", err)
		}
	})
}

func TestXTimeNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theirs, ours := rate.NewLimiter(0, 1), gatomic.NewLimiter(gcra.PerSecond(0))
		theirs.Allow()
		ours.Allow()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(1000*time.Hour, cancel)
		start := time.Now()
		if err := theirs.Wait(ctx); !errors.Is(err, context.Canceled) || time.Since(start) != 1000*time.Hour {
			t.Errorf("x/time: %v after %v", err, time.Since(start))
		}
		start = time.Now()
		if err := ours.Wait(t.Context()); !errors.Is(err, gcra.ErrLimited) || time.Since(start) != 0 {
			t.Errorf("weir: %v after %v", err, time.Since(start))
		}
	})
}

func TestXTimeCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theirs, ours := rate.NewLimiter(10, 5), gatomic.NewLimiter(gcra.PerSecond(10).Burst(5))
		a, b := theirs.ReserveN(time.Now(), 5), ours.Reserve(5)
		time.Sleep(200 * time.Millisecond)
		a.Cancel()
		b.Cancel()
		if theirs.Tokens() != 2 || ours.Peek(0).Remaining() != 5 {
			t.Errorf("x/time has %v tokens, weir %d", theirs.Tokens(), ours.Peek(0).Remaining())
		}
	})
}

// at counts how many Takes at once do not sleep.
func atOnce(take func()) (n int) {
	for start := time.Now(); ; n++ {
		if take(); time.Since(start) != 0 {
			return n
		}
	}
}

func TestUberSlack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func(l *gatomic.Limiter) func() { return func() { _ = l.Wait(t.Context()) } }
		for _, row := range []struct {
			make func() func()
			want int // at once after an idle hour; at first it is 1
			name string
		}{
			{func() func() { l := uber.New(100); return func() { l.Take() } }, 11, "uber"},
			{func() func() { l := uber.New(100, uber.WithoutSlack); return func() { l.Take() } }, 1, "uber without slack"},
			{func() func() { return wait(gatomic.NewLimiter(gcra.PerSecond(100))) }, 1, "weir"},
			{func() func() { return wait(gatomic.NewLimiter(gcra.PerSecond(100).Burst(11).Start(1))) }, 11, "weir with that burst"},
		} {
			take := row.make()
			first := atOnce(take)
			time.Sleep(time.Hour)
			if later := atOnce(take); first != 1 || later != row.want {
				t.Errorf("%s: %d at once at first, %d after an idle hour, want 1 and %d", row.name, first, later, row.want)
			}
		}
	})
}

// A still clock adds up what it is told to sleep.
type still struct{ longest time.Duration }

func (*still) Now() time.Time          { return epoch }
func (s *still) Sleep(d time.Duration) { s.longest = max(s.longest, d) }

func TestUberRounding(t *testing.T) {
	for _, row := range []struct {
		rate        int
		their, ours time.Duration // the wait of the 1001st
		why         string
	}{
		{600_000_000, 1000, 1667, "5/3 ns become 1 ns: two thirds more than asked for"},
		{2_000_000_000, 0, 500, "half a nanosecond becomes none: no limit at all"},
	} {
		var s still
		theirs := uber.New(row.rate, uber.WithClock(&s), uber.WithoutSlack)
		ours := shard.New[string](gcra.PerSecond(row.rate), shard.WithClock(new(clock.Manual)))
		var delay time.Duration
		for range 1001 {
			theirs.Take()
			r := ours.Reserve("a", 1)
			delay = r.Delay()
		}
		if s.longest != row.their || delay != row.ours {
			t.Errorf("uber waits %v, weir %v, want %v and %v: %s", s.longest, delay, row.their, row.ours, row.why)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a rate of 0 did not panic")
		}
	}()
	uber.New(0)
}
