//go:build invariants

package shard

import (
	"strings"
	"testing"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// What an invariant of maps and blocks says when it is broken by hand.
func TestInvariantsOfShard(t *testing.T) {
	table := func() *Table[int] { return NewTable[int](gcra.PerSecond(1), 10, WithClock(new(clock.Manual))) }
	limiter := func() *Limiter[int] {
		return New[int](gcra.PerSecond(1), WithClock(new(clock.Manual)), WithShards(1))
	}
	twice := func(tat int64) func() {
		return func() {
			l := table()
			h, st, _ := l.hash(1)
			st.mu.Lock()
			b := l.block.Load()
			x, y := b.home(h)
			for _, i := range []uint64{x, y} {
				b.buckets[i][0].hash.Store(h)
				b.buckets[i][0].tat.Store(tat)
			}
			l.inserted(b, h, st, false)
		}
	}
	claim := func(lock bool, tat, next int64, own bool) func() {
		return func() {
			l := table()
			h, st, _ := l.hash(1)
			if lock {
				st.mu.Lock()
			}
			s := &l.block.Load().buckets[0][0]
			s.tat.Store(tat)
			if s.hash.Store(h); !own {
				s.hash.Store(h + 1)
			}
			l.claimedBy(s, h, gcra.Instant{Tick: 5}, next)
		}
	}
	alive := func() *cell {
		c := new(cell)
		c.Init(5)
		c.gen = limiter().core.Current()
		return c
	}
	dead := func() *cell {
		c := alive()
		c.Reset(c.gen, gcra.Instant{Tick: 1})
		return c
	}
	const (
		lock  = "a key comes, is reset and gets tokens back under the lock of its stripe"
		owned = "a claimed slot ends with its key's hash stored"
		free1 = "a key is brought over to a slot that nobody has used"
	)
	for i, row := range []struct {
		name string
		do   func()
	}{
		{"", claim(true, claimed, 6, true)},
		{lock, claim(false, claimed, 6, true)},
		{owned, claim(true, 7, 6, true)},
		{owned, claim(true, claimed, 6, false)},
		{"from owner to owner the TATs of a slot grow", claim(true, claimed, 5, true)},
		{"", twice(gone)},
		{"a key has one slot", twice(7)},
		{"", func() { marked(7, 7) }},
		{"a slot's mark is raised before its TAT is lowered", func() { marked(6, 7) }},
		{"", func() { free(new(slot)) }},
		{free1, func() { s := new(slot); s.tat.Store(7); free(s) }},
		{free1, func() { s := new(slot); s.hash.Store(7); free(s) }},
		{"", func() { dropped(&dead().Cell) }},
		{"only a cell whose life is over leaves its map", func() { dropped(&alive().Cell) }},
		{"", func() { succeeds(alive(), dead(), 5) }},
		{"only a cell whose life is over is replaced", func() { succeeds(alive(), alive(), 5) }},
		{"no debt is lost with a cell", func() { succeeds(alive(), dead(), 6) }},
		{"", func() { l := limiter(); l.Allow(1); l.bins[0].listed() }},
		{"a key is listed while it has an entry", func() { l := limiter(); l.bins[0].keys.push(1); l.bins[0].listed() }},
		{"a counter is never below 0", func() { limiter().keys.Add(-1) }},
	} {
		got := ""
		func() {
			defer func() {
				if p := recover(); p != nil {
					got = p.(string)
				}
			}()
			row.do()
		}()
		if row.name == "" && got != "" || row.name != "" && !strings.HasPrefix(got, "weir: invariant broken: "+row.name+": ") {
			t.Errorf("row %d: panic %q, want that of %q", i, got, row.name)
		}
	}
}
