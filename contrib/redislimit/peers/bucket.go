package main

import "math/big"

// A bucket is the exact one of rational numbers. It is told what was granted, so
// that one wrong decision is counted once, and not again in all that follow.
type bucket struct {
	perMicro, burst *big.Rat // tokens
	level           *big.Rat // at the instant at; below 0 after too much was granted
	at              int64    // µs
}

func newBucket(l limit, now int64) *bucket {
	burst := big.NewRat(int64(l.burst), 1)
	return &bucket{
		perMicro: new(big.Rat).Mul(big.NewRat(int64(l.n), int64(l.period)), big.NewRat(1000, 1)),
		burst:    burst, level: new(big.Rat).Set(burst), at: now,
	}
}

// advance lets time pass until now.
func (b *bucket) advance(now int64) {
	b.level = b.later(now - b.at)
	b.at = now
}

// later is the level so many microseconds later, or, if that is negative, what it
// would be had so many less passed.
func (b *bucket) later(us int64) *big.Rat {
	level := new(big.Rat).Mul(b.perMicro, big.NewRat(us, 1))
	if level.Add(level, b.level); level.Cmp(b.burst) > 0 {
		return new(big.Rat).Set(b.burst)
	}
	return level
}

func (b *bucket) take(cost int) { b.level = new(big.Rat).Sub(b.level, big.NewRat(int64(cost), 1)) }

// grants reports whether the bucket grants so many tokens us microseconds later.
func (b *bucket) grants(cost int, us int64) bool {
	return b.later(us).Cmp(big.NewRat(int64(cost), 1)) >= 0
}

// whole is how many whole tokens there are us microseconds later.
func (b *bucket) whole(us int64) int {
	level := b.later(us)
	if level.Sign() <= 0 {
		return 0
	}
	return int(new(big.Int).Quo(level.Num(), level.Denom()).Int64())
}

// until is the time, in µs, until there are so many tokens, which there are not.
func (b *bucket) until(tokens *big.Rat) *big.Rat {
	lacks := new(big.Rat).Sub(tokens, b.level)
	return lacks.Quo(lacks, b.perMicro)
}

// up rounds to whole microseconds, upward.
func up(us *big.Rat) int64 {
	n := new(big.Int).Add(us.Num(), new(big.Int).Sub(us.Denom(), big.NewInt(1)))
	return n.Div(n, us.Denom()).Int64()
}
