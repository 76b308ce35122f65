package shard

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// Inserts alone keep a flood of keys that come once at about twice the keys
// whose buckets are not full.
func TestInsertsForget(t *testing.T) {
	const live, inserts = 2000, 300_000
	var clk clock.Manual
	l := New[int](gcra.Every(live*time.Millisecond), WithClock(&clk))
	most := 0
	for key := range inserts {
		l.Allow(key)
		clk.Advance(time.Millisecond)
		most = max(most, l.Len())
	}
	if most > 3*live {
		t.Errorf("up to %d keys were remembered of which %d owed time", most, live)
	}
	if s := l.Stats(); s.Forgotten != inserts-int64(s.Keys) {
		t.Errorf("%d keys inserted, %d remembered, %d forgotten", inserts, s.Keys, s.Forgotten)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // what the first made free, the second sweeps
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// After a flood of keys that came once, memory returns to a floor: by a sweep,
// or by the inserts that follow.
func TestMemoryReturns(t *testing.T) {
	for _, row := range []struct {
		name  string
		empty func(l *Limiter[uint64], clk *clock.Manual)
	}{
		{"sweep", func(l *Limiter[uint64], _ *clock.Manual) { l.Sweep() }},
		{"inserts", func(l *Limiter[uint64], clk *clock.Manual) {
			// An insert looks at two keys and adds one, so a shard is rid of
			// its old keys after as many inserts as it had. A quarter more, as
			// some shards get fewer than they had.
			for key := range uint64(flooding + flooding/4) {
				l.Allow(flooding + key)
				clk.Advance(time.Millisecond)
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var clk clock.Manual
			before := heap()
			l := New[uint64](gcra.PerSecond(1), WithClock(&clk))
			for key := range uint64(flooding) {
				l.Allow(key)
			}
			if l.Len() != flooding {
				t.Fatalf("%d keys remembered of %d", l.Len(), flooding)
			}
			full := heap() - before
			clk.Advance(time.Second)
			row.empty(l, &clk)
			floor := heap() - before
			t.Logf("%d keys: %d bytes a key; afterwards %d keys and %d KiB", flooding, full/flooding, l.Len(), floor>>10)
			// A thousand owe time at any instant of those inserts.
			if l.Len() > 3*1000 {
				t.Errorf("%d keys remain of %d", l.Len(), flooding)
			}
			if measured && floor > full/10 {
				t.Errorf("%d KiB of %d remain after the flood", floor>>10, full>>10)
			}
			check(t, l)
			runtime.KeepAlive(l)
		})
	}
}

// check compares the lists of keys with the maps, and both with the count.
func check(t *testing.T, l *Limiter[uint64]) {
	t.Helper()
	total := 0
	for i := range l.bins {
		b := &l.bins[i]
		listed := make(map[uint64]int)
		for i := range b.keys.len {
			listed[b.keys.get(i)]++
		}
		b.cells.Range(func(key uint64, _ *cell) bool {
			if listed[key] != 1 {
				t.Errorf("key %d is listed %d times", key, listed[key])
			}
			delete(listed, key)
			total++
			return true
		})
		if len(listed) > 0 {
			t.Errorf("%d keys are listed and not there", len(listed))
		}
	}
	if total != l.Len() {
		t.Errorf("%d keys are there, %d are counted", total, l.Len())
	}
}

// Inserts, sweeps, resets and a cap, all at once: afterwards lists, maps and
// the count agree, and what was inserted was remembered or forgotten.
func TestListsMatchMaps(t *testing.T) {
	for _, opts := range [][]Option{{WithShards(1)}, {WithShards(4)}, {WithShards(4), WithMaxKeys(200, Refuse)}} {
		var clk clock.Manual
		l := New[uint64](gcra.PerSecond(1000).Burst(2), append(opts, WithClock(&clk))...)
		var wg sync.WaitGroup
		for g := range uint64(4) {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(g, 1))
				for range 30_000 {
					key := rng.Uint64N(500)
					switch rng.IntN(20) {
					default:
						l.TakeUpTo(key, 2)
					case 0:
						clk.Advance(50 * time.Microsecond)
					case 1:
						l.Reset(key)
					case 2:
						l.Peek(key, 1)
					case 3:
						if rng.IntN(50) == 0 {
							l.Sweep()
						}
					}
				}
			})
		}
		wg.Wait()
		check(t, l)
		if s := l.Stats(); s.Forgotten == 0 {
			t.Error("nothing was forgotten, so nothing is proved")
		}
		clk.Advance(time.Hour)
		if l.Sweep(); l.Len() != 0 {
			t.Errorf("%d keys are left an hour later", l.Len())
		}
		check(t, l)
	}
}

func TestChunks(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var c chunks[int]
	var want []int
	for op := range 20_000 {
		// Grow for a while, then shrink.
		if growing := op/2500%2 == 0; growing == (rng.IntN(4) > 0) || len(want) == 0 {
			c.push(op)
			want = append(want, op)
		} else {
			i := rng.IntN(len(want))
			c.remove(i)
			want[i] = want[len(want)-1]
			want = want[:len(want)-1]
		}
		if c.len != len(want) {
			t.Fatalf("%d items, want %d", c.len, len(want))
		}
		if spare := len(c.chunk)*chunkLen - c.len; spare > 3*chunkLen {
			t.Fatalf("room for %d more items is kept", spare)
		}
		if op%100 == 0 {
			for i := range want {
				if c.get(i) != want[i] {
					t.Fatalf("item %d is %d, want %d", i, c.get(i), want[i])
				}
			}
		}
	}
}
