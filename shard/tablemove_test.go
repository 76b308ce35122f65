package shard

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

func TestTableMoveWithoutRoom(t *testing.T) {
	var clk clock.Manual
	from := NewTable[int](gcra.PerSecond(1).Burst(10), 10, WithClock(&clk))
	for _, policy := range []Policy{Refuse, Admit} {
		to := NewTable[int](gcra.PerSecond(1).Burst(10), 1, WithClock(&clk), WithMaxKeys(1, policy))
		for key := range 1000 {
			to.Take(key, 10)
		}
		capped := to.Stats().Capped
		from.Take(5000, 3)
		for _, row := range []struct {
			key  int
			want error
			why  string
		}{
			{5000, ErrNoRoom, "it owes and there is no room"},
			{5001, nil, "it owes nothing and needs none"},
			{0, nil, "it is there already"},
		} {
			if err := from.Move(row.key, to); !errors.Is(err, row.want) {
				t.Errorf("policy %d, key %v: %v, want %v: %s", policy, row.key, err, row.want, row.why)
			}
		}
		if s := to.Stats(); s.Capped != capped+1 || s.Keys != to.slots() {
			t.Errorf("policy %d: %+v", policy, s)
		}
		clk.Advance(10*time.Second + 1)
		from.Take(5000, 3)
		if err := from.Move(5000, to); err != nil || to.Peek(5000, 0).Remaining() != 7 {
			t.Errorf("policy %d: a slot can be taken over: %v, %d tokens", policy, err, to.Peek(5000, 0).Remaining())
		}
		clk.Advance(10*time.Second + 1)
	}
	if err := from.Move(1, from); err != nil {
		t.Errorf("to itself: %v", err)
	}
}

// A move to and fro mints nothing, however often, and while others take and the
// limit changes.
func TestTableMoveToAndFro(t *testing.T) {
	const burst = 1000
	var clk clock.Manual
	a := NewTable[int](gcra.PerSecond(1).Burst(burst), 10, WithClock(&clk))
	b := NewTable[int](gcra.PerSecond(250).Burst(burst), 10, WithClock(&clk))
	var taken [2]int
	var wg sync.WaitGroup
	for i, l := range []*Table[int]{a, b} {
		wg.Go(func() {
			for n := range burst * 2 {
				if taken[i] += l.TakeUpTo(1, 1).Granted(); n%16 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 500 {
			if a.Move(1, b); i%10 == 0 {
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
	if n := b.Peek(1, 0).Remaining(); n > burst-max(taken[0], taken[1]) {
		t.Errorf("%d tokens left of %d after %d and %d were taken", n, burst, taken[0], taken[1])
	}
}
