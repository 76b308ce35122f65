package main

import (
	"hash/maphash"
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// A limit is n tokens per period and a burst, for each library to put in its
// own words.
type limit struct {
	n     int
	per   time.Duration
	burst int
}

// In the granted cases the burst is never used up, so that nothing is refused
// at any speed. Of many keys each must still owe time when the last one comes,
// or a library that forgets idle keys would be timed making them again. All
// fit the range of every library: one adds burst times interval to a Unix time
// in nanoseconds, which leaves 238 years.
func hotGranted() limit  { return limit{1000, time.Second, math.MaxInt32} }
func keysGranted() limit { return limit{1, 5 * time.Minute, 1 << 24} }
func allRefused() limit  { return limit{1, time.Hour, 1} }

// interval is the time a token takes.
func (l limit) interval() time.Duration { return l.per / time.Duration(l.n) }

// fillTime is the window of libraries that refill in windows, not
// continuously: the time in which an empty bucket fills.
func (l limit) fillTime() time.Duration { return l.interval() * time.Duration(l.burst) }

// A subject is one library, set up to limit keys.
type subject[K comparable] struct {
	lib string
	// open makes an instance that will be asked about so many keys.
	open func(l limit, keys int) instance[K]
	// yields marks what grants everything: the bare harness, and a library
	// that has no way to refuse.
	yields bool
	// bare marks the harness with nothing in it.
	bare bool
	// variant marks what differs from another subject only in the clock or in
	// how it is asked, and so weighs the same.
	variant bool
	// sized marks what needs that number and has its memory from the start.
	sized bool
}

// spare is how many of n new keys may find no room: of a table of a fixed size,
// one in a million. It says so, and it grants fewer, not more.
func (s subject[K]) spare(n int) int {
	if s.sized && !s.yields {
		return 1 + n/1_000_000
	}
	return 0
}

// An instance is a subject at work. What it does not need is nil.
type instance[K comparable] struct {
	allow func(K) bool
	many  func([]K, []bool) // allow for several keys, in place of it where timed
	len   func() int        // how many keys it remembers, where the library can tell
	drain func(K)           // takes all whole tokens of a key, where the library can
	close func()
}

func (i *instance[K]) stop() {
	if i.close != nil {
		i.close()
	}
}

// ours is the lib that ratios are to, in every group.
const ours = "weir"

// single are the limiters of one thing: they do not look at the key.
func single() []subject[string] {
	of := func(lib string, open func(limit) func() bool) subject[string] {
		return subject[string]{lib: lib, open: func(l limit, _ int) instance[string] {
			allow := open(l)
			return instance[string]{allow: func(string) bool { return allow() }}
		}}
	}
	subjects := []subject[string]{
		{lib: "none", open: openNone[string], yields: true, bare: true},
		{lib: "cas", yields: true, open: openOneCAS},
		dated(subject[string]{yields: true, open: openOneCAS}),
		of(ours, openOne()),
	}
	subjects = append(subjects, clockedOne()...)
	return append(subjects, of("xtime", openXtime), subject[string]{lib: "uber", open: openUber, yields: true})
}

// keyed are those for keys of any type; the floor is for one.
func keyed[K comparable](cas func(limit, int) instance[K]) []subject[K] {
	subjects := []subject[K]{
		{lib: "none", open: openNone[K], yields: true, bare: true},
		{lib: "cas", open: cas, yields: true, sized: true},
		dated(subject[K]{open: cas, yields: true, sized: true}),
	}
	subjects = append(subjects, withClocks(subject[K]{lib: ours}, openWeir[K])...)
	subjects = append(subjects, tables[K]()...)
	return append(subjects,
		subject[K]{lib: "xtime", open: openSyncMap[K]},
		subject[K]{lib: "xtime-mutex", open: openMutexMap[K]},
		subject[K]{lib: "xsync", open: openXsync[K]})
}

func uintKeyed() []subject[uint64] { return keyed(openUintCAS) }

// stringKeyed adds those that know only strings.
func stringKeyed() []subject[string] {
	return append(keyed(openStringCAS),
		subject[string]{lib: "sethvargo", open: openMemorystore},
		subject[string]{lib: "throttled", open: openThrottled},
		subject[string]{lib: "ulule", open: openUlule},
		subject[string]{lib: "tollbooth", open: openTollbooth})
}

// openNone is what walking the keys and calling a function costs.
func openNone[K comparable](limit, int) instance[K] {
	return instance[K]{allow: func(K) bool { return true }}
}

// add is the floor of whatever counts: a bare compare-and-swap. It is tried
// again only if another goroutine came between.
func add(word *atomic.Int64) bool {
	for {
		if v := word.Load(); word.CompareAndSwap(v, v+1) {
			return true
		}
	}
}

func openOneCAS(limit, int) instance[string] {
	word := new(atomic.Int64)
	return instance[string]{allow: func(string) bool { return add(word) }}
}

// dated is the floor of whatever reads the system's clock first, which waits for
// all loads before it: so one key's memory is not asked for while another's is
// still on its way, as it is by swaps alone.
func dated[K comparable](cas subject[K]) subject[K] {
	open := cas.open
	cas.lib, cas.variant = "cas-clock", true
	cas.open = func(l limit, keys int) instance[K] {
		i, start := open(l, keys), time.Now()
		swap := i.allow
		i.allow = func(key K) bool { return time.Since(start) >= 0 && swap(key) }
		return i
	}
	return cas
}

// casBytes is what the floor's array has for each key: as much as a Table.
const casBytes = 24

func casWords(keys int) []atomic.Int64 { return make([]atomic.Int64, keys*casBytes/8) }

// openUintCAS swaps a random element of an array: the key says which, as these
// keys look random.
func openUintCAS(_ limit, keys int) instance[uint64] {
	words := casWords(keys)
	return instance[uint64]{allow: func(key uint64) bool {
		at, _ := bits.Mul64(key, uint64(len(words)))
		return add(&words[at])
	}}
}

// openStringCAS has to hash the key first.
func openStringCAS(_ limit, keys int) instance[string] {
	words, seed := casWords(keys), maphash.MakeSeed()
	return instance[string]{allow: func(key string) bool {
		at, _ := bits.Mul64(maphash.String(seed, key), uint64(len(words)))
		return add(&words[at])
	}}
}
