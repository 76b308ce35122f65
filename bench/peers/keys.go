package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
)

// A kind of keys makes the keys of given numbers, different for different
// numbers. What they point to lies in the order of the numbers.
type kind[K comparable] struct {
	name string
	make func(numbers []uint32) []K
}

// stringKeys are of 16 bytes.
func stringKeys() kind[string] {
	const size = len("client-000000000")
	return kind[string]{"string", func(numbers []uint32) []string {
		all := make([]byte, 0, size*len(numbers))
		for _, n := range numbers {
			all = append(all, "client-000000000"...)
			digits := strconv.AppendUint(nil, uint64(n), 10)
			copy(all[len(all)-len(digits):], digits)
		}
		text, keys := string(all), make([]string, len(numbers))
		for i := range keys {
			keys[i] = text[i*size : (i+1)*size]
		}
		return keys
	}}
}

// uintKeys look random.
func uintKeys() kind[uint64] {
	return kind[uint64]{"uint64", func(numbers []uint32) []uint64 {
		keys := make([]uint64, len(numbers))
		for i, n := range numbers {
			keys[i] = uintKey(n)
		}
		return keys
	}}
}

// uintKey is one-to-one, as the factor is odd.
func uintKey(n uint32) uint64 { return (uint64(n) + 1) * 0x9e3779b97f4a7c15 }

// first returns the numbers below n.
func first(n int) []uint32 {
	numbers := make([]uint32, n)
	for i := range numbers {
		numbers[i] = uint32(i)
	}
	return numbers
}

// A keyset is the keys of one case, prepared before anything is timed. All
// subjects get the same ones in the same orders.
type keyset[K comparable] struct {
	// stored are the keys as the subjects get to keep them.
	stored []K
	// asked has an order for each goroutine. It is read in sequence, as a
	// server finds a key's bytes in the cache because they have just arrived,
	// while a subject has to find its own copy.
	asked map[dist][]order[K]
	// claims are what may be said of them.
	claims map[dist]claim
	// audited is what was found when a walk was watched on its way.
	audited error
}

// A dist is how often each key is asked about.
type dist string

const (
	lone    dist = ""        // the one key that there is
	uniform dist = "uniform" // every key once, shuffled, and again
	zipf    dist = "zipf"    // the k-th most frequent as often as k^-zipfS
)

const zipfS = 1.05

// draws is how many requests a Zipf order has before it repeats.
func draws(n int) int { return min(max(64*n, 1<<14), 1<<20) }

func newKeyset[K comparable](k kind[K], n, goroutines int, dists ...dist) keyset[K] {
	set := keyset[K]{stored: k.make(first(n)), asked: make(map[dist][]order[K]), claims: make(map[dist]claim)}
	var wg sync.WaitGroup
	for _, d := range dists {
		set.claims[d] = d.claim(n)
		orders := make([]order[K], goroutines)
		set.asked[d] = orders
		for g := range orders {
			wg.Go(func() { orders[g] = newOrder(k, d.numbers(n, g)) })
		}
	}
	wg.Wait()
	for _, d := range dists {
		set.audited = errors.Join(set.audited, audit(set, d))
	}
	return set
}

// numbers of keys below n in the order in which goroutine g asks.
func (d dist) numbers(n, g int) []uint32 {
	if d != zipf {
		return shuffled(n, g)
	}
	// Which keys are frequent is the same for all goroutines, so they meet.
	var (
		ranked  = shuffled(n, -1)
		rng     = rand.NewZipf(rand.New(rand.NewPCG(uint64(g), 2)), zipfS, 1, uint64(n-1))
		numbers = make([]uint32, draws(n))
	)
	for i := range numbers {
		numbers[i] = ranked[rng.Uint64()]
	}
	return numbers
}

func shuffled(n, seed int) []uint32 {
	numbers := first(n)
	rand.New(rand.NewPCG(uint64(seed), 1)).Shuffle(n, func(i, j int) {
		numbers[i], numbers[j] = numbers[j], numbers[i]
	})
	return numbers
}

// claim returns what is to be expected of n keys.
func (d dist) claim(n int) claim {
	c := claim{keys: n, dist: d}
	if d != zipf {
		c.distinct, c.least = float64(n), min(n, leastAsks)
		return c
	}
	sum, least := 0.0, 0.0
	all, some := float64(draws(n)), float64(min(draws(n), leastAsks))
	for k := range n {
		sum += math.Pow(float64(k+1), -zipfS)
	}
	for k := range n {
		// That a key of this rank is not drawn.
		never := math.Log1p(-math.Pow(float64(k+1), -zipfS) / sum)
		c.distinct -= math.Expm1(all * never)
		least -= math.Expm1(some * never)
	}
	// Sums of nearly independent yes and no: six deviations.
	c.off = 6 * math.Sqrt(c.distinct)
	c.least = int(least - 6*math.Sqrt(least))
	return c
}

// An order is what a goroutine asks, over and over.
type order[K comparable] struct {
	keys     []K
	numbers  []uint32
	distinct int // counted, not assumed
}

func newOrder[K comparable](k kind[K], numbers []uint32) order[K] {
	o := order[K]{keys: k.make(numbers), numbers: numbers}
	seen := make(map[K]struct{}, len(numbers))
	for _, key := range o.keys {
		seen[key] = struct{}{}
	}
	o.distinct = len(seen)
	return o
}

// count writes a number of keys as the names of cases do.
func count(n int) string {
	switch {
	case n >= 1e6 && n%1e5 == 0:
		return fmt.Sprintf("%gM", float64(n)/1e6)
	case n >= 1e3 && n%1e3 == 0:
		return fmt.Sprintf("%gk", float64(n)/1e3)
	}
	return strconv.Itoa(n)
}
