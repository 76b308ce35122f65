package shard

import (
	"cmp"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// hookClock runs a hook once, inside a reading and after it was taken. The hook
// must not need the lock of a key that is just being inserted.
type hookClock struct {
	clock.Manual
	hook func()
}

func (c *hookClock) Now() time.Duration {
	now := c.Manual.Now()
	if hook := c.hook; hook != nil {
		c.hook = nil
		hook()
	}
	return now
}

// What comes back of a reservation is checked by the suite in stress and in
// package atomic; here is what befalls it where cells come and go.
func TestReservationWhoseCellIsGone(t *testing.T) {
	for _, row := range []struct {
		meanwhile func(l *Limiter[string], clk *clock.Manual)
		settle    int
		want      int // tokens of 5
		why       string
	}{
		{func(*Limiter[string], *clock.Manual) {}, 0, 5, "nothing happened"},
		{func(l *Limiter[string], clk *clock.Manual) {
			clk.Advance(5 * time.Second)
			l.Sweep()
			l.Take("a", 3)
		}, 0, 2, "forgotten, and made again by others"},
		{func(l *Limiter[string], clk *clock.Manual) { clk.Advance(5 * time.Second); l.Sweep() }, 0, 5, "forgotten"},
		{func(l *Limiter[string], _ *clock.Manual) { l.Reset("a"); l.Take("a", 3) }, 0, 2, "reset"},
		{func(l *Limiter[string], _ *clock.Manual) { l.Reset("a"); l.Sweep(); l.Take("a", 3) }, 0, 2, "reset and swept"},
		{func(l *Limiter[string], _ *clock.Manual) { l.SetLimit(gcra.PerSecond(2).Burst(5)) }, 0, 1, "another limit"},
		{func(l *Limiter[string], _ *clock.Manual) {
			l.SetLimit(gcra.PerSecond(2).Burst(5))
			l.Allow("a") // now its cell has been replaced
			l.SetLimit(gcra.PerSecond(1).Burst(5))
		}, 0, 0, "two changes, to the same limit"},
		{func(l *Limiter[string], _ *clock.Manual) {
			l.Move("a", New[string](gcra.PerSecond(1).Burst(5)))
		}, 0, 5, "moved: it is returned where it was made"},
		{func(l *Limiter[string], clk *clock.Manual) { clk.Advance(5 * time.Second); l.Sweep() }, 6, 3, "settled upwards when forgotten: charged to the key's new cell"},
		{func(l *Limiter[string], _ *clock.Manual) { l.Reset("a") }, 7, 2, "settled upwards after a reset"},
		{func(l *Limiter[string], _ *clock.Manual) { l.SetLimit(gcra.PerSecond(2).Burst(5)) }, 5, 0, "settled upwards under another limit"},
	} {
		var clk clock.Manual
		l := New[string](gcra.PerSecond(1).Burst(5), WithClock(&clk))
		r := l.Reserve("a", 4)
		row.meanwhile(l, &clk)
		r.Settle(row.settle)
		if got := l.Peek("a", 0).Remaining(); got != row.want {
			t.Errorf("%s: %d tokens, want %d", row.why, got, row.want)
		}
	}
}

func TestReservationWithoutRoom(t *testing.T) {
	for _, row := range []struct {
		policy Policy
		start  int
		want   error
	}{{Refuse, 2, gcra.ErrLimited}, {Admit, 2, nil}, {Admit, 0, gcra.ErrLimited}} {
		limit := gcra.PerSecond(1).Burst(2)
		l := New[string](limit.Start(row.start), WithMaxKeys(1, row.policy))
		l.Debit("first", 1)
		r := l.Reserve("second", 2)
		if !errors.Is(r.Err(), row.want) || r.OK() != (row.want == nil) {
			t.Errorf("policy %d, start %d: %v, want %v", row.policy, row.start, r.Err(), row.want)
		}
		r.Cancel() // it stands nowhere
		if l.Len() != 1 {
			t.Errorf("policy %d: %d keys", row.policy, l.Len())
		}
	}
}

// An insert that finds a cell alive may find it dead a moment later. What was
// charged to it in between was charged at instants after the insert's reading
// of the clock, which must not be used then. Found by the search in stress.
func TestInsertReadsTheClockAfterItSawTheCellDead(t *testing.T) {
	clk := new(hookClock)
	l := New[int](gcra.PerSecond(1), WithClock(clk))
	clk.Advance(time.Second)
	l.Take(1, 1)
	clk.hook = func() { // inside the insert, where the cell is present: this takes no lock
		clk.Advance(10 * time.Second)
		l.Take(1, 1)
		l.Reset(1)
	}
	granted := 0
	d, _, end := l.insert(l.bin(1), 1, func(g *gatomic.Generation, tat int64, now time.Duration) (int64, gcra.Decision) {
		return gcra.Take(g.Limit(), tat, g.At(now), 1)
	})
	if granted = d.Granted(); end != decided {
		t.Fatalf("the insert found a live cell")
	}
	if granted += l.TakeUpTo(1, 1).Granted(); granted != 1 {
		t.Errorf("%d tokens granted after a reset, of a burst of 1", granted)
	}
}

// A reset of a key whose dead cell is of an older generation used to look for
// its successor for ever.
func TestResetOfADeadOlderCell(t *testing.T) {
	l := New[string](gcra.PerHour(1))
	l.Allow("a")
	l.Reset("a")
	l.SetLimit(gcra.PerHour(2))
	l.Reset("a")
	if !l.Allow("a") || l.Allow("a") {
		t.Error("a key that was reset twice has not exactly its burst")
	}
}

// TestReserveManyKeysUnderLoad races reservations, takes and sweeps on a few
// keys, at instants that stand still. What was executed keeps to law L1, and
// what was cancelled in the instant of its booking comes back.
func TestReserveManyKeysUnderLoad(t *testing.T) {
	const racers, keys, burst, rounds = 4, 3, 12, 1500
	var clk clock.Manual
	l := New[int](gcra.PerSecond(1000).Burst(burst), WithClock(&clk), WithShards(1), WithMaxDebt(0))
	type slot struct {
		key int
		at  time.Duration
	}
	var used [racers]map[slot]int
	var rngs [racers]*rand.Rand
	for i := range racers {
		used[i], rngs[i] = map[slot]int{}, rand.New(rand.NewPCG(uint64(i), 9))
	}
	for round := range rounds {
		now := clk.Now()
		var wg sync.WaitGroup
		for i := range racers {
			wg.Go(func() {
				for range 6 {
					key, n := rngs[i].IntN(keys), 1+rngs[i].IntN(3)
					if i == round%racers {
						l.Sweep()
						continue
					}
					r := l.Reserve(key, n)
					actual := rngs[i].IntN(n + 1)
					r.Settle(actual)
					used[i][slot{key, now + r.Delay()}] += actual
				}
			})
		}
		wg.Wait()
		clk.Advance(time.Duration(rngs[0].Int64N(int64(40 * time.Millisecond))))
	}
	total := map[slot]int{}
	for i := range racers {
		for s, n := range used[i] {
			total[s] += n
		}
	}
	slots := slices.SortedFunc(maps.Keys(total), func(a, b slot) int { return cmp.Compare(a.at, b.at) })
	var missing, seen [keys]time.Duration // what a key's bucket lacks, as time, and when
	for _, s := range slots {
		key := s.key
		missing[key] = max(missing[key]-(s.at-seen[key]), 0) + time.Duration(total[s])*time.Millisecond
		if seen[key] = s.at; missing[key] > burst*time.Millisecond {
			t.Fatalf("key %d: a window that ends at %v holds more than the burst and its refill", key, s.at)
		}
	}
	if l.Stats().Forgotten == 0 {
		t.Error("nothing was forgotten, so nothing is proved")
	}
}
