// Package gcra is the generic cell rate algorithm as pure integer arithmetic:
// no clock, no locks, no storage.
//
// A bucket holds up to burst tokens and gains them at a steady rate. Its whole
// state is one int64, the theoretical arrival time (TAT): the instant at which
// it will be full. A request of cost n at instant now passes if
//
//	max(TAT, now) + n·T − burst·T <= now
//
// and then TAT becomes max(TAT, now) + n·T, where T is the time that one token
// takes. Otherwise nothing is written. That is the token bucket, decision by
// decision, without a balance to refill and without a carried remainder.
//
//	limit := gcra.PerSecond(100).Burst(20)
//	at := gcra.At(&limit, elapsed)
//	next, d := gcra.Take(&limit, tat, at, 1)
//	if d.OK() {
//		tat = next
//	} else {
//		retry(d.RetryAfter())
//	}
//
// Most programs use package atomic (one key) or shard (many keys) instead;
// every engine decides with the functions here and with nothing else.
//
// # Exact rates
//
// The TAT counts ticks, and a token is a whole number k of ticks, so n tokens
// are n·k exactly, for every rate. A clock reading becomes ticks by one
// function, [At]: ⌊elapsed·R⌋ + 1 with R = rate·k ticks a nanosecond. So the
// clock is rounded, once a reading, and the interval never: no rate drifts.
//
//   - If the rate is q whole tokens in some whole number of nanoseconds with
//     q <= 32, then R = q and nothing is rounded at all.
//   - Otherwise k is the largest count with R <= 32, chosen so that clocks of
//     microseconds, or else of milliseconds, are read exactly where possible.
//     R has 128 fraction bits: two multiplications and no division.
//
// # Invariants
//
//   - A decision made of a TAT and an instant equals the one of an exact
//     rational bucket over the instants as [At] read them.
//   - A refusal, a cost of 0 and a [Peek] return the TAT that they were given:
//     equal values mean that there is nothing to write.
//   - A TAT never exceeds MaxInt64 − burst·k, so no sum here overflows.
//   - Instants start at tick 1, so that an engine may use the word 0 for "no
//     such key".
//
// # Range
//
// Instants stop at the end of the range, E = MaxInt64 − 2·burst·k − 2^60
// ticks: nothing refills after it and nothing wraps. With the largest burst
// that is 5.7 years after the engine was made at 32 ticks a nanosecond (2.8 at
// 64 tokens a nanosecond, the highest rate), and 182 years at one; a small
// burst adds up to two fifths. A limit of rate 0 reads a clock that stands at
// E, so that its allowance never returns.
//
// # What it does not do
//
// It does not read a clock, remember a key, sleep, or lock. It uses no floats.
package gcra
