package shard_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A dry run says yes to everything and tells the truth beside it: the same as a
// limiter that means it.
func TestDryRunTellsTheVerdict(t *testing.T) {
	var clk clock.Manual
	limit := gcra.PerSecond(3).Burst(5)
	real := shard.New[int](limit, shard.WithClock(&clk), shard.WithStats())
	dry := shard.New[int](limit, shard.WithClock(&clk), shard.WithStats(), shard.WithDryRun())
	rng := rand.New(rand.NewPCG(1, 1))
	for op := range 5000 {
		clk.Advance(time.Duration(rng.IntN(300)) * time.Millisecond)
		key, n := rng.IntN(3), []int{1, 2, 5, 6, -1, 0}[rng.IntN(6)]
		ask := func(l *shard.Limiter[int]) gcra.Decision {
			switch op % 4 {
			case 0:
				return l.TakeUpTo(key, n)
			case 1:
				return l.Peek(key, n)
			case 2:
				return l.Debit(key, n)
			}
			return l.Take(key, n)
		}
		want, got := ask(real), ask(dry)
		if !got.OK() {
			t.Fatalf("operation %d: a dry run refused", op)
		}
		if got.Err() != want.Err() || got.RetryAfter() != want.RetryAfter() || got.Granted() != want.Granted() ||
			got.Remaining() != want.Remaining() || got.ResetAfter() != want.ResetAfter() {
			t.Fatalf("operation %d, cost %d: err %v, retry %v, granted %d, remaining %d; a real limiter says %v, %v, %d, %d", op, n,
				got.Err(), got.RetryAfter(), got.Granted(), got.Remaining(), want.Err(), want.RetryAfter(), want.Granted(), want.Remaining())
		}
	}
	want, got := real.Stats(), dry.Stats()
	if got.WouldRefuse != want.Refused || got.Refused != 0 || got.Granted != want.Granted || want.Refused == 0 {
		t.Errorf("a dry run counted %+v, a real one %+v", got, want)
	}
}

func TestDryRunDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := shard.New[string](gcra.PerHour(1), shard.WithDryRun(), shard.WithStats())
		start := time.Now()
		for range 5 {
			if err := l.Wait(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		}
		r := l.Reserve("a", 1)
		if !r.OK() || r.Delay() != 0 || !errors.Is(r.Err(), gcra.ErrLimited) {
			t.Errorf("Reserve: ok %v, delay %v, err %v", r.OK(), r.Delay(), r.Err())
		}
		r.Settle(5)
		if d := l.Peek("a", 0); d.ResetAfter() != time.Hour {
			t.Errorf("who would have been refused was charged: full in %v", d.ResetAfter())
		}
		if !l.Allow("a") || time.Since(start) != 0 {
			t.Errorf("a dry run refused or took %v", time.Since(start))
		}
		if got, want := l.Stats(), (shard.Stats{Keys: 1, Granted: 1, WouldRefuse: 6}); got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}
	})
}

// Among refusals of many keys the worst come first, in order, with counts near
// the true ones, and memory stays what it was.
func TestTopRefused(t *testing.T) {
	l := shard.New[string](gcra.PerDay(0), shard.WithTopRefused(3))
	rng := rand.New(rand.NewPCG(2, 2))
	want := []string{"worst", "worse", "bad"}
	for _, key := range want {
		l.Allow(key)
	}
	const refusals = 400_000
	for i := range refusals {
		switch k := rng.IntN(100); {
		case k < 30:
			l.Allow(want[0])
		case k < 50:
			l.Allow(want[1])
		case k < 60:
			l.Allow(want[2])
		default:
			l.AllowN(fmt.Sprint("once ", i), 2) // above the burst
		}
	}
	var got []string
	for key, n := range l.TopRefused() {
		share := map[string]int64{"worst": 30, "worse": 20, "bad": 10}[key]
		if truth := refusals * share / 100; n < truth*9/10 || n > truth*11/10+refusals/24 {
			t.Errorf("%s was refused about %d times, the estimate is %d", key, truth, n)
		}
		got = append(got, key)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the keys refused most are %q, want %q", got, want)
	}
	for range l.TopRefused() {
		break
	}
	for key := range shard.New[string](gcra.PerDay(0)).TopRefused() {
		t.Errorf("%q, though it is off", key)
	}
}

func TestTopRefusedPanicsOnNonsense(t *testing.T) {
	for _, n := range []int{0, -1, 1001} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("WithTopRefused(%d) did not panic", n)
				}
			}()
			shard.WithTopRefused(n)
		}()
	}
}
