package stress

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/gcra"
)

// Checks of law L1 that look at every window of a history: what was granted, at
// the instants that the decisions used, and a booking at its slot.

// overfull looks at every window from one grant to another, one by one. The
// limit's tokens have to come at whole units of the clock, so that a slot is
// where the clock shows it.
func overfull(limit gcra.Limit, grants []slot) error {
	slices.SortFunc(grants, func(a, b slot) int { return cmp.Compare(a.at, b.at) })
	for i := range grants {
		n := 0
		for _, g := range grants[i:] {
			n += g.n
			if w := g.at - grants[i].at; n > limit.Within(w) {
				return errorf("%v: the window from %v to %v has %d tokens, at most %d are there", limit, grants[i].at, g.at, n, limit.Within(w))
			}
		}
	}
	return nil
}

// windowed returns limits whose tokens come at whole units.
func (s Subject) windowed() []gcra.Limit {
	u := s.unit()
	return []gcra.Limit{
		gcra.Every(7 * u).Burst(3),
		gcra.Every(2 * u),
		gcra.Every(3 * u).Burst(10),
		gcra.Per(6, 30*u).Burst(10).InSteps(10 * u),
		gcra.Per(3, 12*u).Burst(5).Start(0).InSteps(4 * u),
	}
}

// booked lets goroutines race by every kind of decision at instants that they
// share, and settles some of what they booked at others.
func booked(s Subject) error {
	for i, limit := range s.windowed() {
		for seed := range uint64(s.rounds(60)) {
			if err := bookedOnce(s, limit, seeded(uint64(i)<<32+seed)); err != nil {
				return errorf("history %d: %w", seed, err)
			}
		}
	}
	return nil
}

func bookedOnce(s Subject, limit gcra.Limit, rng *rand.Rand) error {
	type held struct {
		Reservation
		n  int
		at time.Duration
	}
	clk := s.clock()
	e := s.New(limit, clk)
	_, reserves := e.(Reserver)
	var grants []slot
	var queue []held
	span := limit.FillTime() / time.Duration(limit.Capacity()) * 3
	for round := range 15 {
		clk.Advance(pause(rng, span+s.unit()))
		now, seed := clk.now(), rng.Uint64()
		var got [racers][]slot
		var queued [racers][]held
		race(func(i int) int {
			rng := seeded(seed + uint64(i))
			for range 3 {
				n := 1 + rng.IntN(limit.Capacity())
				switch op := rng.IntN(6); {
				case op == 0:
					if e.AllowN(1, n) {
						got[i] = append(got[i], slot{now, n})
					}
				case op == 1:
					got[i] = append(got[i], slot{now, e.TakeUpTo(1, n).Granted()})
				case op == 2 && reserves && round%4 > 0:
					if r := e.(Reserver).Reserve(1, n); r.OK() {
						queued[i] = append(queued[i], held{r, n, now + r.Delay()})
					}
				case op == 3 && len(queued[i]) > 0:
					last := &queued[i][len(queued[i])-1]
					if last.n > 0 {
						last.n = rng.IntN(last.n)
						last.Settle(last.n)
					}
				default:
					if d := e.Take(1, n); d.OK() {
						got[i] = append(got[i], slot{now, n})
					}
				}
			}
			return 0
		})
		for i := range racers {
			grants = append(grants, got[i]...)
			queue = append(queue, queued[i]...)
		}
	}
	for _, h := range queue {
		grants = append(grants, slot{h.at, h.n})
	}
	return overfull(limit, grants)
}

// slept lets goroutines wait and take, with contexts that end early among them.
// In a bubble a waiter wakes at its slot.
func slept(t *testing.T, s Subject) error {
	for _, limit := range []gcra.Limit{
		gcra.PerSecond(1).Burst(3), gcra.PerSecond(4), gcra.Per(2, 4*time.Second).Burst(4).InSteps(2 * time.Second),
	} {
		for seed := range uint64(min(s.rounds(60), 60)) {
			var err error
			synctest.Test(t, func(*testing.T) {
				b := newBubble(s, limit)
				err = sleepers(b, limit, seed)
				b.end()
				b.waiters.Wait()
			})
			if err != nil {
				return errorf("history %d: %w", seed, err)
			}
		}
	}
	return nil
}

func sleepers(b *bubble, limit gcra.Limit, seed uint64) error {
	const quarter = 250 * time.Millisecond
	var got [racers][]slot
	for i := range racers {
		rng := seeded(seed*racers + uint64(i))
		b.waiters.Go(func() {
			for range 12 {
				time.Sleep(time.Duration(rng.IntN(8)) * quarter)
				n := 1 + rng.IntN(limit.Capacity())
				ok := false
				switch rng.IntN(4) {
				case 0:
					ok = b.Take(1, n).OK()
				case 1:
					ok = b.wait(b.ctx, n) == nil
				case 2:
					ctx, cancel := context.WithTimeout(b.ctx, time.Duration(rng.IntN(20))*quarter)
					ok = b.wait(ctx, n) == nil
					cancel()
				case 3:
					ctx, cancel := context.WithCancel(b.ctx)
					stop := time.AfterFunc(time.Duration(rng.IntN(20))*quarter, cancel)
					ok = b.wait(ctx, n) == nil
					stop.Stop()
					cancel()
				}
				if ok {
					got[i] = append(got[i], slot{b.elapsed(), n})
				}
			}
		})
	}
	b.waiters.Wait()
	return overfull(limit, slices.Concat(got[:]...))
}
