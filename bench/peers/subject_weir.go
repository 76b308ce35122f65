package main

import (
	"github.com/puzpuzpuz/xsync/v3"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

func (l limit) weir() gcra.Limit { return gcra.Per(l.n, l.per).Burst(l.burst) }

func openOne(opts ...gatomic.Option) func(limit) func() bool {
	return func(l limit) func() bool { return gatomic.NewLimiter(l.weir(), opts...).Allow }
}

func openWeir[K comparable](opts ...shard.Option) func(limit, int) instance[K] {
	return func(l limit, _ int) instance[K] {
		limiter := shard.New[K](l.weir(), opts...)
		return instance[K]{
			allow: func(key K) bool { return limiter.Allow(key) },
			len:   limiter.Len,
			drain: func(key K) { limiter.TakeUpTo(key, l.burst) },
		}
	}
}

// openXsync is our cell in one map: what shards and forgetting add shows
// beside it.
func openXsync[K comparable](l limit, _ int) instance[K] {
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
		drain: func(key K) {
			c, _ := cells.Load(key)
			c.TakeUpTo(c.limit, gcra.At(&lim, clk.Now()-born), l.burst)
		},
	}
}
