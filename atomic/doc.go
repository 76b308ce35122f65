// Package atomic limits the rate of one thing: one word, moved by
// compare-and-swap. It is not a replacement for sync/atomic and exports no
// name that sync/atomic exports; where a file needs both, import this one as
// gatomic.
//
//	limiter := gatomic.NewLimiter(gcra.PerSecond(100).Burst(20))
//	if !limiter.Allow() {
//		return errBusy
//	}
//
//	// or, on the client's side, as fast as the limit permits:
//	if err := limiter.Wait(ctx); err != nil {
//		return err
//	}
//
// # What holds
//
//   - Window: no window of length w sees more than burst + ⌊w·rate⌋ tokens,
//     in the instants that the decisions used, whatever the number of
//     goroutines. A waiter's tokens count at its slot.
//   - A refusal, a Peek and a cost of 0 write nothing.
//   - A reading of the clock older than one already used gives no credit.
//   - Slots are given in the order of booking, and nobody polls: a waiter books
//     with one compare-and-swap and sleeps until its slot.
//   - No goroutine, no finalizer, and no timer but the one that a sleeping Wait
//     sets for itself; no allocation on a decision.
//
// # Why one word is enough
//
// The word is the theoretical arrival time of the GCRA, and package gcra turns
// a word, an instant and a cost into the next word. The engine loads the word,
// decides, and swaps. If the swap fails then somebody else was granted tokens
// in between, so a failure always means progress: nobody is held up by a
// goroutine that was descheduled. The decisions are those of a serial order,
// the order of the swaps.
//
// # Waiting keeps to the schedule
//
// Timers wake up to a millisecond late, and a limiter that starts each interval
// at the wake-up delivers a fraction of a fast rate from one sequential loop.
// Wait measures how late its own timers were, and if its key's TAT lies behind
// the clock by no more than that, the next slot follows the schedule. In slots
// the window law holds as it is; in wake-up instants it is burst + rate·(w +
// catch-up), or the timers' real lateness where that is more: a process that
// was stopped wakes all waiters whose slots have passed at once. An idle pause
// is credited nothing.
//
// # What it does not do
//
// It does not queue requests that were refused, share a limit between
// processes, or survive a restart.
package atomic
