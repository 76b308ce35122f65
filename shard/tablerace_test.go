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

// Races for few slots. Each ends in a ledger that is exact, and fails if what it
// is about did not happen.

const tableRacers = 4

// racing runs f in several goroutines that start together.
func racing(f func(i int)) {
	var start, end sync.WaitGroup
	start.Add(tableRacers)
	for i := range tableRacers {
		end.Go(func() {
			start.Done()
			start.Wait()
			f(i)
		})
	}
	end.Wait()
}

func fewer(n int) int {
	if testing.Short() {
		n /= 4
	}
	return n / (1 + raceSlow)
}

// TestTableRaceForSlots: at the beginning of every round all buckets are full,
// and the clock stands still. Many keys, most of which have no slot, race for
// those of the others, each asked by all goroutines: each gets its burst, no
// more and no less.
func TestTableRaceForSlots(t *testing.T) {
	const burst, universe, each = 4, 300, 20
	var clk clock.Manual
	l := NewTable[int](gcra.PerSecond(1000).Burst(burst), 1, WithClock(&clk))
	rng := rand.New(rand.NewPCG(1, 1))
	mixed, rounds := 0, fewer(6000)
	for round := range rounds {
		clk.Advance(burst*time.Millisecond + 1)
		keys := rng.Perm(universe)[:each]
		var got [tableRacers][each]int
		racing(func(i int) {
			for k := range each {
				k = (k*7 + i*round) % each // some in the same order, some not
				for n := 0; ; n++ {
					d := gcra.Decision{}
					if n%2 == 0 {
						d = l.TakeUpTo(keys[k], 1+n%3)
					} else {
						d = l.Take(keys[k], 1)
					}
					if !d.OK() {
						break
					}
					if got[i][k] += d.Granted(); k%3 == 0 {
						runtime.Gosched()
					}
				}
			}
		})
		for k, key := range keys {
			sum, winners := 0, 0
			for i := range got {
				sum += got[i][k]
				winners += min(got[i][k], 1)
			}
			if winners > 1 {
				mixed++
			}
			if sum != burst {
				t.Fatalf("round %d: key %d was granted %d tokens at one instant, want %d", round, key, sum, burst)
			}
		}
	}
	s := l.Stats()
	if t.Logf("%d slots taken over, %d of %d keys granted to several", s.Forgotten, mixed, rounds*each); s.Forgotten < int64(rounds) || mixed == 0 || s.Capped != 0 {
		t.Errorf("%+v, and %d keys granted to several goroutines: nothing is proved", s, mixed)
	}
}

// TestTableRaceWhileTimePasses moves the clock within the round, so that keys
// fill up and are pushed out while others take from them. At the round's
// beginning all are full, so that a burst and the round's refill bound each.
func TestTableRaceWhileTimePasses(t *testing.T) {
	const burst, universe, each = 3, 100, 12
	var clk clock.Manual
	limit := gcra.PerSecond(1000).Burst(burst)
	l := NewTable[int](limit, 1, WithClock(&clk))
	rng := rand.New(rand.NewPCG(2, 2))
	rounds, most := fewer(4000), 0
	for round := range rounds {
		clk.Advance(burst*time.Millisecond + 1)
		begin, keys := clk.Now(), rng.Perm(universe)[:each]
		var got [each]atomic.Int64
		var over atomic.Bool
		racing(func(i int) {
			if i == round%tableRacers {
				defer over.Store(true)
				for range 40 {
					clk.Advance(300 * time.Microsecond)
					l.Take(universe+round%50, 1)
					runtime.Gosched()
				}
				return
			}
			for !over.Load() {
				for k, key := range keys {
					if (k+i+round)%3 > 0 {
						got[k].Add(int64(l.TakeUpTo(key, 1+k%burst).Granted()))
					}
				}
				runtime.Gosched()
			}
		})
		for k, key := range keys {
			n := int(got[k].Load()) + l.TakeUpTo(key, burst).Granted()
			if bound := limit.Within(clk.Now() - begin); n > bound {
				t.Fatalf("round %d: key %d was granted %d tokens in %v, want at most %d", round, key, n, clk.Now()-begin, bound)
			} else if n == bound {
				most++
			}
			if n < burst {
				t.Fatalf("round %d: key %d was granted %d tokens of a full bucket", round, key, n)
			}
		}
	}
	if s := l.Stats(); s.Forgotten < int64(rounds) || most == 0 || s.Capped != 0 {
		t.Errorf("%+v, and %d keys took all there was: nothing is proved", s, most)
	}
}

// TestTableRaceToInsert lets all goroutines come at once with one key that is
// new, again and again: it gets one slot and one burst.
func TestTableRaceToInsert(t *testing.T) {
	rounds := fewer(20_000)
	var clk clock.Manual
	l := NewTable[int](gcra.PerHour(1).Burst(2), rounds, WithClock(&clk))
	mixed := 0
	for key := range rounds {
		var got [tableRacers]int
		racing(func(i int) {
			for l.Allow(key) {
				got[i]++
				runtime.Gosched()
			}
		})
		sum, winners := 0, 0
		for _, n := range got {
			sum += n
			winners += min(n, 1)
		}
		if sum != 2 || l.Len() != key+1 {
			t.Fatalf("a new key was granted %d tokens of 2, and there are %d slots for %d keys", sum, l.Len(), key+1)
		}
		if winners > 1 {
			mixed++
		}
	}
	if mixed == 0 {
		t.Error("no key was granted to several, so nothing raced and nothing is proved")
	}
}

// TestTableReturnsAmidTakeovers: reservations that are settled for less, and
// resets of other keys, while slots are taken over and time passes. What was
// kept of the reservations, which are for now or not at all, keeps to L1; and
// at an instant that stands still the ledger is exact.
func TestTableReturnsAmidTakeovers(t *testing.T) {
	const burst, universe, each = 6, 100, 8
	var clk clock.Manual
	limit := gcra.PerSecond(1000).Burst(burst)
	l := NewTable[int](limit, 1, WithClock(&clk), WithMaxDebt(0))
	rng := rand.New(rand.NewPCG(3, 3))
	rounds, returned, resets := fewer(5000), int64(0), int64(0)
	for round := range rounds {
		clk.Advance(burst*time.Millisecond + 1)
		begin, keys := clk.Now(), rng.Perm(universe)[:each]
		moves := round%2 == 0
		var kept [each]atomic.Int64
		var back, reset atomic.Int64
		seeds := [tableRacers]uint64{}
		for i := range seeds {
			seeds[i] = rng.Uint64()
		}
		racing(func(i int) {
			rng := rand.New(rand.NewPCG(seeds[i], 3))
			for range 30 {
				if i == 0 {
					l.Take(universe+rng.IntN(60), 1+rng.IntN(2))
					if l.Reset(universe + rng.IntN(60)); moves {
						clk.Advance(time.Duration(rng.IntN(800)) * time.Microsecond)
					}
					reset.Add(1)
					runtime.Gosched()
					continue
				}
				k, n := rng.IntN(each), 1+rng.IntN(3)
				r := l.ReserveWithin(keys[k], 0, n)
				if !r.OK() {
					continue
				}
				actual := rng.IntN(n + 1)
				if rng.IntN(3) == 0 {
					runtime.Gosched()
				}
				r.Settle(actual)
				kept[k].Add(int64(actual))
				back.Add(int64(n - actual))
			}
		})
		returned, resets = returned+back.Load(), resets+reset.Load()
		for k, key := range keys {
			n := int(kept[k].Load())
			if !moves {
				if left := l.Peek(key, 0).Remaining(); n+left != burst {
					t.Fatalf("round %d: key %d kept %d tokens at one instant and has %d, of %d", round, key, n, left, burst)
				}
			}
			n += l.TakeUpTo(key, burst).Granted()
			if bound := limit.Within(clk.Now() - begin); n > bound {
				t.Fatalf("round %d: key %d kept %d tokens in %v, want at most %d", round, key, n, clk.Now()-begin, bound)
			}
		}
	}
	s := l.Stats()
	if t.Logf("%d slots taken over, %d tokens returned, %d resets, %d turned away", s.Forgotten, returned, resets, s.Capped); s.Forgotten < int64(rounds) || returned == 0 {
		t.Errorf("%+v, %d tokens returned: nothing is proved", s, returned)
	}
}

// TestTableNobodyPaysForAnother: each goroutine has keys of its own, which owe
// nothing at the beginning of a round, and sees of each just what it took
// itself, however the slots go from one to the other.
func TestTableNobodyPaysForAnother(t *testing.T) {
	const universe = 200
	var clk clock.Manual
	l := NewTable[int](gcra.PerSecond(1000), 1, WithClock(&clk))
	rounds := fewer(20_000)
	var wrong, granted atomic.Int64
	for round := range rounds {
		clk.Advance(time.Millisecond + 1)
		racing(func(i int) {
			for k := range 5 {
				key := (round*5+k)%universe*tableRacers + i // nobody else's
				switch {
				case !l.Peek(key, 1).OK(), !l.Take(key, 1).OK(), l.Peek(key, 1).OK(), l.Take(key, 1).OK():
					wrong.Add(1)
				}
				granted.Add(1)
			}
		})
		if n := wrong.Load(); n > 0 {
			t.Fatalf("round %d: %d of %d keys were decided on by another's balance", round, n, granted.Load())
		}
	}
	if s := l.Stats(); s.Forgotten < int64(rounds) {
		t.Errorf("%d slots taken over in %d rounds: nothing is proved", s.Forgotten, rounds)
	}
}

// TestTableStalledDeciders has more threads than processors, and no goroutine
// gives way, so that many are stopped wherever they are, for so long that the
// slot which they have just looked at goes to others. Each has keys of its own,
// and comes back to one when it has been full for long: it finds a burst there,
// and what the time of its visit has refilled, if it was long. Once more while
// the limit is set all the time, to the same rate in other words, under which no
// balance changes.
func TestTableStalledDeciders(t *testing.T) {
	t.Run("limit stays", func(t *testing.T) { stalled(t, false) })
	t.Run("limit changes", func(t *testing.T) { stalled(t, true) })
}

func stalled(t *testing.T, changing bool) {
	const deciders, each, burst = 16, 40, 2
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(deciders))
	var clk clock.Manual
	limit := gcra.PerSecond(1000).Burst(burst)
	fill := limit.FillTime()
	l := NewTable[int](limit, 1, WithClock(&clk))
	visits := fewer(400_000)
	if changing {
		visits /= 4
	}
	var wrong, seen atomic.Int64
	var wg sync.WaitGroup
	for i := range deciders {
		wg.Go(func() {
			var left [each]time.Duration
			for n := range visits {
				k := n % each
				key, begin := i*each+k, clk.Now()
				if begin <= left[k]+fill && left[k] > 0 {
					clk.Advance(fill / 20)
					continue
				}
				got := 0
				for way := n; ; way++ {
					d := gcra.Decision{}
					switch way % 4 {
					case 0, 1:
						d = l.Take(key, 1)
					case 2:
						d = l.TakeUpTo(key, 1)
					case 3:
						if r := l.ReserveWithin(key, 0, 1); r.OK() {
							got++
							continue
						}
					}
					if got += d.Granted(); d.Granted() == 0 {
						break
					}
				}
				left[k] = clk.Now()
				if got < burst || got > limit.Within(left[k]-begin) {
					wrong.Add(1)
				}
				seen.Add(1)
				clk.Advance(fill / 20)
			}
		})
	}
	var over atomic.Bool
	var changes int
	var setter sync.WaitGroup
	setter.Go(func() {
		for changing && !over.Load() {
			changes++
			l.SetLimit(gcra.Per(1000*(1+changes%3), time.Second*time.Duration(1+changes%3)).Burst(burst))
		}
	})
	wg.Wait()
	over.Store(true)
	setter.Wait()
	s := l.Stats()
	t.Logf("%d changes, %d visits, %d slots taken over, %d keys turned away", changes, seen.Load(), s.Forgotten, s.Capped)
	if n := wrong.Load() - s.Capped; n > 0 { // who is turned away finds less
		t.Errorf("in %d of %d visits a key had not what it had to have", n, seen.Load())
	}
	if s.Forgotten < seen.Load()/10 || changing && changes < 10 || s.Capped > seen.Load()/100 {
		t.Errorf("%+v: nothing is proved", s)
	}
}
