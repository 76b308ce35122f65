//go:build !race

// One goroutine and much arithmetic: the detector would find nothing, slowly.

package gcra_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// TestSettleMillion plays a million short histories of one key that is taken
// from, booked ahead, cancelled, settled to less and to more, and checks what
// was really executed: tokens at their slots keep to law L1, and together with
// what was charged into debt they keep to it with a burst as much larger.
func TestSettleMillion(t *testing.T) {
	histories := 1_000_000
	if testing.Short() {
		histories = 100_000
	}
	rng := rand.New(rand.NewPCG(51, 52))
	var q settled
	for i := range histories {
		q.play(rng)
		if err := q.check(); err != nil {
			t.Fatalf("history %d: %v", i, err)
		}
	}
	t.Logf("%d histories: %d bookings, %d given back in whole or part, %d settled upwards", histories, q.booked, q.backs, q.ups)
	if min(q.booked, q.backs, q.ups) < histories/2 {
		t.Error("too little happened for a proof")
	}
}

// settled is one key's history; the slices are used again by the next.
type settled struct {
	limit              gcra.Limit
	k, burst, debt     int64
	uses               []use // at slots, kept in ticks
	debits             []use
	held               []gcra.Booking
	which              []int // held: index in uses
	booked, backs, ups int
}

func (q *settled) play(rng *rand.Rand) {
	q.k, q.burst, q.debt = 1+rng.Int64N(6), 1+rng.Int64N(4), rng.Int64N(5)
	q.limit = gcra.Every(time.Duration(q.k)).Burst(int(q.burst)) // a tick is 1 ns
	q.uses, q.debits, q.held, q.which = q.uses[:0], q.debits[:0], q.held[:0], q.which[:0]
	l := &q.limit
	tat, now := gcra.Fresh(l, gcra.At(l, 0)), time.Duration(0)
	for range 5 + rng.IntN(10) {
		if rng.IntN(3) > 0 {
			now += time.Duration(rng.Int64N(2 * q.k))
		}
		at, n := gcra.At(l, now), 1+rng.IntN(int(q.burst))
		switch op := rng.IntN(9); {
		case op < 1:
			next, d := gcra.Take(l, tat, at, n)
			if tat = next; d.OK() {
				q.uses = append(q.uses, use{at.Tick, int64(n) * q.k})
			}
		case op < 5 && tat < at.Tick+4*q.k*q.burst:
			from := at.Tick
			if len(q.uses) > 0 { // the key is present
				from = gcra.Schedule(l, tat, at, time.Duration(rng.Int64N(2*q.k)))
			}
			b, _ := gcra.Book(l, tat, at, from, n)
			tat = b.End
			q.held, q.which = append(q.held, b), append(q.which, len(q.uses))
			q.uses = append(q.uses, use{b.Slot, b.Cost})
			q.booked++
		case len(q.held) > 0:
			i := len(q.held) - 1
			if rng.IntN(2) == 0 {
				i = rng.IntN(len(q.held))
			}
			b, u := q.held[i], q.which[i]
			q.held, q.which = slices.Delete(q.held, i, i+1), slices.Delete(q.which, i, i+1)
			switch took := int(b.Cost / q.k); {
			case rng.IntN(3) == 0: // it used more
				next, d := gcra.Debit(l, tat, at, n, int(q.debt))
				q.debits = append(q.debits, use{at.Tick, next - max(tat, at.Tick)})
				if d.Granted() == 0 {
					q.debits = q.debits[:len(q.debits)-1]
				} else {
					tat = next
					q.ups++
				}
			case rng.IntN(2) == 0: // it used nothing
				n = took
				fallthrough
			default: // or less
				next := gcra.GiveBack(l, tat, at, b, n)
				q.uses[u].kept -= tat - next
				if next < tat {
					q.backs++
				}
				tat = next
			}
		}
	}
}

func (q *settled) check() error {
	bySlot := func(a, b use) int { return cmp.Compare(a.slot, b.slot) }
	slices.SortFunc(q.uses, bySlot)
	if err := within(q.uses, q.burst*q.k); err != nil {
		return fmt.Errorf("%v: %w", &q.limit, err)
	}
	if len(q.debits) == 0 {
		return nil
	}
	q.uses = append(q.uses, q.debits...)
	slices.SortFunc(q.uses, bySlot)
	if err := within(q.uses, (q.burst+q.debt)*q.k); err != nil {
		return fmt.Errorf("%v with debt %d: %w", &q.limit, q.debt, err)
	}
	return nil
}

// within checks every window over uses in the order of their slots: level is
// what the windows that end here lack, at most, since each tick refills one.
func within(uses []use, span int64) error {
	level, last := int64(0), int64(0)
	for _, u := range uses {
		level = max(level-(u.slot-last), 0) + u.kept
		if last = u.slot; level > span {
			return fmt.Errorf("%d ticks more than the refill in a window that ends at %d, the burst is %d: %+v", level, u.slot, span, uses)
		}
	}
	return nil
}
