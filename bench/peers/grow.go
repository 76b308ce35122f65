package main

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/weir-go/weir/shard"
)

// inserting are the subjects of the section growth. The floor stands for the
// pauses that the machine makes.
func inserting() []subject[uint64] {
	subjects := []subject[uint64]{
		{lib: "none", open: openSpin, yields: true},
		{lib: ours, open: openWeir[uint64]()},
		{lib: "weir-1shard", open: openWeir[uint64](shard.WithShards(1))},
	}
	for _, s := range uintKeyed() {
		if slices.Contains([]string{"table", "xsync", "xtime"}, s.lib) {
			subjects = append(subjects, s)
		}
	}
	return subjects
}

func growthPlan(cfg config) (plan, error) {
	var p plan
	keys := sync.OnceValue(func() []uint64 { return uintKeys().make(first(cfg.grow)) })
	subjects := inserting()
	if err := probes(subjects, uintKeys(), probeKeys); err != nil {
		return p, err
	}
	group := fmt.Sprintf("keys=0..%s type=uint64 goroutines=2", count(cfg.grow))
	for _, s := range subjects {
		t := trial{group: group, lib: s.lib, run: func() ([]point, error) {
			longest, err := grow(s, keys())
			return []point{{group: group, value: longest.Seconds() * 1e3}}, err
		}}
		if s.lib == "xtime" {
			t.rounds = few // it takes as long as all others
		}
		p.add(t.aside())
	}
	return p, nil
}

// openSpin takes about as long as an insert and inserts nothing.
func openSpin(limit, int) instance[uint64] {
	const rounds = 400
	return instance[uint64]{allow: func(key uint64) bool {
		for range rounds {
			key ^= key << 13
			key ^= key >> 7
			key ^= key << 17
		}
		return key != 0 // as xorshift never is
	}}
}

// grow lets two goroutines insert half of the keys each and returns the
// longest time that one insert took.
func grow(s subject[uint64], keys []uint64) (time.Duration, error) {
	runtime.GC()
	i := s.open(keysGranted(), len(keys))
	defer i.stop()
	var (
		begin = time.Now()
		worst [2]time.Duration
		taken [2]int
		wg    sync.WaitGroup
	)
	for g := range worst {
		wg.Go(func() {
			half := keys[g*len(keys)/2 : (g+1)*len(keys)/2]
			last, longest, granted := time.Since(begin), time.Duration(0), 0
			for _, key := range half {
				if i.allow(key) {
					granted++
				}
				now := time.Since(begin)
				if now-last > longest {
					longest = now - last
				}
				last = now
			}
			worst[g], taken[g] = longest, granted
		})
	}
	wg.Wait()
	got := taken[0] + taken[1]
	if got < len(keys)-s.spare(len(keys)) {
		return 0, fmt.Errorf("%s: granted %d of %d new keys", s.lib, got, len(keys))
	}
	return max(worst[0], worst[1]), remembers(s, &i, got)
}
