package shard

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// TestMove: there the key has the smaller of what it had there and what it has
// here, in tokens; here nothing changes.
func TestMove(t *testing.T) {
	for _, row := range []struct {
		from, to   string
		here       int // tokens taken of each, into debt if need be
		there      int
		left       int
		next       time.Duration // until there is a token there
		remembered int           // keys there
		why        string
	}{
		{"1/s burst 10", "10/s burst 20", 4, 0, 6, 0, 1, "what it has here"},
		{"1/s burst 10", "10/s burst 20", 10, 0, 0, 100 * time.Millisecond, 1, "nothing, and refilled at the rate there"},
		{"1/s burst 10", "10/s burst 20", 13, 0, 0, 400 * time.Millisecond, 1, "debt"},
		{"1/s burst 10", "10/s burst 20", 4, 15, 5, 0, 1, "less was left there"},
		{"1/s burst 10", "10/s burst 20", 4, 5, 6, 0, 1, "less is left here"},
		{"1/s burst 10", "10/s burst 20", 4, 25, 0, 600 * time.Millisecond, 1, "debt there"},
		{"1/s burst 10", "1/s burst 3", 4, 0, 3, 0, 0, "full there: no cell is needed"},
		{"1/s burst 10", "1/s burst 3", 0, 0, 3, 0, 0, "a key never seen"},
		{"1/s burst 10", "1/s burst 10 start 0", 0, 0, 0, time.Second, 0, "new keys start empty there, moved ones too"},
		{"1/s burst 10", "1/s burst 10 start 0", 12, 0, 0, 3 * time.Second, 1, "in debt besides"},
		{"0/s burst 10", "1/s burst 10", 4, 0, 6, 0, 1, "from an allowance"},
		{"1/s burst 10", "0/s burst 10", 4, 0, 6, 0, 1, "to an allowance"},
		{"1/s burst 10", "unlimited", 12, 0, math.MaxInt, 0, 0, "to unlimited"},
		{"unlimited", "1/s burst 10", 12, 0, 10, 0, 0, "from unlimited: it had plenty"},
	} {
		var here, there clock.Manual
		here.Set(time.Hour) // clocks have epochs of their own
		from := New[string](parse(t, row.from), WithClock(&here))
		to := New[string](parse(t, row.to), WithClock(&there))
		here.Advance(time.Second / 2)
		there.Advance(time.Millisecond / 4)
		from.Debit("a", row.here)
		if row.there > 0 {
			to.Debit("a", row.there)
		}
		before := from.Peek("a", 1)
		for range 3 { // again is no more than once
			if err := from.Move("a", to); err != nil {
				t.Fatal(err)
			}
		}
		d := to.Peek("a", 1)
		if row.to == "1/s burst 10 start 0" {
			row.next -= 250 * time.Microsecond * time.Duration(1-min(row.here, 1)) // which it has gained already
		}
		if d.Remaining() != row.left || d.RetryAfter() != row.next || to.Len() != row.remembered {
			t.Errorf("%d taken of %s and %d of %s: %d left there, one in %v, %d keys; want %d, %v and %d: %s",
				row.here, row.from, row.there, row.to, d.Remaining(), d.RetryAfter(), to.Len(), row.left, row.next, row.remembered, row.why)
		}
		if from.Peek("a", 1) != before {
			t.Errorf("%s: the key has changed here", row.why)
		}
	}
}

func parse(t *testing.T, text string) gcra.Limit {
	l, err := gcra.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestMoveWithoutRoom(t *testing.T) {
	var clk clock.Manual
	from := New[float64](gcra.PerSecond(1).Burst(10), WithClock(&clk))
	for _, policy := range []Policy{Refuse, Admit} {
		to := New[float64](gcra.PerSecond(1).Burst(10), WithClock(&clk), WithMaxKeys(1, policy))
		to.Take(9, 10)
		from.Take(1, 3)
		for _, row := range []struct {
			key  float64
			want error
			why  string
		}{
			{1, ErrNoRoom, "it owes and there is no room"},
			{2, nil, "it owes nothing and needs none"},
			{9, nil, "it is there already"},
			{math.NaN(), ErrNoRoom, "what is not equal to itself is never remembered"},
		} {
			if err := from.Move(row.key, to); !errors.Is(err, row.want) {
				t.Errorf("policy %d, key %v: %v, want %v: %s", policy, row.key, err, row.want, row.why)
			}
		}
		if s := to.Stats(); s.Capped != 2 || s.Keys != 1 {
			t.Errorf("policy %d: %+v", policy, s)
		}
		clk.Advance(10 * time.Second)
		from.Take(1, 3)
		if err := from.Move(1, to); err != nil || to.Peek(1, 0).Remaining() != 7 {
			t.Errorf("policy %d: a key can be forgotten: %v, %d tokens", policy, err, to.Peek(1, 0).Remaining())
		}
		clk.Advance(10 * time.Second)
	}
	if err := from.Move(1, from); err != nil {
		t.Errorf("to itself: %v", err)
	}
}

// A move to and fro mints nothing, however often, and while others take.
func TestMoveToAndFroWhileTaken(t *testing.T) {
	const burst = 1000
	var clk clock.Manual
	a := New[int](gcra.PerSecond(1).Burst(burst), WithClock(&clk))
	b := New[int](gcra.PerSecond(250).Burst(burst), WithClock(&clk))
	var taken [2]int
	var wg sync.WaitGroup
	for i, l := range []*Limiter[int]{a, b} {
		wg.Go(func() {
			for range burst * 2 {
				taken[i] += l.TakeUpTo(1, 1).Granted()
			}
		})
	}
	wg.Go(func() {
		for i := range 500 {
			if a.Move(1, b); i%50 == 0 {
				a.SetLimit(gcra.PerSecond(1 + i%3).Burst(burst))
			}
			b.Move(1, a)
		}
	})
	wg.Wait()
	if taken[0] > burst || taken[1] > burst || taken[0]+taken[1] < burst {
		t.Errorf("%d tokens taken here and %d there, of %d each", taken[0], taken[1], burst)
	}
	a.Move(1, b)
	if l := b.Peek(1, 0).Remaining(); l > burst-max(taken[0], taken[1]) {
		t.Errorf("%d tokens left of %d after %d and %d were taken", l, burst, taken[0], taken[1])
	}
}
