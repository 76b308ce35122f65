package gcra

import (
	"math"
	"math/bits"
)

// Convert returns the TAT under another limit, of a bucket whose TAT under the
// old one is tat: the tokens stay, the fraction of one included, and at most
// the new burst. Debt stays too, in tokens. The change happened at since, read
// by either limit. The result is rounded up, by less than a tick, and at most
// the last TAT of the range.
//
// The zero Limit, which has no ticks, remembers debt in whole tokens, so that
// nobody is rid of it by being shut out for a while. Unlimited pays all debt.
func Convert(tat int64, from *Limit, since Instant, to *Limit, toSince Instant) int64 {
	// What is missing from the new bucket: (B' − B)·k' + (tat − S)·k'/k.
	var hi, lo uint64
	k, was := to.perToken(), from.perToken()
	if behind := tat - since.Tick; behind > 0 && was > 0 {
		hi, lo = scaleUp(uint64(behind), k, was)
	}
	more, less := to.burst-from.burst, uint64(0)
	if more < 0 {
		more, less = 0, uint64(from.burst-to.burst)
	}
	h, l := bits.Mul64(uint64(more), k)
	lo, carry := bits.Add64(lo, l, 0)
	hi, _ = bits.Add64(hi, h, carry)
	h, l = bits.Mul64(less, k)
	lo, borrow := bits.Sub64(lo, l, 0)
	hi, borrow = bits.Sub64(hi, h, borrow)
	most := math.MaxInt64 - to.span - toSince.Tick
	switch {
	case borrow != 0: // more is there than the new burst holds
		return toSince.Tick
	case hi != 0 || lo > uint64(most):
		return toSince.Tick + most
	}
	return toSince.Tick + int64(lo)
}

// perToken returns the ticks in a token, for balances only: none of Unlimited,
// and one of the zero Limit.
func (l *Limit) perToken() uint64 {
	if l.period == 0 {
		return 1
	}
	return uint64(l.ticks)
}

// scaleUp returns ⌈a·b/d⌉ in 128 bits; a and b are below 2^63.
func scaleUp(a, b, d uint64) (hi, lo uint64) {
	hi, lo = bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, d-1, 0)
	hi += carry
	hi, rest := hi/d, hi%d
	lo, _ = bits.Div64(rest, lo, d)
	return hi, lo
}
