package main

import (
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/console"
	"github.com/weir-go/weir/internal/exact"
)

// keyed is what the main job asks of a limiter.
type keyed interface {
	Take(key uint64, n int) gcra.Decision
	Peek(key uint64, n int) gcra.Decision
	Len() int
}

const (
	sampled  = 16      // latency is measured on one decision in so many
	block    = 1024    // keys or decisions between two readings of the limiter's clock
	mostCost = 1 << 20 // tokens in a first request
)

// A between holds two readings of the limiter's clock, around something.
type between struct{ from, to time.Duration }

// A job limits keys 0 to keys−1. Its phases run one after another: fill, decide, audit.
type job struct {
	exact.Spec
	limit    gcra.Limit
	keys     int
	duration time.Duration
	clk      clock.Clock
	limiter  keyed
	counter  counter
	workers  []*worker

	cost     int       // of the first request of every key
	made     between   // around the making of the limiter
	filled   []between // around the first requests of each block of keys
	decided  between   // around all later requests
	kept     int       // keys remembered after the first requests
	heap     int64     // bytes that they take
	refused0 int64     // first requests that were refused
	faults   []string
}

// A worker is one goroutine's share. Only done is read while it works.
type worker struct {
	*job
	rand     *rand.PCG
	tokens   []int64 // granted, by key
	granted  int64   // decisions, the first requests apart
	refused  int64
	refused0 int64
	inserts  histogram
	latency  histogram
	pause    int64 // the longest, of an empty loop
	done     atomic.Int64
}

// work does the main job, and before it the same with one key under a limit that refills next to nothing and is not used
// up: there every token is accounted for, so that a charge which a race has lost cannot hide in a refill.
func (p *program) work(o options) (report, error) {
	progress := console.NewProgress(p.stderr)
	defer progress.Done()
	brief := min(o.duration/10, 300*time.Millisecond)
	hot, err := p.newJob(options{keys: 1, duration: brief, limit: gcra.PerSecond(1).Burst(1_000_000_000)})
	if err != nil {
		return nil, err
	}
	hot.do(p, progress)

	j, err := p.newJob(o)
	if err != nil {
		return nil, err
	}
	until := j.clk.Now() + brief
	j.run(progress, "reading the counter", func(w *worker) { w.idle(until) })
	j.do(p, progress)
	return newJobReport(o, j, hot), nil
}

func (p *program) newJob(o options) (*job, error) {
	s, err := exact.SpecOf(o.limit)
	if err != nil {
		return nil, err
	}
	j := &job{Spec: s, limit: o.limit, keys: o.keys, duration: o.duration, clk: clock.System(), counter: newCounter()}
	j.cost = int(max(min(j.Start, mostCost), 1))
	j.filled = make([]between, (j.keys+block-1)/block)
	for i := range runtime.GOMAXPROCS(0) {
		// The same keys in every run: only the machine differs.
		j.workers = append(j.workers, &worker{job: j, rand: rand.NewPCG(1, uint64(i)), tokens: make([]int64, j.keys)})
	}
	return j, nil
}

// do makes the limiter and runs the phases.
func (j *job) do(p *program, progress *console.Progress) {
	before := heap()
	j.made.from = j.clk.Now()
	j.limiter = p.keyed(j.limit, j.clk)
	j.made.to = j.clk.Now()
	var next atomic.Int64
	j.run(progress, "inserting", func(w *worker) { w.fill(&next) })
	j.checkPresence()
	j.heap = heap() - before

	j.decided.from = j.clk.Now()
	j.run(progress, "deciding", func(w *worker) { w.decide(j.decided.from + j.duration) })
	j.decided.to = j.clk.Now()
	if j.keys > block {
		progress.Say("auditing %s keys", console.Grouped(int64(j.keys)))
	}
	j.audit()
}

// heap is the bytes of live objects.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what the first one only unlinked, such as a sync.Pool's, goes now
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// run lets all workers do the same at once, and tells how far they are.
func (j *job) run(progress *console.Progress, what string, do func(*worker)) {
	var wg sync.WaitGroup
	for _, w := range j.workers {
		w.done.Store(0)
		wg.Go(func() { do(w) })
	}
	ended := make(chan struct{})
	go func() {
		wg.Wait()
		close(ended)
	}()
	tick := time.NewTicker(progress.Every)
	defer tick.Stop()
	for start := time.Now(); ; {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		var done int64
		for _, w := range j.workers {
			done += w.done.Load()
		}
		t := time.Since(start)
		progress.Say("%s: %s in %.1f s, %s a second", what, console.Grouped(done), t.Seconds(), console.Grouped(int64(float64(done)/t.Seconds())))
	}
}

// idle finds out how long the machine stops a goroutine that does nothing.
func (w *worker) idle(until time.Duration) {
	for w.clk.Now() < until {
		last := w.counter.now()
		for range block {
			now := w.counter.now()
			w.pause, last = max(w.pause, now-last), now
		}
		w.done.Add(block)
	}
}

// fill makes the first request of every key of the blocks that the worker gets hold of.
func (w *worker) fill(next *atomic.Int64) {
	for {
		i := int(next.Add(1) - 1)
		if i >= len(w.filled) {
			return
		}
		from := w.clk.Now()
		low, high := i*block, min((i+1)*block, w.keys)
		for key := low; key < high; key++ {
			start := w.counter.now()
			d := w.limiter.Take(uint64(key), w.cost)
			w.inserts.add(w.counter.now() - start)
			if d.OK() {
				w.tokens[key] += int64(w.cost)
			} else {
				w.refused0++
			}
		}
		w.filled[i] = between{from, w.clk.Now()}
		w.done.Add(int64(high - low))
	}
}

// decide asks for one token after another until the limiter's clock says so.
func (w *worker) decide(until time.Duration) {
	for w.clk.Now() < until {
		for range block / sampled {
			key := w.pick()
			start := w.counter.now()
			d := w.limiter.Take(key, 1)
			w.latency.add(w.counter.now() - start)
			w.tally(key, d)
			for range sampled - 1 {
				key := w.pick()
				w.tally(key, w.limiter.Take(key, 1))
			}
		}
		w.done.Add(block)
	}
}

// pick is uniform: 64 bits scaled to the number of keys.
func (w *worker) pick() uint64 {
	key, _ := bits.Mul64(w.rand.Uint64(), uint64(w.keys))
	return key
}

func (w *worker) tally(key uint64, d gcra.Decision) {
	if d.OK() {
		w.granted++
		w.tokens[key]++
	} else {
		w.refused++
	}
}
