package shard

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// Law L5 is checked by the suite in stress; here is what takes many keys.

// TestSetLimitTouchesNoKey: whoever sets the limit does the same for millions
// of keys as for one; each is converted when it is asked for.
func TestSetLimitTouchesNoKey(t *testing.T) {
	keys := flooding / 2
	var clk clock.Manual
	l := New[int](gcra.PerHour(10).Burst(10), WithClock(&clk))
	for key := range keys {
		l.Take(key, 1+key%10)
	}
	first := l.core.Current()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	l.SetLimit(gcra.PerHour(20).Burst(8))
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > 100 {
		t.Errorf("%d allocations for %d keys", n, keys)
	}
	older := 0
	for i := range l.bins {
		l.bins[i].cells.Range(func(_ int, c *cell) bool {
			if c.gen == first && c.Alive() {
				older++
			}
			return true
		})
	}
	if older != keys || l.Len() != keys {
		t.Errorf("%d of %d cells are as they were, and %d keys are remembered", older, keys, l.Len())
	}
	for key := range keys {
		left := 10 - (1 + key%10)
		if got := l.Peek(key, 0).Remaining(); got != min(left, 8) {
			t.Fatalf("key %d has %d tokens, want %d", key, got, min(left, 8))
		}
	}
	if l.Take(0, 1); l.Len() != keys {
		t.Errorf("%d keys after one was converted, want %d", l.Len(), keys)
	}
}

// TestKeysUntouchedOverManyChanges: every 64th change brings all keys forward, so
// that no decision converts through more.
func TestKeysUntouchedOverManyChanges(t *testing.T) {
	limits := []gcra.Limit{
		gcra.PerSecond(1000).Burst(50), gcra.PerSecond(250).Burst(50), gcra.Per(0, time.Second).Burst(50),
		gcra.PerSecond(500).Burst(50).InSteps(4 * time.Millisecond), gcra.Every(3 * time.Millisecond).Burst(50),
	}
	var clk clock.Manual
	l := New[int](limits[4], WithClock(&clk))
	for key := range 100 {
		if l.Debit(key, key+1); key%9 == 8 {
			l.Reset(key)
		}
	}
	for i := range 1000 {
		l.SetLimit(limits[i%len(limits)])
		g := l.core.Current()
		for b := range l.bins {
			l.bins[b].cells.Range(func(key int, c *cell) bool {
				if behind := g.Chain() - c.gen.Chain(); !c.Dead() && (behind > longest || g.Chain()%longest == 0 && behind > 0) {
					t.Fatalf("key %d is %d changes behind at change %d", key, behind, g.Chain())
				}
				return true
			})
		}
	}
	for key := range 100 {
		want := time.Duration(key+2-50) * 3 * time.Millisecond // until there is one token
		if key%9 == 8 {
			want = 0
		}
		if got := l.Peek(key, 1).RetryAfter(); got != max(want, 0) {
			t.Errorf("key %d: a token in %v after a thousand changes, want %v", key, got, max(want, 0))
		}
	}
}

// TestSetLimitWhileThousandsDecide lets goroutines take what there is of many
// keys, in one instant, while the limit changes and sweeps run.
func TestSetLimitWhileThousandsDecide(t *testing.T) {
	const deciders, keys, burst = 1000, 200, 20
	limits := []gcra.Limit{
		gcra.PerSecond(1000).Burst(burst), gcra.PerSecond(250).Burst(burst), gcra.Per(0, time.Second).Burst(burst),
		gcra.PerSecond(99).Burst(burst), gcra.Every(3 * time.Millisecond).Burst(burst),
	}
	var clk clock.Manual
	l := New[int](limits[0], WithClock(&clk), WithShards(4))
	for key := range keys {
		l.Take(key, key%burst)
	}
	want := keys * (burst + 1) / 2
	var got, changes atomic.Int64
	var over atomic.Bool
	var wg, setters sync.WaitGroup
	for s := range 2 {
		setters.Go(func() {
			for i := s; !over.Load() || changes.Load() < 200; i++ {
				l.SetLimit(limits[i%len(limits)])
				changes.Add(1)
				runtime.Gosched()
			}
		})
	}
	for i := range deciders {
		wg.Go(func() {
			for k := range keys / 4 {
				got.Add(int64(l.TakeUpTo((i+k*7)%keys, 1).Granted()))
				if k%8 == 0 {
					runtime.Gosched()
				}
			}
			if i%100 == 0 {
				l.Sweep()
			}
		})
	}
	wg.Wait()
	for key := range keys {
		got.Add(int64(l.TakeUpTo(key, burst).Granted()))
	}
	over.Store(true)
	setters.Wait()
	if int(got.Load()) != want || l.Len() != keys {
		t.Errorf("%d tokens of %d keys in one instant with %d changes, want %d of %d", got.Load(), l.Len(), changes.Load(), want, keys)
	}
}
