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

type giveBack func(l *gcra.Limit, tat int64, at gcra.Instant, b gcra.Booking, n int) int64

// A use is what a window of law L1 counts: ticks kept at a slot.
type use struct{ slot, kept int64 }

// aQueue plays a random history of one key that is taken from, waited for and
// given back to, and checks the window law over the slots: between any two,
// both included, lies no more than the burst and the refill, in ticks.
func aQueue(rng *rand.Rand, back giveBack, scheduled bool) error {
	k, burst := 1+rng.Int64N(6), 1+rng.Int64N(4)
	l := per(1, time.Duration(k), burst).limit() // a tick is 1 ns, a token k ticks
	tat := gcra.Fresh(&l, gcra.At(&l, 0))
	type held struct {
		gcra.Booking
		use int
	}
	type event struct {
		at            int64
		what          string
		n             int
		before, after int64
		gcra.Booking
	}
	var uses []use
	var bookings []held
	var story []event
	now := time.Duration(0)
	for range 4 + rng.IntN(10) {
		if rng.IntN(3) > 0 {
			now += time.Duration(rng.Int64N(2 * k))
		}
		at, n := gcra.At(&l, now), 1+rng.IntN(int(burst))
		before := tat
		switch op := rng.IntN(8); {
		case op < 2:
			var d gcra.Decision
			if tat, d = gcra.Take(&l, tat, at, n); d.OK() {
				uses = append(uses, use{at.Tick, int64(n) * k})
			}
			story = append(story, event{at.Tick, "take", n, before, tat, gcra.Booking{}})
		case op < 5 && tat < at.Tick+4*k*burst:
			from := at.Tick
			if len(uses) > 0 { // the key is present
				from = gcra.Schedule(&l, tat, at, time.Duration(rng.Int64N(2*k)))
			}
			b, _ := gcra.Book(&l, tat, at, from, n)
			tat = b.End
			if !scheduled {
				b.From = at.Tick
			}
			bookings = append(bookings, held{b, len(uses)})
			uses = append(uses, use{b.Slot, b.Cost})
			story = append(story, event{at.Tick, "book", n, before, tat, b})
		case len(bookings) > 0:
			i := rng.IntN(len(bookings))
			if rng.IntN(2) == 0 {
				i = len(bookings) - 1
			}
			b := bookings[i]
			bookings = slices.Delete(bookings, i, i+1)
			tat = back(&l, tat, at, b.Booking, n)
			uses[b.use].kept -= before - tat
			story = append(story, event{at.Tick, "give back", n, before, tat, b.Booking})
		}
	}
	slices.SortFunc(uses, func(a, b use) int { return cmp.Compare(a.slot, b.slot) })
	for i, first := range uses {
		sum := int64(0)
		for _, u := range uses[i:] {
			if sum += u.kept; sum > burst*k+u.slot-first.slot {
				return fmt.Errorf("%v: %d ticks in the window %d to %d: %+v", &l, sum, first.slot, u.slot, story)
			}
		}
	}
	return nil
}

// TestGiveBackWindow checks L1 under rule 15, and that the forms which seem to
// do as well do not.
func TestGiveBackWindow(t *testing.T) {
	histories := 100_000
	if testing.Short() {
		histories = 20_000
	}
	rng := rand.New(rand.NewPCG(11, 12))
	for range histories {
		if err := aQueue(rng, gcra.GiveBack, true); err != nil {
			t.Fatal(err)
		}
	}

	ticks := func(l *gcra.Limit, b gcra.Booking, n int) int64 {
		one, _ := gcra.Book(l, 0, gcra.Instant{Tick: 1}, 1, 1)
		return min(int64(n)*one.Cost, b.Cost)
	}
	twins := []struct {
		name      string
		back      giveBack
		scheduled bool
	}{
		{"min(taken, not drained)", func(l *gcra.Limit, tat int64, at gcra.Instant, b gcra.Booking, n int) int64 {
			return tat - max(min(ticks(l, b, n), tat-at.Tick), 0)
		}, true},
		{"a part before the slot", func(l *gcra.Limit, tat int64, at gcra.Instant, b gcra.Booking, n int) int64 {
			if at.Tick < b.Slot && tat == b.End {
				return tat - ticks(l, b, n)
			}
			return gcra.GiveBack(l, tat, at, b, n)
		}, true},
		{"what has refilled since", func(l *gcra.Limit, tat int64, at gcra.Instant, b gcra.Booking, n int) int64 {
			b.From = at.Tick
			return gcra.GiveBack(l, tat, at, b, n)
		}, true},
		{"from under who waits on top", func(l *gcra.Limit, tat int64, at gcra.Instant, b gcra.Booking, n int) int64 {
			b.End = tat
			return gcra.GiveBack(l, tat, at, b, n)
		}, true},
		{"now instead of v", gcra.GiveBack, false},
	}
	for _, twin := range twins {
		caught := error(nil)
		for i := 0; i < histories && caught == nil; i++ {
			caught = aQueue(rng, twin.back, twin.scheduled)
		}
		if caught == nil {
			t.Errorf("%q passed %d histories", twin.name, histories)
		}
		t.Logf("%s: %v", twin.name, caught)
	}
}

// TestGiveBackSlotTwice is rule 15's first counterexample: with a burst of 1,
// slots 4 and 14 are booked and the first is cancelled. Slot 14 has an owner.
func TestGiveBackSlotTwice(t *testing.T) {
	l := gcra.Every(10) // 10 ticks a token, 1 a nanosecond: tick t is at t − 1 ns
	at := gcra.At(&l, 0)
	first, _ := gcra.Book(&l, 4, at, at.Tick, 1)
	second, _ := gcra.Book(&l, first.End, at, at.Tick, 1)
	if first.Slot != 4 || second.Slot != 14 {
		t.Fatalf("slots %d and %d, want 4 and 14", first.Slot, second.Slot)
	}
	tat := gcra.GiveBack(&l, second.End, at, first, 1)
	if third, _ := gcra.Book(&l, tat, at, at.Tick, 1); third.Slot != 24 {
		t.Errorf("the next slot is %d, want 24", third.Slot)
	}
}

// TestGiveBackPartEarly is rule 15's second counterexample: a burst of 2 and 4
// ticks a token. If a part could come back before its slot, three tokens would
// be granted in the window 19 to 21.
func TestGiveBackPartEarly(t *testing.T) {
	l := gcra.Every(4).Burst(2)
	at11, at17 := gcra.At(&l, 10), gcra.At(&l, 16)
	reserve, _ := gcra.Book(&l, 11, at11, 11, 2)
	wait, _ := gcra.Book(&l, reserve.End, at11, 11, 2)
	if wait.Slot != 19 || wait.End != 27 {
		t.Fatalf("the wait got slot %d, end %d, want 19, 27", wait.Slot, wait.End)
	}
	tat := gcra.GiveBack(&l, wait.End, at11, wait, 1)
	if tat != 27 {
		t.Errorf("a part given back early left TAT %d, want 27", tat)
	}
	tat = gcra.GiveBack(&l, tat, at17, reserve, 1)
	if next, _ := gcra.Book(&l, tat, at17, 17, 2); next.Slot < 27 {
		t.Errorf("the next wait for 2 got slot %d", next.Slot)
	}
}

// TestGiveBackRows lists what comes back; 10 ticks a token, a burst of 3, all
// three booked at tick 101 from a full bucket unless the row says otherwise.
func TestGiveBackRows(t *testing.T) {
	l := gcra.Every(10).Burst(3)
	for _, r := range []struct {
		queue []int // booked at tick 101, one after the other
		which int
		n     int
		at    int64 // tick
		back  int64 // ticks
		why   string
	}{
		{[]int{3}, 0, 3, 101, 30, "all at once"},
		{[]int{3}, 0, 1, 101, 10, "a part of a booking whose slot has come"},
		{[]int{3}, 0, 0, 101, 0, "nothing given"},
		{[]int{3}, 0, -1, 101, 0, "never a charge"},
		{[]int{3}, 0, 9, 101, 30, "more than was taken is what was taken"},
		{[]int{3}, 0, 3, 111, 20, "one has been refilled since"},
		{[]int{3}, 0, 1, 111, 10, "one given, two not refilled"},
		{[]int{3}, 0, 1, 126, 5, "half a token is not refilled yet"},
		{[]int{3}, 0, 3, 131, 0, "all has been refilled"},
		{[]int{3}, 0, 3, 500, 0, "long ago"},
		{[]int{3, 1}, 1, 1, 101, 10, "the last booking before its slot, whole"},
		{[]int{3, 1}, 1, 1, 110, 10, "the same just before its slot"},
		{[]int{3, 1}, 1, 1, 111, 0, "at its slot ten ticks have been refilled"},
		{[]int{3, 3}, 1, 2, 101, 0, "a part before the slot"},
		{[]int{3, 3}, 1, 3, 101, 30, "whole, before the slot"},
		{[]int{3, 3}, 1, 3, 130, 30, "whole, the tick before the slot"},
		{[]int{3, 3}, 1, 1, 131, 0, "as long as it waited is refilled"},
		{[]int{3, 1}, 0, 3, 101, 0, "somebody waits on top"},
		{[]int{3, 1}, 0, 3, 111, 20, "who waited has his slot: what was not refilled"},
		{[]int{3, 1, 1}, 1, 1, 101, 0, "a slot in the middle of the queue stays empty"},
		{[]int{1, 1}, 0, 1, 101, 10, "on top, but nobody waits"},
		{[]int{1, 1}, 0, 1, 106, 5, "on top, later"},
	} {
		at := gcra.At(&l, 100)
		tat := int64(1)
		var bs []gcra.Booking
		for _, n := range r.queue {
			b, _ := gcra.Book(&l, tat, at, at.Tick, n)
			bs, tat = append(bs, b), b.End
		}
		got := gcra.GiveBack(&l, tat, gcra.At(&l, time.Duration(r.at-1)), bs[r.which], r.n)
		if tat-got != r.back {
			t.Errorf("booked %d, at %d gave %d of the booking %d back: %d ticks came, want %d (%s)",
				r.queue, r.at, r.n, r.which, tat-got, r.back, r.why)
		}
	}
}
