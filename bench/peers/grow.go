package main

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/weir-go/weir/shard"
)

// inserting are the subjects of the section growth. The floor stands for the
// pauses that the machine makes.
func inserting() []subject[uint64] {
	return []subject[uint64]{
		{lib: "none", open: openSpin, yields: true},
		{lib: ours, open: openWeir[uint64]},
		{lib: "weir-1shard", open: func(l limit) instance[uint64] {
			return openShards[uint64](l, shard.WithShards(1))
		}},
		{lib: "xsync", open: openXsync[uint64]},
	}
}

func memoryTrials(cfg config) (trials []trial, err error) {
	keys := sync.OnceValue(func() []uint64 { return uintKeys(2 * cfg.keys) })
	for _, s := range keyed[uint64]() {
		if s.yields {
			continue // it remembers nothing
		}
		if err := probe(s, uintKeys(probeKeys)); err != nil {
			return nil, err
		}
		trials = append(trials, trial{"type=uint64", s.lib, func() ([]point, error) {
			return memory(s, keys())
		}})
	}
	return trials, nil
}

// memory returns the bytes of heap that a key costs after the first half of
// the keys has come, and the least and most from then to twice as many: tables
// grow by doubling, so one number of keys can be lucky.
func memory(s subject[uint64], keys []uint64) ([]point, error) {
	empty := live()
	i := s.open(keysGranted())
	defer i.stop()
	const steps = 6 // to a doubling
	half, done := len(keys)/2, 0
	first, least, most := 0.0, math.Inf(1), 0.0
	for step := range steps + 1 {
		n := int(float64(half) * math.Exp2(float64(step)/steps))
		for _, key := range keys[done:n] {
			if !i.allow(key) {
				return nil, fmt.Errorf("%s: a new key was refused", s.lib)
			}
		}
		done = n
		if i.len != nil && i.len() != n {
			return nil, fmt.Errorf("%s: remembers %d keys of %d", s.lib, i.len(), n)
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
		{group: "type=uint64 keys=" + from, value: first},
		{group: fmt.Sprintf("type=uint64 keys=%s..%s least", from, to), value: least},
		{group: fmt.Sprintf("type=uint64 keys=%s..%s most", from, to), value: most},
	}, nil
}

// live returns the bytes of heap that are reachable.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func growthTrials(cfg config) (trials []trial, err error) {
	keys := sync.OnceValue(func() []uint64 { return uintKeys(cfg.grow) })
	for _, s := range inserting() {
		if err := probe(s, uintKeys(probeKeys)); err != nil {
			return nil, err
		}
		trials = append(trials, trial{"type=uint64", s.lib, func() ([]point, error) {
			longest, err := grow(s, keys())
			group := fmt.Sprintf("type=uint64 keys=0..%s goroutines=2", count(cfg.grow))
			return []point{{group: group, value: longest.Seconds() * 1e3}}, err
		}})
	}
	return trials, nil
}

// openSpin takes about as long as an insert and inserts nothing.
func openSpin(limit) instance[uint64] {
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
	i := s.open(keysGranted())
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
	if got := taken[0] + taken[1]; got != len(keys) {
		return 0, fmt.Errorf("%s: granted %d of %d new keys", s.lib, got, len(keys))
	}
	if i.len != nil && i.len() != len(keys) {
		return 0, fmt.Errorf("%s: remembers %d keys of %d", s.lib, i.len(), len(keys))
	}
	return max(worst[0], worst[1]), nil
}
