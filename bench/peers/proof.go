package main

import (
	"fmt"
	"sync"
	"time"
)

// ask asks about every key once, the way that is timed.
func (i *instance[K]) ask(keys []K, ok []bool) {
	if i.many != nil {
		i.many(keys, ok)
		return
	}
	for n, key := range keys {
		ok[n] = i.allow(key)
	}
}

// probeKeys is how many keys a subject is probed with.
const probeKeys = 100

// probe proves that a subject limits, and limits each key by itself: a limiter
// that grants all, or forgets which key it was asked about, would be fast.
func probe[K comparable](s subject[K], keys []K) error {
	const burst = 3
	if s.yields {
		return nil
	}
	i := s.open(limit{1, time.Hour, burst}, len(keys))
	defer i.stop()
	ok := make([]bool, len(keys))
	for round := range burst + 2 {
		i.ask(keys, ok)
		for n, got := range ok {
			if want := round < burst; got != want {
				return fmt.Errorf("%s: request %d on key %v of %d: granted is %v, want %v with a burst of %d",
					s.lib, round+1, keys[n], len(keys), got, want, burst)
			}
		}
	}
	return remembers(s, &i, len(keys))
}

// probes probes all that a section is about.
func probes[K comparable](subjects []subject[K], k kind[K], n int) error {
	keys := k.make(first(n))
	for _, s := range subjects {
		if err := probe(s, keys); err != nil {
			return err
		}
	}
	return nil
}

// The section law asks about a few keys far more often than they refill, from
// all cores.
const lawKeys = 8

func lawLimit() limit { return limit{1000, time.Second, 50} }

// l1 compares what one key was granted, from when it was new, with the law: no
// more than the burst and what the rate gives in that time.
func l1(l limit, granted int, elapsed time.Duration) error {
	if most := l.burst + int(elapsed/l.interval()); granted > most {
		return fmt.Errorf("L1: %d granted in %v, want at most %d", granted, elapsed, most)
	}
	if granted < l.burst {
		return fmt.Errorf("L1: %d granted in %v, want at least the burst of %d", granted, elapsed, l.burst)
	}
	return nil
}

// law asks for that long and returns the share of what L1 permits that was
// granted.
func law[K comparable](s subject[K], keys []K, goroutines int, d time.Duration) (share float64, err error) {
	var (
		l      = lawLimit()
		begin  = time.Now()
		i      = s.open(l, len(keys))
		counts = make([][]int, goroutines)
		wg     sync.WaitGroup
	)
	defer i.stop()
	for g := range counts {
		wg.Go(func() {
			counted, ok := make([]int, len(keys)), make([]bool, len(keys))
			// The second condition is for a d that is over at once.
			for round := 0; time.Since(begin) < d || round < 20*l.burst; round++ {
				i.ask(keys, ok)
				for n, ok := range ok {
					if ok {
						counted[n]++
					}
				}
			}
			counts[g] = counted
		})
	}
	wg.Wait()
	elapsed, all := time.Since(begin), 0
	for n, key := range keys {
		granted := 0
		for _, counted := range counts {
			granted += counted[n]
		}
		if err := l1(l, granted, elapsed); err != nil {
			return 0, fmt.Errorf("%s: key %v: %w", s.lib, key, err)
		}
		all += granted
	}
	most := float64(l.burst) + float64(elapsed)/float64(l.interval())
	return float64(all) / (most * float64(len(keys))), nil
}

func lawPlan(cfg config) (plan, error) {
	var p plan
	keys := stringKeys().make(first(lawKeys))
	group := fmt.Sprintf("keys=%d type=string cores=%d", lawKeys, cfg.mostCores())
	for _, s := range stringKeyed() {
		if s.yields {
			continue
		}
		p.add(trial{group: group, lib: s.lib, rounds: 1, run: func() ([]point, error) {
			share, err := law(s, keys, cfg.mostCores(), cfg.time)
			return []point{{group: group, value: 100 * share}}, err
		}})
	}
	return p, nil
}
