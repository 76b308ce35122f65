package stress

import "time"

// Checks of law L4 under races.

// oldReturn lets others take what was refilled, between a settlement's reading
// of the clock and its return: it must not come back a second time.
func oldReturn(s Subject) error {
	clk := s.clock()
	e := s.New(limitOf("1/s burst 2"), clk)
	r := e.(Reserver).Reserve(1, 2)
	clk.Advance(time.Second)
	clk.next(func() {
		clk.Advance(time.Second)
		e.Take(1, 1)
	})
	r.Cancel()
	if got := e.Peek(1, 0).Remaining(); got != 1 {
		return errorf("%d tokens are there beside one that was taken in this instant, want 1 of a burst of 2", got)
	}
	return nil
}

// returnRace reserves from several goroutines what is there, and gives it back
// in the same instant: nothing is lost and nothing comes twice.
func returnRace(s Subject) error {
	const burst = 20
	limit, clk, rng := limitOf("1000/s burst 20"), s.clock(), seeded(5)
	e := s.New(limit, clk)
	for round := range s.rounds(1500) {
		clk.Advance(pause(rng, 30*time.Millisecond))
		there := e.Peek(1, 0).Remaining()
		kept, _ := sum(race(func(i int) (kept int) {
			mine := there / racers // so nobody waits, whoever comes first
			for mine > 0 {
				r := e.(Reserver).Reserve(1, mine)
				actual := (round + i) % (mine + 1)
				r.Settle(actual)
				kept += actual
				if mine -= actual; actual == 0 {
					break
				}
			}
			return kept
		}))
		if got := e.Peek(1, 0).Remaining(); got != there-kept {
			return errorf("round %d: %d tokens of %d are left after %d were kept", round, got, there, kept)
		}
		if round%8 == 0 {
			e.TakeUpTo(1, burst/2)
		}
	}
	return nil
}

// onceRace lets goroutines cancel and settle the same reservation at once: what
// comes back comes once.
func onceRace(s Subject) error {
	clk := s.clock()
	e := s.New(limitOf("1000/s burst 1000"), clk)
	for round := range s.rounds(3000) {
		e.TakeUpTo(1, 500) // so that more is missing than was reserved
		const n = 10
		r := e.(Reserver).Reserve(1, n)
		there := e.Peek(1, 0).Remaining()
		race(func(i int) int {
			if i == round%racers && round%3 == 0 {
				r.Settle(n - 1)
			} else {
				r.Cancel()
			}
			return 0
		})
		back := e.Peek(1, 0).Remaining() - there
		if back != n && (back != 1 || round%3 > 0) {
			return errorf("round %d: %d goroutines gave the same %d tokens back, and %d came", round, racers, n, back)
		}
		clk.Advance(time.Second)
	}
	return nil
}
