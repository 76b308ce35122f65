package shard

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// Changes of the limit while others decide.

// TestTableSeenWhileItIsBroughtOver: a decider that found the old block, and
// then its key gone from there, must not take the key for one never seen.
func TestTableSeenWhileItIsBroughtOver(t *testing.T) {
	rounds := fewer(60_000)
	var clk clock.Manual
	limits := [2]gcra.Limit{gcra.PerSecond(1).Burst(5), gcra.PerSecond(2).Burst(5)}
	l := NewTable[int](limits[0], 1, WithClock(&clk))
	to := NewTable[int](limits[0], 100, WithClock(&clk))
	for key := range 10 {
		l.Take(key, 4)
	}
	var wrong, asked atomic.Int64
	var over atomic.Bool
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for n := i; !over.Load(); n++ {
				key := n % 10
				switch i {
				case 0:
					if l.Move(key, to); to.Peek(key, 0).Remaining() != 1 {
						wrong.Add(1)
					}
					to.Reset(key)
				case 1:
					if l.Take(key, 0).Remaining() != 1 {
						wrong.Add(1)
					}
				case 2:
					l.Take(11, 3)
					if l.Reset(11); l.Peek(11, 0).Remaining() != 5 {
						wrong.Add(1)
					}
				default:
					if d := l.Peek(key, 2); d.OK() || d.Remaining() != 1 {
						wrong.Add(1)
					}
				}
				asked.Add(1)
			}
		})
	}
	for i := range rounds {
		l.SetLimit(limits[(i+1)%2])
	}
	over.Store(true)
	wg.Wait()
	if n := wrong.Load(); n != 0 || asked.Load() < int64(rounds) {
		t.Errorf("%d of %d decisions saw a balance that no key had, in %d changes", n, asked.Load(), rounds)
	}
}

// TestTableSetLimitWhileThousandsDecide lets goroutines take what there is of
// many keys, in one instant, while the limit changes. Half of the keys are new.
func TestTableSetLimitWhileThousandsDecide(t *testing.T) {
	const deciders, keys, burst = 1000, 400, 20
	limits := []gcra.Limit{
		gcra.PerSecond(1000).Burst(burst), gcra.PerSecond(250).Burst(burst), gcra.Per(0, time.Second).Burst(burst),
		gcra.PerSecond(99).Burst(burst), gcra.Every(3 * time.Millisecond).Burst(burst),
	}
	var clk clock.Manual
	l := NewTable[int](limits[0], keys, WithClock(&clk))
	want := 0
	for key := range keys {
		if key%2 == 0 {
			l.Take(key, key%burst)
			want -= key % burst
		}
		want += burst
	}
	got := make([]atomic.Int64, keys)
	var changes, under atomic.Int64
	var over atomic.Bool
	var wg, setters sync.WaitGroup
	for s := range 2 {
		setters.Go(func() {
			for i := s; !over.Load() || changes.Load() < 200; i++ {
				if s == 0 {
					l.SetLimit(limits[i%len(limits)])
				} else {
					rest := l.half(limits[i%len(limits)])
					for range 20 {
						runtime.Gosched() // while deciders bring over what they need
					}
					rest()
				}
				changes.Add(1)
				runtime.Gosched()
			}
		})
	}
	for i := range deciders {
		wg.Go(func() {
			for k := range keys / 4 {
				key := (i + k*7) % keys
				if l.block.Load().old.Load() != nil {
					under.Add(1)
				}
				got[key].Add(int64(l.TakeUpTo(key, 1).Granted()))
				if k%8 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
	sum := 0
	for key := range keys {
		got[key].Add(int64(l.TakeUpTo(key, burst).Granted()))
		there := burst
		if key%2 == 0 {
			there -= key % burst
		}
		if n := int(got[key].Load()); n != there {
			t.Errorf("key %d: %d tokens in one instant, want %d", key, n, there)
		}
		sum += int(got[key].Load())
	}
	over.Store(true)
	setters.Wait()
	t.Logf("%d changes, %d decisions while keys were brought over", changes.Load(), under.Load())
	if sum != want || l.Len() != keys || l.Stats().Capped != 0 || under.Load() == 0 {
		t.Errorf("%d tokens of %d keys in one instant with %d changes, want %d of %d; %d decided while keys were brought over",
			sum, l.Len(), changes.Load(), want, keys, under.Load())
	}
}

// TestTableChangesAmidAll changes the limit in a loop while keys come, are
// reset, and give back. What comes back across a change is nothing, so that no
// key has more than a burst for each of its resets and one besides; and who
// only takes has just what there was.
func TestTableChangesAmidAll(t *testing.T) {
	const burst, keys = 12, 30
	limits := []gcra.Limit{gcra.PerSecond(1000).Burst(burst), gcra.PerSecond(500).Burst(burst), gcra.PerSecond(250).Burst(burst)}
	var clk clock.Manual
	l := NewTable[int](limits[0], 40, WithClock(&clk), WithMaxDebt(0))
	rounds, across := fewer(1500), int64(0)
	for round := range rounds {
		l.SetLimit(limits[0]) // in which all buckets fill in 12 ms
		clk.Advance(burst*time.Millisecond*4 + 1)
		var kept, resets [keys]atomic.Int64
		var lost atomic.Int64
		racing(func(i int) {
			rng := rand.New(rand.NewPCG(uint64(round), uint64(i)))
			for n := range 60 {
				if i == round%tableRacers {
					l.SetLimit(limits[n%len(limits)])
					runtime.Gosched()
					continue
				}
				key := rng.IntN(keys)
				switch {
				case key < 10: // takes only
					kept[key].Add(int64(l.TakeUpTo(key, 1+rng.IntN(2)).Granted()))
				case key < 20 && rng.IntN(8) == 0:
					resets[key].Add(1) // before, so that it bounds what is kept after
					l.Reset(key)
				default:
					n, g := 1+rng.IntN(4), l.block.Load()
					r := l.ReserveWithin(key, 0, n)
					if !r.OK() {
						continue
					}
					if rng.IntN(2) == 0 {
						runtime.Gosched()
					}
					actual := rng.IntN(n + 1)
					r.Settle(actual)
					kept[key].Add(int64(actual))
					if l.block.Load() != g {
						lost.Add(1)
					}
				}
			}
		})
		across += lost.Load()
		for key := range keys {
			n, left := int(kept[key].Load()), l.Peek(key, 0).Remaining()
			most := burst * (1 + int(resets[key].Load()))
			if key < 10 && n+left != burst || n+left > most {
				t.Fatalf("round %d: key %d kept %d tokens at one instant and has %d, of at most %d", round, key, n, left, most)
			}
		}
	}
	if across == 0 {
		t.Error("no reservation was settled across a change, so nothing is proved")
	}
}

// TestTableChargeWhileItIsBroughtOver: deciders that are slow between load and
// swap charge one key of the bucket that comes over first, while the limit is
// set all the time to the same rate in other words. No charge is lost, and none
// counts twice.
func TestTableChargeWhileItIsBroughtOver(t *testing.T) {
	const burst = 1_000_000_000
	var clk clock.Manual
	l := NewTable[int](gcra.PerSecond(1000).Burst(burst), 1, WithClock(&clk))
	h := hashesAt(l.block.Load(), 0, 1)[0]
	l.ask(h, 1, gcra.Take)
	var charged, late atomic.Int64
	var over atomic.Bool
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			for n := i; !over.Load(); n++ {
				before := l.block.Load()
				d := l.ask(h, 1, between(gcra.Take, func() {
					for range n * 37 % 1500 {
						if over.Load() {
							return
						}
					}
				}))
				if charged.Add(int64(d.Granted())); l.block.Load() != before {
					late.Add(1)
				}
			}
		})
	}
	for i := range fewer(60_000) {
		l.SetLimit(gcra.Per(1000*(1+i%3), time.Second*time.Duration(1+i%3)).Burst(burst))
	}
	over.Store(true)
	wg.Wait()
	if got, want := l.left(h), burst-1-int(charged.Load()); got != want || late.Load() == 0 {
		t.Errorf("%d tokens are left, want %d: %d were charged, %d times across a change", got, want, charged.Load(), late.Load())
	}
}
