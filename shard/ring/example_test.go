package ring_test

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/weir-go/weir/shard/ring"
)

// The current ring is held in an atomic.Pointer: any number of goroutines load it while the one that watches the nodes
// stores another.
func Example() {
	full, err := ring.New([]string{"10.0.0.1:7000", "10.0.0.2:7000", "10.0.0.3:7000"})
	if err != nil {
		fmt.Println(err)
		return
	}
	var current atomic.Pointer[ring.Ring]
	current.Store(full)

	// Called with the whole list of the dead whenever it changes.
	onChange := func(dead ...string) {
		next, err := full.Without(dead...)
		if err != nil {
			fmt.Println("keep the ring as it is:", err)
			return
		}
		current.Store(next)
	}
	show := func(when string) {
		r := current.Load()
		fmt.Println(when, r.Owner("alice"), r.Owner("bob"), r.Owner("carol"))
	}

	show("all live:")
	onChange(full.Owner("alice"))
	show("one died:")
	onChange()
	show("it is back:")
	onChange(full.Nodes()...)
	// Output:
	// all live: 10.0.0.3:7000 10.0.0.2:7000 10.0.0.2:7000
	// one died: 10.0.0.1:7000 10.0.0.2:7000 10.0.0.2:7000
	// it is back: 10.0.0.3:7000 10.0.0.2:7000 10.0.0.2:7000
	// keep the ring as it is: ring: no live node: all 3 are out
}

func ExampleRing_OwnerHash() {
	r, err := ring.New([]string{"a", "b", "c"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for account := uint64(1000); account < 1004; account++ {
		fmt.Println(account, r.OwnerHash(account))
	}
	// Output:
	// 1000 b
	// 1001 b
	// 1002 a
	// 1003 b
}

func ExampleRing_Without() {
	full, err := ring.New([]string{"a", "b"})
	if err != nil {
		fmt.Println(err)
		return
	}
	less, _ := full.Without("b")
	fmt.Println(full.Nodes(), less.Nodes())

	_, err = less.Without("a")
	fmt.Println(errors.Is(err, ring.ErrNoNodes), err)
	_, err = full.Without("z")
	fmt.Println(errors.Is(err, ring.ErrUnknownNode), err)
	// Output:
	// [a b] [a]
	// true ring: no live node: all 2 are out
	// true ring: unknown node: "z"
}
