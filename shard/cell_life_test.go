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

// A charger replaces the cell between the sweeper's kill and its delete: the
// test holds the lock of the key's bucket, so that the sweeper stands there.
func TestSweepDeletesOnlyWhatItKilled(t *testing.T) {
	var clk clock.Manual
	l := New[int](gcra.PerSecond(1), WithClock(&clk), WithShards(1))
	l.Allow(1)
	clk.Advance(time.Second)
	swept := make(chan int)
	l.bins[0].cells.Compute(1, func(old *cell, _ bool) (*cell, bool) {
		go func() { swept <- l.Sweep() }()
		for !old.Dead() {
			runtime.Gosched()
		}
		g := l.core.Current()
		c := &cell{gen: g}
		c.Init(g.At(l.core.Now()).Tick + int64(time.Second))
		return c, false
	})
	if n := <-swept; n != 0 || l.Len() != 1 || l.Allow(1) {
		t.Errorf("the new cell was deleted: %d forgotten, %d keys", n, l.Len())
	}
}

// lockClock fails the test if it is read while the list of keys is locked.
type lockClock struct {
	clock.Manual
	t    *testing.T
	l    *Limiter[int]
	read int
}

func (c *lockClock) Now() time.Duration {
	c.read++
	if c.l != nil {
		if mu := &c.l.bins[0].mu; mu.TryLock() {
			mu.Unlock()
		} else {
			c.t.Error("the clock was read under the lock of the list: if it panics, nobody can insert any more")
		}
	}
	return c.Manual.Now()
}

func TestClockIsReadWithoutTheListsLock(t *testing.T) {
	clk := &lockClock{t: t}
	l := New[int](gcra.PerSecond(1), WithClock(clk), WithShards(1), WithMaxKeys(3*batch, Refuse))
	clk.l = l
	for _, row := range []struct {
		do  func()
		why string
	}{
		{func() {
			for key := range 3 * batch {
				l.Allow(key)
			}
		}, "inserts look at two others"},
		{func() { l.Allow(-1) }, "a new key looks for room"},
		{func() { clk.Advance(time.Second); l.Sweep() }, "a sweep of several batches"},
	} {
		before := clk.read
		if row.do(); clk.read == before {
			t.Errorf("the clock was not read: %s", row.why)
		}
	}
}

// Sweeps that run together forget each key once.
func TestSweepsTogether(t *testing.T) {
	const keys = 1000
	var clk clock.Manual
	l := New[int](gcra.PerSecond(1), WithClock(&clk), WithShards(1))
	for range 50 {
		for key := range keys {
			l.Allow(key)
		}
		clk.Advance(time.Second)
		var sum atomic.Int64
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { sum.Add(int64(l.Sweep())) })
		}
		wg.Wait()
		if sum.Load() != keys || l.Len() != 0 {
			t.Fatalf("%d forgotten in all, %d left, of %d", sum.Load(), l.Len(), keys)
		}
	}
}

// A refusal on a reset key leaves entry, list and count in step.
func TestRefusalOnADeadKey(t *testing.T) {
	var clk clock.Manual
	l := New[uint64](gcra.PerHour(1).Burst(2).Start(0), WithClock(&clk), WithMaxWait(time.Minute))
	clk.Advance(time.Hour)
	l.Take(1, 1)
	l.Reset(1)
	if err := l.WaitN(t.Context(), 1, 2); err == nil || l.Take(1, 2).OK() {
		t.Fatalf("not refused: %v", err)
	}
	check(t, l)
	clk.Advance(10 * time.Hour)
	if l.Sweep(); l.Len() != 0 {
		t.Errorf("%d keys left", l.Len())
	}
}

// A removed key is not kept alive by the list.
func TestRemoveDropsKey(t *testing.T) {
	var c chunks[*int]
	for range chunkLen + 1 {
		c.push(new(int))
	}
	for c.len > 0 {
		c.remove(c.len / 2)
	}
	for i, chunk := range c.chunk {
		for j, key := range chunk {
			if key != nil {
				t.Fatalf("item %d of chunk %d is kept", j, i)
			}
		}
	}
}

// A cap that is reached by goroutines that do nothing but count keys.
func TestRoomIsCountedOnce(t *testing.T) {
	const most = 1_000_003
	l := New[int](gcra.PerSecond(1), WithMaxKeys(most, Refuse))
	var start, wg sync.WaitGroup
	var got atomic.Int64
	start.Add(4)
	for range 4 {
		wg.Go(func() {
			start.Done()
			start.Wait()
			n := int64(0)
			for l.reserveKey() {
				n++
			}
			got.Add(n)
		})
	}
	wg.Wait()
	if got.Load() != most || l.Len() != most {
		t.Errorf("%d reserved, %d counted, cap %d", got.Load(), l.Len(), most)
	}
}

func TestShardsAreAPowerOfTwo(t *testing.T) {
	for n, want := range map[int]int{1: 1, 3: 4, 64: 64, 65: 128} {
		if got := len(New[int](gcra.PerSecond(1), WithShards(n)).bins); got != want {
			t.Errorf("WithShards(%d) made %d, want %d", n, got, want)
		}
	}
}
