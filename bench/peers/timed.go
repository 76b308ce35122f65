package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// batch is how many requests are made between two looks at the clock.
const batch = 4096

// drive lets every walk ask for that long, each on a goroutine of its own, and
// on until all have been through their keys. It returns the time per request
// of all together.
func drive[K comparable](walks []*walk[K], allow func(K) bool, d time.Duration) (ns float64) {
	var (
		begin time.Time
		gate  = make(chan struct{})
		wg    sync.WaitGroup
		under atomic.Int64 // walks that have keys left to ask about
		asked = 0
	)
	under.Store(int64(len(walks)))
	for _, w := range walks {
		asked -= w.asks
		left := len(w.keys)
		wg.Go(func() {
			<-gate
			// All end together, so that none of the time has idle cores in it.
			for under.Load() > 0 || time.Since(begin) < d {
				w.run(allow, batch)
				if left > 0 && left <= batch {
					under.Add(-1)
				}
				left -= batch
			}
		})
	}
	begin = time.Now()
	close(gate)
	wg.Wait()
	elapsed := time.Since(begin)
	for _, w := range walks {
		asked += w.asks
	}
	return float64(elapsed) / float64(asked)
}

// timed opens a subject and times it on each number of cores.
func timed[K comparable](cfg config, s subject[K], l limit, c claim, set keyset[K]) (ns []float64, err error) {
	i := s.open(l)
	defer i.stop()
	if err := fill(i, set.stored); err != nil {
		return nil, fmt.Errorf("%s: %w", s.lib, err)
	}
	runtime.GC()
	for _, cores := range cfg.cores {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		walks := set.walks(cores)
		for _, w := range walks {
			w.run(i.allow, 16*batch) // what a core learns, it learns here
		}
		ns = append(ns, drive(walks, i.allow, cfg.time))
		if err := check(c, walks); err != nil {
			return nil, fmt.Errorf("%s on %d cores: %w", s.lib, cores, err)
		}
		if n := touched(walks); n != c.keys {
			return nil, fmt.Errorf("%s on %d cores: asked about %d keys of %d", s.lib, cores, n, c.keys)
		}
	}
	return ns, nil
}

// timing is the trial of timed.
func timing[K comparable](cfg config, group string, s subject[K], l limit, c claim, set func() keyset[K]) trial {
	return trial{group, s.lib, func() ([]point, error) {
		ns, err := timed(cfg, s, l, c, set())
		if err != nil {
			return nil, err
		}
		var points []point
		for i, cores := range cfg.cores {
			points = append(points, point{group: fmt.Sprintf("%s cores=%d", group, cores), value: ns[i]})
		}
		return points, nil
	}}
}

// hotTrials ask about one key: of limiters that know only one, and of those
// that have to find it among (no) others.
func hotTrials(cfg config) (trials []trial, err error) {
	set := sync.OnceValue(func() keyset[string] { return stringKeys(1, cfg.mostCores()) })
	for _, shape := range []struct {
		name     string
		subjects []subject[string]
	}{
		{"one", single()},
		{"map", stringKeyed()},
	} {
		for _, granted := range []bool{true, false} {
			name, l := "granted", hotGranted()
			if !granted {
				name, l = "refused", allRefused()
			}
			group := fmt.Sprintf("case=%s shape=%s", name, shape.name)
			for _, s := range shape.subjects {
				if err := probe(s, set().stored); err != nil {
					return nil, err
				}
				if granted || !s.yields {
					trials = append(trials, timing(cfg, group, s, l, claim{1, granted}, set))
				}
			}
		}
	}
	return trials, nil
}

// probeKeys is how many keys a subject is probed with.
const probeKeys = 100

// keyTrials ask about many keys, all present and charged.
func keyTrials(cfg config) (trials []trial, err error) {
	few := stringKeys(probeKeys, 1)
	set := sync.OnceValue(func() keyset[string] { return stringKeys(cfg.keys, cfg.mostCores()) })
	group := fmt.Sprintf("keys=%s type=string case=granted", count(cfg.keys))
	for _, s := range stringKeyed() {
		if err := probe(s, few.stored); err != nil {
			return nil, err
		}
		trials = append(trials, timing(cfg, group, s, keysGranted(), claim{cfg.keys, true}, set))
	}
	return trials, nil
}

// count writes a number of keys as the names of cases do.
func count(n int) string {
	if n >= 1e6 {
		return fmt.Sprintf("%dM", n/1e6)
	}
	return fmt.Sprint(n)
}
