package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v3"
	"github.com/sethvargo/go-limiter/memorystore"
	"go.uber.org/ratelimit"
	"golang.org/x/time/rate"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A limit is n tokens per period and a burst, for each library to put in its
// own words.
type limit struct {
	n     int
	per   time.Duration
	burst int
}

// In the granted cases the burst is never used up, so that nothing is refused
// at any speed. Of many keys each must still owe time when the last one comes,
// or a library that forgets idle keys would be timed making them again.
func hotGranted() limit  { return limit{1000, time.Second, 1 << 40} }
func keysGranted() limit { return limit{1, time.Hour, 1 << 18} }
func allRefused() limit  { return limit{1, time.Hour, 1} }

func (l limit) weir() gcra.Limit { return gcra.Per(l.n, l.per).Burst(l.burst) }

func (l limit) xtime() *rate.Limiter {
	return rate.NewLimiter(rate.Limit(float64(l.n)/l.per.Seconds()), l.burst)
}

// A subject is one library, set up to limit keys.
type subject[K comparable] struct {
	lib  string
	open func(limit) instance[K]
	// yields marks what grants everything: the bare harness, and a library
	// that has no way to refuse.
	yields bool
}

// An instance is a subject at work. What it does not need is nil.
type instance[K comparable] struct {
	allow func(K) bool
	len   func() int // how many keys it remembers, where the library can tell
	close func()
}

func (i instance[K]) stop() {
	if i.close != nil {
		i.close()
	}
}

// ours is the lib that ratios are to, in every group.
const ours = "weir"

// single are the limiters of one thing: they do not look at the key.
func single() []subject[string] {
	return []subject[string]{
		{lib: "none", open: openNone[string], yields: true},
		{lib: ours, open: func(l limit) instance[string] {
			limiter := gatomic.NewLimiter(l.weir())
			return instance[string]{allow: func(string) bool { return limiter.Allow() }}
		}},
		{lib: "xtime", open: func(l limit) instance[string] {
			limiter := l.xtime()
			return instance[string]{allow: func(string) bool { return limiter.Allow() }}
		}},
		{lib: "uber", open: openUber, yields: true},
	}
}

// keyed are those for keys of any type.
func keyed[K comparable]() []subject[K] {
	return []subject[K]{
		{lib: "none", open: openNone[K], yields: true},
		{lib: ours, open: openWeir[K]},
		{lib: "xtime", open: openSyncMap[K]},
		{lib: "xsync", open: openXsync[K]},
	}
}

// stringKeyed adds those that know only strings.
func stringKeyed() []subject[string] {
	return append(keyed[string](), subject[string]{lib: "sethvargo", open: openMemorystore})
}

// openNone is the floor: what walking the keys and calling a function costs.
func openNone[K comparable](limit) instance[K] {
	return instance[K]{allow: func(K) bool { return true }}
}

func openWeir[K comparable](l limit) instance[K] { return openShards[K](l) }

func openShards[K comparable](l limit, opts ...shard.Option) instance[K] {
	limiter := shard.New[K](l.weir(), opts...)
	return instance[K]{
		allow: func(key K) bool { return limiter.Allow(key) },
		len:   limiter.Len,
	}
}

// openSyncMap is what the documentation of x/time leaves to its user.
func openSyncMap[K comparable](l limit) instance[K] {
	var limiters sync.Map
	return instance[K]{
		allow: func(key K) bool {
			v, ok := limiters.Load(key)
			if !ok {
				v, _ = limiters.LoadOrStore(key, l.xtime())
			}
			return v.(*rate.Limiter).Allow()
		},
		len: func() (n int) {
			limiters.Range(func(any, any) bool { n++; return true })
			return n
		},
	}
}

// openXsync is our cell in one map: what shards and forgetting add shows
// beside it.
func openXsync[K comparable](l limit) instance[K] {
	type cell struct {
		gatomic.Cell
		limit *gcra.Limit
	}
	clk, lim := clock.System(), l.weir()
	born := clk.Now()
	fresh := gcra.Fresh(&lim, gcra.At(&lim, 0))
	cells := xsync.NewMapOf[K, *cell]()
	return instance[K]{
		allow: func(key K) bool {
			at := gcra.At(&lim, clk.Now()-born)
			c, ok := cells.Load(key)
			if !ok {
				c, _ = cells.LoadOrCompute(key, func() *cell {
					c := &cell{limit: &lim}
					c.Init(fresh)
					return c
				})
			}
			d, _ := c.Take(c.limit, at, 1)
			return d.OK()
		},
		len: cells.Size,
	}
}

func openMemorystore(l limit) instance[string] {
	// It refills at whole intervals, so an interval is the time in which an
	// empty bucket fills. The map starts at its default size.
	store, err := memorystore.New(&memorystore.Config{
		Tokens:   uint64(l.burst),
		Interval: l.per / time.Duration(l.n) * time.Duration(l.burst),
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	return instance[string]{
		allow: func(key string) bool {
			_, _, _, ok, err := store.Take(ctx, key)
			return ok && err == nil
		},
		close: func() { store.Close(ctx) },
	}
}

// openUber times Take, all that the library has. It knows no burst, so it gets
// the highest rate that it can express, a token a nanosecond, with a second's
// worth of slack: with the default of ten tokens a goroutine that was held up
// for as many nanoseconds sleeps. From then on it counts as refused.
func openUber(limit) instance[string] {
	var clk sleepless
	limiter := ratelimit.New(int(time.Second), ratelimit.WithSlack(int(time.Second)), ratelimit.WithClock(&clk))
	return instance[string]{allow: func(string) bool {
		limiter.Take()
		return !clk.slept.Load()
	}}
}

// A sleepless is the library's own clock that remembers if it was slept on.
type sleepless struct{ slept atomic.Bool }

func (*sleepless) Now() time.Time { return time.Now() }

func (s *sleepless) Sleep(d time.Duration) {
	s.slept.Store(true)
	time.Sleep(d)
}

// probe proves that a subject limits, and limits each key by itself: a limiter
// that grants all, or forgets which key it was asked about, would be fast.
func probe[K comparable](s subject[K], keys []K) error {
	const burst = 3
	if s.yields {
		return nil
	}
	i := s.open(limit{1, time.Hour, burst})
	defer i.stop()
	for round := range burst + 2 {
		for _, key := range keys {
			if got, want := i.allow(key), round < burst; got != want {
				return fmt.Errorf("%s: request %d on key %v of %d: granted is %v, want %v with a burst of %d",
					s.lib, round+1, key, len(keys), got, want, burst)
			}
		}
	}
	if i.len != nil && i.len() != len(keys) {
		return fmt.Errorf("%s: remembers %d keys of %d", s.lib, i.len(), len(keys))
	}
	return nil
}
