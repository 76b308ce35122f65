package invariants

import (
	"math"
	"math/bits"
	"time"

	"github.com/weir-go/weir/gcra"
)

// Charge checks the step of a decision that granted tokens at an instant, where
// the bucket may be debt tokens below empty.
func Charge(l *gcra.Limit, at gcra.Instant, tat, next int64, granted, debt int) {
	token, burst := ticks(l)
	if granted < 0 {
		Broken("a grant is not negative", "%d tokens", granted)
	}
	hi, cost := bits.Mul64(uint64(granted), uint64(token))
	if hi != 0 || cost > math.MaxInt64 {
		Broken("what is granted fits the range", "%d tokens of %d ticks", granted, token)
	}
	if cost == 0 {
		if next != tat {
			Broken("who takes nothing writes nothing", "%d becomes %d", tat, next)
		}
		return
	}
	if want := max(tat, at.Tick) + int64(cost); next != want {
		Broken("a grant moves the TAT by its cost, from now or later", "%d becomes %d at %d for %d ticks, want %d", tat, next, at.Tick, cost, want)
	}
	room := int64(math.MaxInt64)
	if hi, below := bits.Mul64(uint64(debt), uint64(token)); hi == 0 && below < 1<<60 {
		room = burst + int64(below)
	} else if burst <= 1<<60 {
		room = burst + 1<<60
	}
	if next-at.Tick > room {
		Broken("a TAT is at most a burst and the debt ahead of now", "%d at %d: %d ticks ahead, burst %d, debt %d tokens", next, at.Tick, next-at.Tick, burst, debt)
	}
	inRange(next, burst)
}

func inRange(tat, burst int64) {
	if tat < 1 || tat > math.MaxInt64-burst {
		Broken("a TAT leaves a burst to the end of the range", "%d with a burst of %d ticks", tat, burst)
	}
}

// Book checks the step of a booking of n tokens.
func Book(l *gcra.Limit, at gcra.Instant, tat int64, b gcra.Booking, n int) {
	token, burst := ticks(l)
	if token == 0 || n == 0 {
		if b.End != tat || b.Cost != 0 {
			Broken("who takes nothing writes nothing", "%d becomes %d", tat, b.End)
		}
		return
	}
	if b.Cost != int64(n)*token || b.Cost > burst {
		Broken("a booking costs its tokens, at most a burst", "%d ticks for %d tokens of %d, burst %d", b.Cost, n, token, burst)
	}
	if b.From > at.Tick || b.From < at.Tick && b.From != tat {
		Broken("a booking is made from now, or from where its key's schedule is", "from %d at %d over %d", b.From, at.Tick, tat)
	}
	if want := max(tat, b.From) + b.Cost; b.End != want {
		Broken("a booking comes behind all that were made before", "it ends at %d over %d, want %d", b.End, tat, want)
	}
	if b.Slot < b.From || b.Slot > b.End || b.Slot > b.From && b.End-b.Slot != burst || b.End-b.Slot > burst {
		Broken("a slot is when the tokens are there, and not before it was booked", "from %d, slot %d, end %d, burst %d", b.From, b.Slot, b.End, burst)
	}
	inRange(b.End, burst)
}

// GiveBack checks the step that returns n tokens of a booking.
func GiveBack(l *gcra.Limit, at gcra.Instant, tat, next int64, b gcra.Booking, n int) {
	if next == tat {
		return
	}
	token, burst := ticks(l)
	back := tat - next
	switch {
	case next > tat:
		Broken("a give-back charges nothing", "%d becomes %d", tat, next)
	case next < at.Tick:
		Broken("a give-back never stores below now", "%d becomes %d at %d", tat, next, at.Tick)
	case n <= 0 || back > b.Cost || back > b.Cost-1 && int64(n) < b.Cost/max(token, 1):
		Broken("no more comes back than was taken", "%d ticks for %d tokens of a booking of %d ticks", back, n, b.Cost)
	case int64(n) < b.Cost/max(token, 1) && back > int64(n)*token:
		Broken("no more comes back than is given", "%d ticks for %d tokens of %d", back, n, token)
	}
	if at.Tick < b.Slot && tat == b.End && back == b.Cost {
		return // the last booking, whole
	}
	if tat > at.Tick+burst {
		Broken("no slot comes back that somebody waits on top of", "%d becomes %d at %d, burst %d, booked from %d to %d", tat, next, at.Tick, burst, b.From, b.End)
	}
	if at.Tick-b.From > 0 && back > b.Cost-(at.Tick-b.From) {
		Broken("what was refilled since does not come back", "%d ticks of %d, %d after the booking", back, b.Cost, at.Tick-b.From)
	}
}

// Forget checks that a key may be dropped at an instant: its bucket is full,
// and so is that of keys without a cell.
func Forget(l *gcra.Limit, at gcra.Instant, tat, fresh int64) {
	if tat > at.Tick || gcra.Peek(l, tat, at, 0).ResetAfter() != 0 {
		Broken("only a key whose bucket is full is forgotten", "TAT %d at %d", tat, at.Tick)
	}
	if fresh > at.Tick {
		Broken("nothing is forgotten before keys without a cell are full", "fresh %d at %d", fresh, at.Tick)
	}
}

// Take checks that another key may have the slot, from now on and for good.
func Take(tat, mark, now, fresh int64) {
	if tat >= now && tat != 0 || fresh >= now && tat != 0 || mark >= now && tat != 0 {
		Broken("a slot is taken over when all that it ever held has passed", "TAT %d, mark %d, fresh %d, now %d", tat, mark, fresh, now)
	}
}

// Reset checks that a key is better off after a reset, and never below now.
func Reset(at gcra.Instant, tat, next, fresh int64) {
	if next >= tat || next < at.Tick || next < fresh {
		Broken("a reset makes a key one that was never seen", "%d becomes %d at %d, fresh %d", tat, next, at.Tick, fresh)
	}
}

// Convert checks that a change of limit gave a key no token, and took none but
// what the new burst does not hold.
func Convert(tat int64, from *gcra.Limit, at gcra.Instant, next int64, to *gcra.Limit, toAt gcra.Instant) {
	had, has := gcra.Peek(from, tat, at, 0).Remaining(), gcra.Peek(to, next, toAt, 0).Remaining()
	if has > had && *to != gcra.Unlimited() || has < min(had, to.Capacity())-1 {
		Broken("a change of limit keeps a key's tokens, as far as the burst holds them", "%d of %v become %d of %v", had, *from, has, *to)
	}
	if next < toAt.Tick {
		Broken("a change of limit stores no credit", "TAT %d at %d", next, toAt.Tick)
	}
	_, burst := ticks(to)
	inRange(next, burst)
}

// Publish checks a generation before anybody can find it: its own instant has
// not been read, and that of the one before has.
func Publish(since, before int64) {
	if since != 0 {
		Broken("a generation's instant is read after its publication", "S is %v already", time.Duration(since-1))
	}
	if before == 0 {
		Broken("a generation's instant is read before the next one is published", "it has none")
	}
}

// Instants plus one are what generations hold: MinInt64 is that of the last
// Duration, so that only the instants themselves are compared.

// Dated checks a decision's reading against the instant, plus one, at which the
// next generation began, 0 if that is not known.
func Dated(elapsed time.Duration, next int64) {
	if next != 0 && elapsed > time.Duration(next-1) {
		Broken("a decision is dated before the change that ends its limit", "it is of %v, the change of %v", elapsed, time.Duration(next-1))
	}
}

// Follow checks a generation's instant, plus one, against that of the one before.
func Follow(since, before int64) {
	if since-1 < before-1 || before-1 < 0 {
		Broken("a generation begins after the one before", "S is %v after %v", time.Duration(since-1), time.Duration(before-1))
	}
}

// Settled checks a generation's instant, plus one, its tick, and the TAT of keys
// without a cell.
func Settled(since, tick, fresh int64) {
	if since-1 < 0 {
		Broken("a generation's instant does not change", "S + 1 is %d", since)
	}
	if fresh < tick || tick < 1 {
		Broken("fresh is not before its generation", "fresh %d, S %d", fresh, tick)
	}
}

// Replace checks what a cell is replaced by, where its life was over, its
// generation was the old-th, and it owed until kept, in the ticks of next.
func Replace(alive bool, old, current int, kept, next int64) {
	switch {
	case alive:
		Broken("only a cell whose life is over is replaced", "it was alive")
	case old > current:
		Broken("a cell's generation is not after the one in force", "%d after %d", old, current)
	case next < kept:
		Broken("no debt is lost with a cell", "TAT %d after %d", next, kept)
	}
}

// Owned checks a slot whose claim is about to end: it is claimed, and its hash
// is that of the key which claimed it.
func Owned(claimed bool, hash, key uint64) {
	if !claimed || hash != key || key == 0 {
		Broken("a claimed slot ends with its key's hash stored", "claimed: %v, hash %x for %x", claimed, hash, key)
	}
}
