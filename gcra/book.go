package gcra

import "time"

// A Booking is a place in a bucket's future, in ticks: what [Book] took and
// [GiveBack] needs to return it. The zero Booking took nothing.
type Booking struct {
	Cost int64 // ticks taken
	From int64 // the instant that it was booked from, t0
	Slot int64 // when the tokens are there
	End  int64 // the TAT that it left
}

// Book takes n tokens now or at the first instant, its slot, at which they
// will be there, and returns the booking, whose End is the TAT that follows
// (tat itself if there is nothing to write). It fails only if the cost can
// never pass or the slot lies past the range; the booking is then zero.
//
// The slot follows from the instant from, in ticks: at.Tick, or an earlier one
// that no decision has used since, by which a waiter keeps to the schedule of
// its key although its timer was late.
func Book(l *Limit, tat int64, at Instant, from int64, n int) (Booking, Decision) {
	if uint64(n) > uint64(l.burst) {
		return Booking{}, Decision{l, tat, at.Elapsed, misfit(n)}
	}
	c := int64(n) * l.ticks
	if c == 0 {
		return Booking{0, from, from, tat}, Decision{l, tat, at.Elapsed, int64(n)}
	}
	end := max(tat, from) + c
	slot := max(from, end-l.span)
	if slot > l.stop+1 {
		return Booking{}, Decision{l, tat, at.Elapsed, -int64(n)}
	}
	return Booking{c, from, slot, end}, Decision{l, end, at.Elapsed, int64(n)}
}

// GiveBack returns the TAT after n of a booking's tokens came back, or tat if
// nothing does. What comes back is never what the limit has refilled since and
// never a slot that somebody waits on top of:
//
//   - All of it, if all is given, the slot has not come, and nobody has booked
//     since. A part given before the slot returns nothing.
//   - Else nothing while the bucket is in debt by more than its burst.
//   - Else what was taken less what has been refilled since, at most the
//     tokens that are missing.
//
// The caller sees to it that a booking returns once only, and not across a
// change of limit or a reset.
func GiveBack(l *Limit, tat int64, at Instant, b Booking, n int) int64 {
	if n <= 0 || b.Cost == 0 {
		return tat
	}
	now := at.Tick
	back := b.Cost // more than was taken is all of it
	if int64(n) < b.Cost/l.ticks {
		back = int64(n) * l.ticks
	}
	if now < b.Slot {
		if back == b.Cost && tat == b.End {
			return max(tat-back, now)
		}
		if back < b.Cost {
			return tat
		}
	}
	if tat > now+l.span {
		return tat
	}
	back = min(back, b.Cost-(now-b.From), tat-now)
	return tat - max(back, 0)
}

// Schedule returns the instant that a waiter books from: its key's TAT, if
// that lies behind at by no more than late, the lateness that timers were just
// seen to have; else at. Refills in steps keep no schedule.
func Schedule(l *Limit, tat int64, at Instant, late time.Duration) int64 {
	if late <= 0 || tat >= at.Tick || l.step > 0 || tat < l.tick(at.Elapsed-late) {
		return at.Tick
	}
	return tat
}
