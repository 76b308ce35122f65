package main

import (
	"fmt"
	"runtime"
	"time"
)

// gcPlan times full collections with all keys present. The floor is an empty
// heap.
func gcPlan(cfg config) (plan, error) {
	var p plan
	group := fmt.Sprintf("keys=%s type=uint64", count(cfg.collect))
	for _, s := range uintKeyed() {
		if s.lib == "cas" || s.variant {
			continue
		}
		// What has pointers to every key takes a hundred times as long, to fill
		// and to collect.
		runs, rounds := 1, 0
		if !s.bare && !s.sized {
			runs, rounds = cfg.runs, 1
			p.notes = append(p.notes, s.lib+": filled once; the runs are collections one after another.")
		}
		p.add(trial{group: group, lib: s.lib, rounds: rounds, run: func() ([]point, error) {
			times, err := collections(s, cfg.collect, runs)
			var points []point
			for _, d := range times {
				points = append(points, point{group: group, value: d.Seconds() * 1e3})
			}
			return points, err
		}})
	}
	return p, nil
}

// collections fills a subject with n keys, which live nowhere else, and times
// collections of the whole heap.
func collections(s subject[uint64], n, runs int) (times []time.Duration, err error) {
	i := s.open(keysGranted(), n)
	defer i.stop()
	if !s.bare {
		lost := 0
		for k := range n {
			if !i.allow(uintKey(uint32(k))) {
				lost++
			}
		}
		if lost > s.spare(n) {
			return nil, fmt.Errorf("%s: %d of %d new keys were refused", s.lib, lost, n)
		}
		if err := remembers(s, &i, n-lost); err != nil {
			return nil, err
		}
	}
	// The first collections also clear what was there before.
	runtime.GC()
	runtime.GC()
	for range runs {
		begin := time.Now()
		runtime.GC()
		times = append(times, time.Since(begin))
	}
	runtime.KeepAlive(&i)
	return times, nil
}
