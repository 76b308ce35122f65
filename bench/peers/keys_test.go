package main

import (
	"math"
	"slices"
	"testing"
)

func TestKeys(t *testing.T) {
	const n = 1000
	set := newKeyset(stringKeys(), n, 2, uniform)
	testKeyset(t, stringKeys(), set, n)
	testKeyset(t, uintKeys(), newKeyset(uintKeys(), n, 2, uniform), n)
	for i, key := range []int{0, 1, 42, 999} {
		if got, want := set.stored[key], []string{"client-000000000", "client-000000001", "client-000000042", "client-000000999"}[i]; got != want {
			t.Errorf("key %d is %q, want %q", key, got, want)
		}
	}
}

func testKeyset[K comparable](t *testing.T, k kind[K], set keyset[K], n int) {
	stored := make(map[K]int)
	for i, key := range set.stored {
		stored[key] = i
	}
	if len(stored) != n {
		t.Errorf("%s: %d different keys stored, want %d", k.name, len(stored), n)
	}
	same := 0
	orders := set.asked[uniform]
	for g, o := range orders {
		if o.distinct != n || len(o.keys) != n {
			t.Errorf("%s: goroutine %d asks about %d keys in %d, want %d", k.name, g, o.distinct, len(o.keys), n)
		}
		for i, key := range o.keys {
			if number, ok := stored[key]; !ok || number != int(o.numbers[i]) {
				t.Fatalf("%s: goroutine %d asks about %v, which is no stored key of number %d", k.name, g, key, o.numbers[i])
			}
			if key == set.stored[i] || g > 0 && key == orders[0].keys[i] {
				same++
			}
		}
	}
	if same > n/10 {
		t.Errorf("%s: %d keys stand where they stand in another order", k.name, same)
	}
}

// A Zipf order has as many different keys as its law says, and the most
// frequent one as often; which ones those are is the same for all goroutines.
func TestZipf(t *testing.T) {
	const n = 2000
	claim := zipf.claim(n)
	frequent := make([]uint32, 2)
	for g := range frequent {
		o := newOrder(uintKeys(), zipf.numbers(n, g))
		if off := math.Abs(float64(o.distinct) - claim.distinct); off > claim.off || len(o.keys) != draws(n) {
			t.Errorf("goroutine %d: %d different keys in %d, want %.0f±%.0f", g, o.distinct, len(o.keys), claim.distinct, claim.off)
		}
		times := make([]int, n)
		for _, number := range o.numbers {
			times[number]++
		}
		most := slices.Max(times)
		frequent[g] = uint32(slices.Index(times, most))
		sum := 0.0
		for k := range n {
			sum += math.Pow(float64(k+1), -zipfS)
		}
		if share := float64(most) / float64(draws(n)); math.Abs(share*sum-1) > 0.02 {
			t.Errorf("goroutine %d: %.4f of the requests are about one key, want %.4f", g, share, 1/sum)
		}
	}
	if frequent[0] != frequent[1] {
		t.Errorf("the most frequent keys are %v, want the same", frequent)
	}
	if again := zipf.numbers(n, 1); !slices.Equal(again, zipf.numbers(n, 1)) {
		t.Error("another order when made again")
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{1: "1", 512: "512", 1000: "1k", 1024: "1024", 1_000_000: "1M", 1_500_000: "1.5M", 8_000_000: "8M"} {
		if got := count(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
