package shard

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// A slot goes to and fro between two keys, as fast as one goroutine can write,
// while another decides for one of them. What it decides has to be about its own
// TAT: a slot's hash and TAT are two words, and a reader that takes them in the
// wrong order, or that does not look a second time before it answers, judges one
// key by what another owes.

const mine, other = 7, 8 // the two hashes

// slotTurns lets f loose on a slot that has both owners in turn, each with TATs
// of its own that never come twice: my i-th is mineAt + i, the other's otherAt
// + i. It ends when f has met its own key often enough.
func slotTurns(t *testing.T, mineAt, otherAt int64, f func(s *slot) (met bool)) {
	const enough = 20_000
	var s slot
	s.hash.Store(mine)
	s.tat.Store(mineAt)
	var over atomic.Bool
	racingWith(func() {
		defer over.Store(true)
		// Both: its own key was met, and somebody else's was in between.
		for met, not := 0, 0; met < enough || not < enough/100; {
			if f(&s) {
				met++
			} else {
				not++
			}
			if t.Failed() {
				return
			}
		}
	}, func() {
		for i := int64(1); !over.Load(); i++ {
			for _, to := range []struct {
				hash uint64
				tat  int64
			}{{other, otherAt + i}, {mine, mineAt + i}} {
				s.tat.Store(claimed) // as an insert does
				s.hash.Store(to.hash)
				s.tat.Store(to.tat)
			}
		}
	})
}

// racingWith runs both at the same time.
func racingWith(f, g func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		g()
	}()
	f()
	<-done
}

func TestSlotIsReadAsOneOwners(t *testing.T) {
	const now = 1 << 50
	limit := gcra.Every(time.Nanosecond).Burst(min(1<<40, math.MaxInt)) // a token is a tick
	var core gatomic.Core
	core.Init(limit, gatomic.WithClock(new(clock.Manual)))
	g := core.Current()
	turn := core.Turn().Within(0)
	var resets atomic.Int64
	at := gcra.Instant{Tick: now, Elapsed: now - 1}
	l := g.Limit()
	// turn is at tick 1: there, owing means more than a burst after it.
	for _, row := range []struct {
		name string
		now  int64
		ok   func(s *slot) (ok, here bool)
	}{
		{"Take", now, func(s *slot) (ok, here bool) {
			d, here := s.decide(mine, l, at, 1, gcra.Take)
			return d.OK(), here
		}},
		{"Peek", now, func(s *slot) (ok, here bool) {
			d, here := s.decide(mine, l, at, 1, look)
			return d.OK(), here
		}},
		{"Allow", now, func(s *slot) (ok, here bool) { return s.allow(mine, l, at, 1) }},
		{"Book", 1, func(s *slot) (ok, here bool) {
			p := spot{turn: turn, gen: g}
			here = s.book(mine, &p, 1, &resets)
			return p.d.OK(), here
		}},
	} {
		full, owing := row.now-1<<30, row.now+1<<41
		if row.now == 1 {
			full = 1
		}
		slotTurns(t, owing, full, func(s *slot) bool {
			ok, here := row.ok(s)
			if here && ok {
				t.Errorf("%s: a key that owes was granted what the other key has", row.name)
			}
			return here
		})
		slotTurns(t, full, owing, func(s *slot) bool {
			ok, here := row.ok(s)
			if here && !ok {
				t.Errorf("%s: a full key was refused what the other key owes", row.name)
			}
			return here
		})
	}
	// What is read to be moved, and what is raised.
	slotTurns(t, 1<<40, 1<<50, func(s *slot) bool {
		tat := s.read(mine)
		if tat >= 1<<50 {
			t.Error("Move reads another key's TAT")
		}
		return tat != 0
	})
	slotTurns(t, 1<<50, 1<<40, func(s *slot) bool {
		here := s.raise(mine, 1<<49)
		// Nobody moves its TAT but the other goroutine, which stores 1<<40 and more.
		if hash, tat := s.hash.Load(), s.tat.Load(); tat == 1<<49 || tat >= 1<<50 && hash == other && s.hash.Load() == other && s.tat.Load() == tat {
			t.Error("another key was raised")
		}
		return here
	})
}

// TestMarkComesBeforeTheSwap lowers one slot after the other, and a taker that
// sees the lower TAT looks at once whether the slot is to be had: it is not,
// until the mark has passed, however early he sees it.
func TestMarkComesBeforeTheSwap(t *testing.T) {
	const high, low, now = 1000, 10, 500
	var core gatomic.Core
	core.Init(gcra.PerSecond(1), gatomic.WithClock(new(clock.Manual)))
	const buckets = 50_000
	b := newBlock(core.Current(), buckets)
	for i := range b.buckets {
		for j := range b.buckets[i] {
			b.buckets[i][j].hash.Store(mine)
			b.buckets[i][j].tat.Store(high)
		}
	}
	var turn atomic.Uint64 // the slot that is being lowered
	var over atomic.Bool
	racingWith(func() {
		defer over.Store(true)
		for i := range uint64(buckets) {
			for j := range b.buckets[i] {
				turn.Store(i*4 + uint64(j))
				b.lower(i, j, &b.buckets[i][j], high, low)
			}
		}
	}, func() {
		for !over.Load() && !t.Failed() {
			n := turn.Load()
			if _, ok := b.usable(n/4, int(n%4), now, 0); ok {
				t.Error("a slot was to be had while a swap that was meant for its higher TAT may be on its way")
			}
		}
	})
}
