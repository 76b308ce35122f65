package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"time"
)

// A count is of what is wrong, and of that what is wrong by more than a
// microsecond, the resolution of Redis' clock: what would be wrong too had the
// clock shown a microsecond more or less.
type count struct{ any, far int }

func (c *count) add(far bool) {
	c.any++
	if far {
		c.far++
	}
}

// A tally is what one library did wrong under one limit.
type tally struct {
	lib              string
	limit            limit
	requests, grants int
	// granted and refused are wrong decisions. Of right ones, left are wrong
	// Remaining after grants, rest after refusals, and retry a RetryAfter that
	// is too early, by whatever it is, or more than a microsecond late.
	granted, refused, left, rest, retry count
}

func (t *tally) counts() []count { return []count{t.granted, t.refused, t.left, t.rest, t.retry} }

// judge compares an answer with the exact bucket, and has that do as the library
// did.
func (t *tally) judge(b *bucket, cost int, a answer) {
	t.requests++
	right := b.grants(cost, 0)
	lacks := new(big.Rat)
	if !right {
		lacks = b.until(big.NewRat(int64(cost), 1))
	}
	remaining := &t.rest
	if a.granted {
		t.grants++
		if !right {
			t.granted.add(!b.grants(cost, 1))
		}
		b.take(cost)
		remaining = &t.left
	} else if right {
		t.refused.add(b.grants(cost, -1))
	}
	if a.granted != right {
		return
	}
	if a.remaining != b.whole(0) {
		remaining.add(a.remaining < b.whole(-1) || a.remaining > b.whole(1))
	}
	if a.granted {
		return
	}
	late := new(big.Rat).Sub(big.NewRat(int64(a.retry), int64(time.Microsecond)), lacks)
	micro := big.NewRat(1, 1)
	if tooLate := late.Cmp(micro) > 0; late.Sign() < 0 || tooLate {
		t.retry.add(tooLate || late.Cmp(micro.Neg(micro)) < 0)
	}
}

// judged are the limits: what people set, rates that no whole number of
// nanoseconds is the interval of, and one of bytes.
func judged() []limit {
	return []limit{
		{1, time.Second, 1},
		{3, time.Second, 3},
		{7, time.Minute, 5},
		{99, time.Second, 99},
		{1000, time.Second, 100},
		{1, time.Hour, 10},
		{300_000_000, time.Second, 3_000_000},
	}
}

// A sequence makes requests at instants where a decision can go wrong: several at
// once, those at which a token is just there, and a microsecond before, besides
// any. It knows them by a bucket of its own, which grants what it has.
type sequence struct {
	rng   *rand.Rand
	limit limit
	of    *bucket
}

// next returns the next request.
func (s *sequence) next() (us int64, cost int) {
	cost = 1
	switch s.rng.IntN(6) {
	case 0:
		cost = 1 + s.rng.IntN(s.limit.burst)
	case 1:
		cost = s.limit.burst
	case 2:
		cost = max(s.of.whole(0), 1) // what is there
	}
	interval := int64(s.limit.period) / int64(s.limit.n) / 1000
	var pause int64
	switch s.rng.IntN(12) {
	case 0, 1:
		pause = s.rng.Int64N(2*interval + 2)
	case 2:
		pause = s.rng.Int64N(2*interval*int64(s.limit.burst) + 2)
	case 3:
		pause = s.rng.Int64N(interval*int64(s.limit.burst) + 2)
	case 4:
		pause = 1
	case 5, 6:
		pause = s.due(s.of.whole(0) + 1)
	case 7, 8:
		pause = s.due(cost)
	case 9:
		pause = max(s.due(cost)-1, 0)
	case 10: // in the last second before it is full
		pause = max(s.due(s.limit.burst)-1-s.rng.Int64N(1_000_000), 0)
	}
	us = s.of.at + pause
	if s.of.advance(us); s.of.grants(cost, 0) {
		s.of.take(cost)
	}
	return us, cost
}

// due is the time until there are so many tokens, in whole µs.
func (s *sequence) due(tokens int) int64 {
	if tokens = min(tokens, s.limit.burst); s.of.grants(tokens, 0) {
		return 0
	}
	return up(s.of.until(big.NewRat(int64(tokens), 1)))
}

// compareAll lets all libraries answer the same sequences, each on a key of its
// own, in one Redis whose clock is set.
func compareAll(ctx context.Context, c *setClock, start int64, libs []library, limits []limit, sequences, requests int, seed uint64) ([]tally, error) {
	var all []tally
	now := start
	for _, l := range limits {
		tallies := make([]tally, len(libs))
		takers := make([]taker, len(libs))
		for i, lib := range libs {
			tallies[i].lib, tallies[i].limit = lib.name, l
			var err error
			if takers[i], err = lib.open(c.client, l); err != nil {
				return nil, fmt.Errorf("%s: %v: %w", lib.name, l, err)
			}
		}
		for n := range sequences {
			s := &sequence{rand.New(rand.NewPCG(seed, uint64(n))), l, newBucket(l, now)}
			buckets := make([]*bucket, len(libs))
			for i := range buckets {
				buckets[i] = newBucket(l, now)
			}
			key := fmt.Sprintf("%v/%d", l, n)
			for range requests {
				us, cost := s.next()
				now = us
				if err := c.set(ctx, us); err != nil {
					return nil, err
				}
				for i, take := range takers {
					a, err := take(ctx, key, cost)
					if err != nil {
						return nil, fmt.Errorf("%s: %v: %w", libs[i].name, l, err)
					}
					buckets[i].advance(us)
					tallies[i].judge(buckets[i], cost, a)
				}
			}
		}
		all = append(all, tallies...)
	}
	return all, nil
}

// errWrong is of a weir that is not exact.
var errWrong = errors.New("weir decided otherwise than the exact bucket")

// exact returns an error if weir did anything wrong, be it by a nanosecond.
func exact(tallies []tally) error {
	for _, t := range tallies {
		for _, c := range t.counts() {
			if t.lib == weir && c.any > 0 {
				return fmt.Errorf("%w: under %v, in %d requests: %v", errWrong, t.limit, t.requests, t.counts())
			}
		}
	}
	return nil
}
