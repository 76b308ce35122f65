package main

import (
	"fmt"
	"runtime"
)

// allocsPlan counts the allocations of a decision about a key that is there.
func allocsPlan(config) (plan, error) {
	var p plan
	keys := stringKeys().make(first(probeKeys))
	for _, mix := range []mix{granted, refused} {
		group := fmt.Sprintf("type=string case=%s", mix)
		for _, s := range stringKeyed() {
			if s.yields {
				continue
			}
			p.add(trial{group: group, lib: s.lib, rounds: 1, run: func() ([]point, error) {
				n, err := allocations(s, keys, mix)
				return []point{{group: group, value: n}}, err
			}})
		}
	}
	return p, nil
}

// allocations returns how many there are a request: the least of some tries,
// as the rest of the program may allocate too.
func allocations[K comparable](s subject[K], keys []K, m mix) (float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	l := keysGranted()
	if m == refused {
		l = allRefused()
	}
	i := s.open(l, len(keys))
	defer i.stop()
	if _, err := fill(s, &i, keys); err != nil {
		return 0, err
	}
	const rounds = 10
	var (
		ok    = make([]bool, len(keys))
		least = ^uint64(0)
	)
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			i.ask(keys, ok)
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.Mallocs-before.Mallocs)
	}
	for n, got := range ok {
		if want := m == granted; got != want {
			return 0, fmt.Errorf("%s: key %v: granted is %v, want %v", s.lib, keys[n], got, want)
		}
	}
	return float64(least) / float64(rounds*len(keys)), nil
}
