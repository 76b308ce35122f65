package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// stretch is how many requests are made between two looks at the clock.
	stretch = 4096
	// warm is the part of the time that requests are made for before any is
	// timed: what a core learns, it learns here.
	warm = 10
	// leastAsks is how many requests each goroutine makes in a timed run at the
	// least, if its order is so long. The next run goes on where it ended, so
	// that in the end all keys of an order come before the first comes again.
	leastAsks = 1 << 17
)

// drive lets every walk ask for that long, each on a goroutine of its own, and
// on until all have made so many requests. It returns the time per request of
// all together.
func drive[K comparable](walks []*walk[K], i *instance[K], d time.Duration, least int) (ns float64) {
	var (
		begin time.Time
		gate  = make(chan struct{})
		wg    sync.WaitGroup
		under atomic.Int64 // walks that have to go on
		asked = 0
	)
	under.Store(int64(len(walks)))
	for _, w := range walks {
		w.restart()
		left := least
		wg.Go(func() {
			<-gate
			// All end together, so that none of the time has idle cores in it.
			for under.Load() > 0 || time.Since(begin) < d {
				w.run(i, stretch)
				if left > 0 && left <= stretch {
					under.Add(-1)
				}
				left -= stretch
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

// A phase is one case of those that an instance is timed in, one after
// another.
type phase struct {
	dist dist
	mix  mix
}

func (p phase) String() string {
	if p.dist == lone {
		return fmt.Sprintf("case=%s", p.mix)
	}
	return fmt.Sprintf("dist=%s case=%s", p.dist, p.mix)
}

// timed opens a subject, fills it and times it in each phase on each number of
// cores. The keys that a phase wants empty stay so for those after it.
func timed[K comparable](cfg config, s subject[K], l limit, set keyset[K], phases []phase) (points []point, err error) {
	if set.audited != nil {
		return nil, set.audited
	}
	i := s.open(l, len(set.stored))
	defer i.stop()
	lost, err := fill(s, &i, set.stored)
	if err != nil {
		return nil, err
	}
	walks := make(map[dist][]*walk[K])
	for d := range set.asked {
		walks[d] = set.walks(d, cfg.mostCores())
	}
	runtime.GC()
	for _, ph := range phases {
		i.empty(set.stored, ph.mix)
		c := set.claims[ph.dist]
		c.mix, c.lost = ph.mix, lost
		for _, cores := range cfg.cores {
			ns, proof, err := timedOn(walks[ph.dist][:cores], cfg.time, &i, c)
			group := fmt.Sprintf("%s cores=%d", ph, cores)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", s.lib, group, err)
			}
			points = append(points, point{group: group, value: ns, more: []float64{float64(proof.touched), 100 * proof.share}})
		}
	}
	return points, nil
}

// proofColumns name what timed gives besides the time.
func proofColumns() []string { return []string{"keys touched", "% granted"} }

// timedOn gives each walk a core.
func timedOn[K comparable](walks []*walk[K], d time.Duration, i *instance[K], c claim) (ns float64, p proof, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(len(walks)))
	for _, w := range walks {
		for begin := time.Now(); ; {
			w.run(i, stretch)
			if time.Since(begin) > d/warm {
				break
			}
		}
	}
	ns = drive(walks, i, d, min(len(walks[0].keys), leastAsks))
	p, err = check(c, walks)
	return ns, p, err
}

// timing is the trial of timed. Its group is that of its first phase.
func timing[K comparable](cfg config, group string, s subject[K], l limit, set func() keyset[K], phases []phase) trial {
	return trial{group: group + " " + phases[0].String(), lib: s.lib, run: func() ([]point, error) {
		points, err := timed(cfg, s, l, set(), phases)
		for i := range points {
			points[i].group = group + " " + points[i].group
		}
		return points, err
	}}
}

// hotPlan asks about one key: of limiters that know only one, and of those
// that have to find it among (no) others.
func hotPlan(cfg config) (p plan, err error) {
	set := sync.OnceValue(func() keyset[string] { return newKeyset(stringKeys(), 1, cfg.mostCores(), lone) })
	p.notes = clockNotes()
	for _, shape := range []struct {
		name     string
		subjects []subject[string]
	}{
		{"one", single()},
		{"map", stringKeyed()},
	} {
		if err := probes(shape.subjects, stringKeys(), 1); err != nil {
			return p, err
		}
		for _, ph := range []phase{{lone, granted}, {lone, refused}} {
			l := hotGranted()
			if ph.mix == refused {
				l = allRefused()
			}
			for _, s := range shape.subjects {
				if ph.mix == granted || !s.yields {
					p.add(timing(cfg, "shape="+shape.name, s, l, set, []phase{ph}).aside())
				}
			}
		}
	}
	return p, nil
}
