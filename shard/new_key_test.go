package shard

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// What befalls a key that has no cell, where it waits or finds no room.

func TestRefusedWaitMakesNoCell(t *testing.T) {
	l := New[int](gcra.PerHour(1).Burst(2).Start(0), WithMaxWait(time.Minute))
	for _, n := range []int{0, 1, 2, 3, -1} {
		if l.WaitN(t.Context(), 7, n); l.Len() != 0 {
			t.Fatalf("a wait for %d tokens that was refused made a cell", n)
		}
	}
}

// A full bucket was booked at the instant of its making, which is a moment
// after the turn's, and then slept for.
func TestNewKeyDoesNotWaitForAFullBucket(t *testing.T) {
	l := New[int](gcra.PerSecond(1), WithStats())
	for key := range 1000 {
		l.Wait(t.Context(), key)
	}
	if s := l.Stats(); s.Waited != 0 || s.Granted != 1000 {
		t.Errorf("%d of 1000 waits of full buckets slept, %d were granted", s.Waited, s.Granted)
	}
	for _, start := range []int{1, 0} {
		synctest.Test(t, func(t *testing.T) {
			clk := new(hookClock)
			l := New[int](gcra.PerSecond(1).Start(start), WithClock(clk))
			clk.hook = func() { clk.Advance(10 * time.Second) } // between the miss and the lock
			begin := time.Now()
			if err := l.Wait(t.Context(), 1); err != nil || time.Since(begin) > 0 {
				t.Errorf("start %d: a full bucket was waited for %v, err %v", start, time.Since(begin), err)
			}
		})
	}
}

// The deadline is as far away as it is when the slot is booked.
func TestNewKeyDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := new(hookClock)
		l := New[int](gcra.Every(10*time.Second).Start(0), WithClock(clk))
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		clk.hook = func() {
			// 0.4 tokens have come, and 0.6 at 1 in 15 s take 9 s. The deadline
			// is 8 s away, and was 12 at the reading.
			clk.Advance(4 * time.Second)
			l.SetLimit(gcra.Every(15 * time.Second))
		}
		start := time.Now()
		err := l.Wait(ctx, 1)
		var refused *gatomic.WaitError
		if !errors.As(err, &refused) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 0 || l.Len() > 0 {
			t.Errorf("Wait = %v after %v, %d keys", err, time.Since(start), l.Len())
		}
	})
}

// Want of room is no matter of a deadline: no slot will ever come.
func TestNoRoomIsErrLimited(t *testing.T) {
	for _, row := range []struct {
		policy Policy
		want   error
	}{{Refuse, gcra.ErrLimited}, {Admit, nil}} {
		synctest.Test(t, func(t *testing.T) {
			l := New[int](gcra.PerSecond(1).Burst(2), WithMaxKeys(1, row.policy))
			l.Take(1, 1)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			if err := l.WaitN(ctx, 2, 1); !errors.Is(err, row.want) {
				t.Errorf("policy %d: %v, want %v", row.policy, err, row.want)
			}
		})
	}
}

func TestNoRoomTellsTheCost(t *testing.T) {
	var clk clock.Manual
	l := New[int](gcra.PerSecond(1).Burst(5), WithClock(&clk), WithMaxKeys(1, Refuse))
	l.Take(1, 5)
	if d := l.Take(2, 3); d.OK() || d.RetryAfter() != 3*time.Second {
		t.Errorf("three tokens of an empty bucket come in %v", d.RetryAfter())
	}
}

// Waits are counted like takes.
func TestStatsOfWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done, cancel := context.WithCancel(t.Context())
		cancel()
		soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		for _, row := range []struct {
			ask  func(l *Limiter[float64]) error
			want Stats
			why  string
		}{
			{func(l *Limiter[float64]) error { return l.WaitN(t.Context(), math.NaN(), 0) }, Stats{Granted: 1}, "nothing needs no room"},
			{func(l *Limiter[float64]) error { return l.WaitN(t.Context(), math.NaN(), 9) }, Stats{Refused: 1, Invalid: 1}, "nor does what is above the burst"},
			{func(l *Limiter[float64]) error { return l.Wait(t.Context(), math.NaN()) }, Stats{Refused: 1, Capped: 1}, "one token does"},
			{func(l *Limiter[float64]) error { return l.Wait(done, 1) }, Stats{Refused: 1}, "refused for whatever reason: the context is done"},
			{func(l *Limiter[float64]) error { l.Allow(1); return l.Wait(soon, 1) }, Stats{Keys: 1, Granted: 1, Refused: 1}, "its deadline is before the slot"},
			{func(l *Limiter[float64]) error {
				l.Allow(1)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Millisecond, cancel)
				return l.Wait(ctx, 1)
			}, Stats{Keys: 1, Granted: 1, Refused: 1, WaitMicros: 1000}, "it ends in its sleep"},
			{func(l *Limiter[float64]) error { l.Allow(1); return l.Wait(t.Context(), 1) }, Stats{Keys: 1, Granted: 2, Waited: 1, WaitMicros: 1_000_000}, "it sleeps and gets its slot"},
		} {
			l := New[float64](gcra.PerSecond(1), WithStats())
			err := row.ask(l)
			if got := l.Stats(); got != row.want || (err != nil) != (got.Refused == 1) {
				t.Errorf("stats %+v and err %v, want %+v: %s", got, err, row.want, row.why)
			}
		}
	})
}

// All tells of each key what it is when the loop comes to it.
func TestAllIsAsOfEachKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New[int](gcra.PerSecond(1).Burst(10))
		for key := range 50 {
			l.Take(key, 10)
		}
		for key, d := range l.All() {
			if want := l.Peek(key, 0).Remaining(); d.Remaining() != want {
				t.Fatalf("All says %d for key %d, Peek %d", d.Remaining(), key, want)
			}
			time.Sleep(time.Second)
		}
	})
}
