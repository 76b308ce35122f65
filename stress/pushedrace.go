package stress

import (
	"runtime"
	"time"
)

// Checks of law L6 where keys are forgotten to make room, in races: every charge
// is found at its own key.

// pushedBalances lets new keys push out old ones, which are charged in the same
// instant. All were full when the round began, so that a key has at its end what
// it was not granted, whoever else came, and wherever it is kept.
func pushedBalances(s Subject) error {
	const burst, olds, most, guests = 4, 6, 8, 5
	clk, room := s.clock(), s.room(most)
	e := s.NewCapped(limitOf("1000/s burst 4"), clk, most, false)
	fill(e, 1e6, room, 1)
	mixed := 0
	for round := range s.rounds(3000) {
		clk.Advance(burst*time.Millisecond + s.unit())
		guest := func(i, k int) uint64 { return keyOf(1e7 + (round*racers+i)*guests + k) }
		var old, came [racers][max(olds, guests)]int
		_, winners := sum(race(func(i int) (n int) {
			for k := range olds {
				if i == round%racers {
					if k < guests {
						came[i][k] = e.TakeUpTo(guest(i, k), 1+k%burst).Granted()
					}
					continue
				}
				k = (k + i) % olds
				old[i][k] = e.TakeUpTo(keyOf(k), 1+(round+i)%2).Granted()
				if n += old[i][k]; k%2 == 0 {
					runtime.Gosched()
				}
			}
			return n
		}))
		if winners > 1 {
			mixed++
		}
		for k := range olds {
			granted := 0
			for i := range racers {
				granted += old[i][k]
			}
			if left := e.Peek(keyOf(k), 0).Remaining(); granted+left != burst {
				return errorf("round %d: a key of burst %d was granted %d and has %d, while others pushed keys out", round, burst, granted, left)
			}
		}
		for i := range racers {
			for k, granted := range came[i][:guests] {
				if left := e.Peek(guest(i, k), 0).Remaining(); granted+left != burst {
					return errorf("round %d: a new key of burst %d was granted %d and has %d", round, burst, granted, left)
				}
			}
		}
	}
	if mixed == 0 {
		return errorf("no round had two winners, so nothing raced and nothing is proved")
	}
	return nil
}

// pushedLowered gives a key's booking back while others charge that key, and a
// token's time later fills the room with new keys: each takes one token, so that
// one of them may bring the word of the first key's place back to what it was
// before the give-back. What they were not granted they have.
func pushedLowered(s Subject) error {
	const burst, most = 3, 8
	clk, room := s.clock(), s.room(most)
	e := s.NewCapped(limitOf("1000/s burst 3"), clk, most, false)
	reserver, ok := e.(Reserver)
	if !ok {
		return errorf("what NewCapped returns has no Reserve")
	}
	fill(e, 1e6, room, 1)
	key, next := uint64(1<<40), 2_000_000
	for round := range s.rounds(1500) {
		clk.Advance((burst+2)*time.Millisecond + s.unit())
		e.Peek(key, 1)
		r := reserver.Reserve(key, 2)
		if !r.OK() {
			return errorf("round %d: there is no room though all buckets are full", round)
		}
		granted := make([]int, room)
		race(func(i int) int {
			if i != 0 {
				e.Take(key, 1)
				return 0
			}
			runtime.Gosched()
			if round%3 == 0 {
				e.Reset(key)
			} else {
				r.Cancel()
			}
			clk.Advance(time.Millisecond)
			for k := range granted {
				granted[k] = e.Take(keyOf(next+k), 1).Granted()
			}
			return 0
		})
		for k, n := range granted {
			if left := e.Peek(keyOf(next+k), 0).Remaining(); n+left != burst {
				return errorf("round %d: a new key of burst %d was granted %d and has %d, after another key's tokens came back", round, burst, n, left)
			}
		}
		next += room
	}
	return nil
}
