package shard_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A counted limiter is what both engines have in common here.
type counted interface {
	AllowN(key string, n int) bool
	Take(key string, n int) gcra.Decision
	WaitN(ctx context.Context, key string, n int) error
	Stats() shard.Stats
}

func bothCounted(t *testing.T, limit gcra.Limit, test func(t *testing.T, l counted), opts ...shard.Option) {
	t.Run("Limiter", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, shard.New[string](limit, opts...)) })
	})
	t.Run("Table", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, shard.NewTable[string](limit, 100, opts...)) })
	})
}

// What can never pass is the caller's mistake, and told apart from what came
// too early.
func TestStatsTellMistakesApart(t *testing.T) {
	test := func(t *testing.T, l counted) {
		l.Take("a", 5)
		for _, n := range []int{1, 6, -1, 5} { // too early, above the burst, negative, too early
			l.AllowN("a", n)
		}
		for _, n := range []int{6, -1} {
			if err := l.WaitN(t.Context(), "a", n); err == nil {
				t.Errorf("WaitN(%d) was granted", n)
			}
		}
		done, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.WaitN(done, "a", 1); !errors.Is(err, context.Canceled) {
			t.Errorf("a Wait that nobody waited for: %v", err)
		}
		want := shard.Stats{Granted: 1, Refused: 7, Invalid: 4, Keys: 1}
		if got := l.Stats(); got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	var clk clock.Manual
	bothCounted(t, gcra.PerHour(1).Burst(5), test, shard.WithStats(), shard.WithClock(&clk))
}

// The time slept is counted whether the slot came or the context ended first,
// and not where nobody slept.
func TestStatsCountTheTimeSlept(t *testing.T) {
	test := func(t *testing.T, l counted) {
		for range 3 { // at 0, 0.5 s and 1 s
			if err := l.WaitN(t.Context(), "a", 1); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := l.Stats(), (shard.Stats{Granted: 3, Waited: 2, WaitMicros: 1_000_000, Keys: 1}); got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(200*time.Millisecond, cancel)
		if err := l.WaitN(ctx, "a", 1); !errors.Is(err, context.Canceled) {
			t.Errorf("a Wait whose context ended: %v", err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := l.WaitN(short, "a", 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a slot after the deadline: %v", err)
		}
		if got, want := l.Stats(), (shard.Stats{Granted: 3, Refused: 2, Waited: 2, WaitMicros: 1_200_000, Keys: 1}); got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	bothCounted(t, gcra.PerSecond(2), test, shard.WithStats())
	bothCounted(t, gcra.PerSecond(2), func(t *testing.T, l counted) {
		for range 3 {
			if err := l.WaitN(t.Context(), "a", 1); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := l.Stats(), (shard.Stats{Keys: 1}); got != want {
			t.Errorf("without WithStats: %+v, want %+v", got, want)
		}
	})
}

// In a dry run a mistake is one of those that would have been refused.
func TestStatsOfADryRun(t *testing.T) {
	bothCounted(t, gcra.PerSecond(2), func(t *testing.T, l counted) {
		l.Take("a", 1)
		for _, n := range []int{1, 2, -1} {
			l.Take("a", n)
		}
		if got, want := l.Stats(), (shard.Stats{Granted: 1, WouldRefuse: 3, Keys: 1}); got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}, shard.WithStats(), shard.WithDryRun())
}
