package ring

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// Many goroutines look keys up while one swaps rings and others make new ones from the same ring. Every answer is that
// of one of the rings, whole; and the test goes on until every reader has seen every ring, so that the race happened.
func TestSwapWhileLookingUp(t *testing.T) {
	const readers, makers, swapsAtLeast = 8, 2, 1000
	full := of(t, addresses(10)...)
	rings := []*Ring{full, without(t, full, full.nodes[2]), without(t, full, full.nodes[2], full.nodes[5])}

	keys := make([]string, 256)
	want := make([]map[string]string, len(rings)) // by ring and key
	for i := range keys {
		keys[i] = fmt.Sprintf("user-%d", i)
	}
	for i, r := range rings {
		want[i] = map[string]string{}
		for _, key := range keys {
			want[i][key] = r.Owner(key)
		}
	}

	var current atomic.Pointer[Ring]
	current.Store(full)
	var done atomic.Bool
	var missing atomic.Int64 // pairs of a reader and a ring that it has not seen
	missing.Store(readers * int64(len(rings)))

	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			seen := make([]bool, len(rings))
			for i := 0; !done.Load(); i++ {
				key := keys[i%len(keys)]
				r := current.Load()
				got := r.Owner(key)
				which := 0
				for rings[which] != r {
					which++
				}
				if got != want[which][key] {
					t.Errorf("ring %d: owner of %s is %s, want %s", which, key, got, want[which][key])
					return
				}
				if !seen[which] {
					seen[which] = true
					missing.Add(-1)
				}
				if i%64 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	for range makers {
		wg.Go(func() {
			for !done.Load() {
				less, err := full.Without(full.nodes[2])
				if err != nil || *less.owner != *rings[1].owner {
					t.Errorf("a ring made meanwhile differs: %v", err)
					return
				}
			}
		})
	}
	for i := 0; (i < swapsAtLeast || missing.Load() > 0) && !t.Failed(); i++ {
		current.Store(rings[i%len(rings)])
		runtime.Gosched()
	}
	done.Store(true)
	wg.Wait()
}
