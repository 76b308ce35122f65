// Package brute has slow answers, for tests to hold the weir command against. It is the token bucket as it is taught: a
// balance that grows with time, here as a whole number of math/big, tokens times the nanoseconds of the period. It shares
// nothing with package gcra, knows no TAT and no ticks, sorts everything, and keeps all requests.
//
// Its clock is not rounded. So it holds for limits whose ticks are exact at the resolution of the recorded clock.
package brute

import (
	"math/big"
	"slices"
	"sort"
)

// A Request is one of some trace, in the order of time.
type Request struct {
	At   int64 // nanoseconds
	Key  string
	Cost int64
}

// A Limit is N tokens per Period nanoseconds, at most Burst at once. It begins full.
type Limit struct{ N, Period, Burst int64 }

// An Outcome is what became of a request.
type Outcome struct {
	Refused bool
	Never   bool  // above the burst
	Wait    int64 // until it would have passed, rounded up; 0 if it did
}

// A bucket is the balance of a key at an instant.
type bucket struct {
	have big.Int // tokens · Period
	at   int64
}

type buckets struct {
	limit     Limit
	full      big.Int
	keys      map[string]*bucket
	tmp, cost big.Int
}

func newBuckets(l Limit) *buckets {
	b := &buckets{limit: l, keys: make(map[string]*bucket)}
	b.full.Mul(big.NewInt(l.Burst), big.NewInt(l.Period))
	return b
}

// look refills the request's bucket and asks what it would get.
func (b *buckets) look(r Request) (*bucket, Outcome) {
	k := b.keys[r.Key]
	if k == nil {
		k = &bucket{at: r.At}
		k.have.Set(&b.full)
		b.keys[r.Key] = k
	}
	b.tmp.SetInt64(r.At - k.at)
	k.have.Add(&k.have, b.tmp.Mul(&b.tmp, b.cost.SetInt64(b.limit.N)))
	if k.have.Cmp(&b.full) > 0 {
		k.have.Set(&b.full)
	}
	k.at = r.At
	b.cost.Mul(b.cost.SetInt64(r.Cost), b.tmp.SetInt64(b.limit.Period))
	if r.Cost == 0 || b.cost.Cmp(&k.have) <= 0 {
		return k, Outcome{}
	}
	if r.Cost > b.limit.Burst {
		return k, Outcome{Refused: true, Never: true}
	}
	wait := new(big.Int).Sub(&b.cost, &k.have)
	wait.Add(wait, big.NewInt(b.limit.N-1))
	return k, Outcome{Refused: true, Wait: wait.Quo(wait, big.NewInt(b.limit.N)).Int64()}
}

// take charges the request that was looked at last.
func (b *buckets) take(k *bucket) { k.have.Sub(&k.have, &b.cost) }

// Replay decides the requests under one limit.
func Replay(all []Request, l Limit) []Outcome {
	b := newBuckets(l)
	out := make([]Outcome, len(all))
	for i, r := range all {
		k, o := b.look(r)
		if out[i] = o; !o.Refused {
			b.take(k)
		}
	}
	return out
}

// Joint decides requests under several limits together. Each has its own view of the i-th request. Named is the limit that
// refused it, the first of those that have to be waited for longest, or -1.
func Joint(views [][]Request, limits []Limit) (out []Outcome, named []int) {
	var all []*buckets
	for _, l := range limits {
		all = append(all, newBuckets(l))
	}
	for i := range views[0] {
		who, worst := -1, Outcome{}
		var keys []*bucket
		for j, b := range all {
			k, o := b.look(views[j][i])
			keys = append(keys, k)
			if o.Refused && (who < 0 || o.Never && !worst.Never || o.Never == worst.Never && o.Wait > worst.Wait) {
				who, worst = j, o
			}
		}
		for j, b := range all {
			if who < 0 {
				b.take(keys[j])
			}
		}
		out, named = append(out, worst), append(named, who)
	}
	return out, named
}

// Refused counts the requests that a limit refuses, and the keys that it refuses something.
func Refused(all []Request, l Limit) (requests, keys int64) {
	seen := map[string]bool{}
	for i, o := range Replay(all, l) {
		if o.Refused {
			requests++
			seen[all[i].Key] = true
		}
	}
	return requests, int64(len(seen))
}

// Delays returns how long each request waits that does not cost more than the burst, sorted, if every one of a key stands in
// line. Rounded up.
func Delays(all []Request, l Limit) (delays []int64) {
	type line struct{ free big.Int } // when the last one's tokens are all there, from empty, times N
	keys := map[string]*line{}
	n, p := big.NewInt(l.N), big.NewInt(l.Period)
	depth := new(big.Int).Mul(big.NewInt(l.Burst), p)
	for _, r := range all {
		if r.Cost > l.Burst {
			continue
		}
		k := keys[r.Key]
		now := new(big.Int).Mul(big.NewInt(r.At), n)
		if k == nil {
			k = &line{}
			k.free.Set(now)
			keys[r.Key] = k
		}
		if r.Cost == 0 {
			delays = append(delays, 0)
			continue
		}
		if k.free.Cmp(now) < 0 {
			k.free.Set(now)
		}
		k.free.Add(&k.free, new(big.Int).Mul(big.NewInt(r.Cost), p))
		wait := new(big.Int).Sub(new(big.Int).Sub(&k.free, depth), now)
		if wait.Sign() <= 0 {
			delays = append(delays, 0)
			continue
		}
		wait.Add(wait, big.NewInt(l.N-1))
		delays = append(delays, wait.Quo(wait, n).Int64())
	}
	slices.Sort(delays)
	return delays
}

// Quantile is the smallest of sorted values that at least so many percent do not exceed.
func Quantile(sorted []int64, percent int) int64 {
	return sorted[sort.Search(len(sorted), func(i int) bool { return (i+1)*100 >= percent*len(sorted) })]
}
