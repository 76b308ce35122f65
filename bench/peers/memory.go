package main

import (
	"fmt"
	"math"
	"runtime"
	"sync"
)

// memoryPlan weighs keys of both types: uint64, and strings whose bytes belong
// to the caller and are not counted.
func memoryPlan(cfg config) (plan, error) {
	var p plan
	if err := memoryTrials(cfg, &p, uintKeys(), uintKeyed()); err != nil {
		return p, err
	}
	return p, memoryTrials(cfg, &p, stringKeys(), stringKeyed())
}

func memoryTrials[K comparable](cfg config, p *plan, k kind[K], subjects []subject[K]) error {
	if err := probes(subjects, k, probeKeys); err != nil {
		return err
	}
	p.block()
	keys := sync.OnceValue(func() []K { return k.make(first(2 * cfg.remember)) })
	for _, s := range subjects {
		// The clock and the batch weigh nothing.
		if s.bare || s.variant {
			continue
		}
		group := "type=" + k.name
		p.add(trial{group: group, lib: s.lib, rounds: 1, run: func() ([]point, error) {
			points, err := weigh(s, keys())
			for i := range points {
				points[i].group = group + " " + points[i].group
			}
			return points, err
		}})
	}
	return nil
}

// weigh returns the bytes of heap that a key costs after the first half of
// the keys has come, and the least and most from then to twice as many: tables
// grow by doubling, so one number of keys can be lucky. What has a size is
// made anew for every number.
func weigh[K comparable](s subject[K], keys []K) ([]point, error) {
	const steps = 6 // to a doubling
	var (
		empty              = live()
		half, done, lost   = len(keys) / 2, 0, 0
		first, least, most = 0.0, math.Inf(1), 0.0
		i                  instance[K]
	)
	defer func() { i.stop() }()
	for step := range steps + 1 {
		n := int(float64(half) * math.Exp2(float64(step)/steps))
		if step == 0 || s.sized {
			i.stop()
			i, done, lost = s.open(keysGranted(), n), 0, 0
		}
		for _, key := range keys[done:n] {
			if !i.allow(key) {
				lost++
			}
		}
		done = n
		if lost > s.spare(n) {
			return nil, fmt.Errorf("%s: %d of %d new keys were refused", s.lib, lost, n)
		}
		if err := remembers(s, &i, n-lost); err != nil {
			return nil, err
		}
		each := float64(live()-empty) / float64(n)
		if step == 0 {
			first = each
		}
		least, most = min(least, each), max(most, each)
	}
	runtime.KeepAlive(keys)
	from, to := count(half), count(2*half)
	return []point{
		{group: "keys=" + from, value: first},
		{group: fmt.Sprintf("keys=%s..%s least", from, to), value: least},
		{group: fmt.Sprintf("keys=%s..%s most", from, to), value: most},
	}, nil
}

// live returns the bytes of heap that are reachable. What has a finalizer or
// lies in a pool is gone after the second collection only.
func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
