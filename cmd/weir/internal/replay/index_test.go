package replay

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"
)

// TestIndex plays random insertions and removals against a map, with hashes that collide too.
func TestIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for round := range 30 {
		x := newIndex()
		if round%2 == 0 {
			x.slots, x.shift = make([]uint64, 4), 32-2 // so that it grows and wraps around
		}
		known := map[string]int32{}
		var free []int32
		for range 3000 {
			key := []byte(fmt.Sprint(r.IntN(400)))
			if r.IntN(3) == 0 {
				key = append(key, strings.Repeat("x", r.IntN(40))...)
			}
			n, ok := known[string(key)]
			if !ok {
				n = noRow
			}
			if got := x.find(x.hash(key), key); got != n {
				t.Fatalf("round %d: %q is in row %d, want %d", round, key, got, n)
			}
			switch {
			case ok && r.IntN(2) == 0:
				if x.key(n) != string(key) {
					t.Fatalf("row %d has %q, want %q", n, x.key(n), key)
				}
				x.remove(n)
				delete(known, string(key))
				free = append(free, n)
			case !ok:
				if len(free) > 0 {
					n, free = free[len(free)-1], free[:len(free)-1]
				} else {
					x.rows = append(x.rows, row{size: unused})
					n = int32(len(x.rows) - 1)
				}
				x.insert(x.hash(key), key, n)
				known[string(key)] = n
			}
			if x.live != len(known) {
				t.Fatalf("%d keys, want %d", x.live, len(known))
			}
		}
		for key, n := range known {
			if x.find(x.hash([]byte(key)), []byte(key)) != n {
				t.Fatalf("round %d: %q is lost", round, key)
			}
		}
	}
	if size := unsafe.Sizeof(row{}); size != 32 {
		t.Errorf("a row has %d bytes: two fill a cache line at 32", size)
	}
}
