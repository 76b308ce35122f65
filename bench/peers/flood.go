package main

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/shard"
)

// The section flood asks what someone who sends ever new keys does to those
// whose keys are there: how long their decisions take, each by itself.

// A flooded is what a flood comes to. It has the limit keysGranted, under which
// no key becomes full within the run: the flood finds nothing to be forgotten,
// which makes most work.
type flooded struct {
	lib  string
	open func(keys int) target
	// capped tells whether new keys find no room in the end, admits what they
	// get then.
	capped, admits bool
}

// A target is one of them at work. Without stats it is the floor, which decides
// nothing and remembers nothing.
type target struct {
	allow func(uint64) bool
	left  func(uint64) int // whole tokens
	stats func() shard.Stats
}

func floods() []flooded {
	limiter := func(opts ...func(keys int) shard.Option) func(int) target {
		return func(keys int) target {
			var all []shard.Option
			for _, opt := range opts {
				all = append(all, opt(keys))
			}
			l := shard.New[uint64](keysGranted().weir(), all...)
			return target{l.Allow, func(key uint64) int { return l.Peek(key, 0).Remaining() }, l.Stats}
		}
	}
	table := func(policy shard.Policy) func(int) target {
		return func(keys int) target {
			t := shard.NewTable[uint64](keysGranted().weir(), 2*keys, shard.WithMaxKeys(2*keys, policy))
			return target{t.Allow, func(key uint64) int { return t.Peek(key, 0).Remaining() }, t.Stats}
		}
	}
	most := func(policy shard.Policy) func(int) shard.Option {
		return func(keys int) shard.Option { return shard.WithMaxKeys(2*keys, policy) }
	}
	spin := openSpin(keysGranted(), 0).allow
	return []flooded{
		{lib: "none", open: func(int) target {
			return target{allow: func(key uint64) bool { return key < 1<<63 || spin(key) }}
		}},
		{lib: ours, open: limiter()},
		{lib: "weir-refuse", open: limiter(most(shard.Refuse)), capped: true},
		{lib: "weir-admit", open: limiter(most(shard.Admit)), capped: true, admits: true},
		{lib: "table", open: table(shard.Refuse), capped: true},
		{lib: "table-admit", open: table(shard.Admit), capped: true, admits: true},
	}
}

// floodRates are new keys per second; 0 is as fast as one goroutine can.
func floodRates() []int { return []int{200_000, 0} }

// When honest traffic is timed: alone, beside a flood of another one of the same
// kind, which takes as much of the machine, and in a flood of its own.
var floodTimes = [...]string{"before", "beside", "during"}

func floodGroup(keys, rate int, when string) string {
	return fmt.Sprintf("keys=%s flood=%s %s", count(keys), floodSpeed(rate), when)
}

func floodSpeed(rate int) string {
	if rate == 0 {
		return "full-speed"
	}
	return count(rate) + "/s"
}

func floodColumns() []string {
	return []string{"p50, ns", "p99, ns", "longest, ns", "asked, k/s", "new keys, k/s"}
}

func floodPlan(cfg config) (p plan, err error) {
	p.notes = []string{
		"Of every single decision, by the monotonic clock, whose own cost is in all of them: it is all there is in the rows of none.",
		"before: nobody else; beside: the flood goes to another limiter of the same kind; during: to the same.",
		"Each run proves that the flood's keys were new and that every honest key has its balance to the token.",
	}
	if runtime.NumCPU() < 2 {
		p.notes = append(p.notes, "There is one core: who floods takes it from the others, whatever the limiter.")
	}
	for _, f := range floods() {
		p.add(trial{group: fmt.Sprintf("keys=%s flood", count(cfg.flood)), lib: f.lib, run: func() ([]point, error) {
			points, err := inFlood(cfg, f)
			if err != nil {
				err = fmt.Errorf("%s: %w", f.lib, err)
			}
			return points, err
		}})
	}
	return p, nil
}

// inFlood times honest traffic before, beside and during floods.
func inFlood(cfg config, f flooded) (points []point, err error) {
	one, err := newHonest(f, cfg.flood)
	if err != nil {
		return nil, err
	}
	other, err := newHonest(f, cfg.flood)
	if err != nil {
		return nil, err
	}
	runtime.GC()
	for _, rate := range floodRates() {
		for _, when := range floodTimes {
			victim := map[string]*honest{"beside": other, "during": one}[when]
			flow := &flow{rate: rate}
			if victim != nil {
				if err := victim.flooded(f, flow, func() { one.ask(cfg.time) }); err != nil {
					return nil, err
				}
			} else {
				one.ask(cfg.time)
			}
			l := &one.took
			points = append(points, point{group: floodGroup(cfg.flood, rate, when), value: l.quantile(999), more: []float64{
				l.quantile(500), l.quantile(990), l.quantile(1000), l.perSecond() / 1e3, flow.perSecond() / 1e3,
			}})
		}
	}
	if err := one.balances(); err != nil {
		return nil, err
	}
	return points, other.balances()
}

// An honest is a target with the keys that are there, asked in turn.
type honest struct {
	target
	keys []uint64
	asks int // after the first about each
	next uint32
	took latencies
}

// newHonest makes all keys present, and then so many others that there is room
// for no more, if there is an end to it.
func newHonest(f flooded, keys int) (*honest, error) {
	h := &honest{target: f.open(keys), next: uint32(keys)}
	for _, n := range shuffled(keys, 0) {
		if key := uintKey(n) >> 1; h.allow(key) {
			h.keys = append(h.keys, key)
		}
	}
	if lost := keys - len(h.keys); lost > 1+keys/1_000_000 {
		return nil, fmt.Errorf("%d of %d keys found no room", lost, keys)
	}
	for vain := 0; f.capped && vain < 1000; vain++ {
		before := h.stats().Keys
		if h.allow(h.new()); h.stats().Keys > before {
			vain = 0
		}
	}
	return h, nil
}

// new returns a key that was never asked about. It has the highest bit, which no
// honest key has.
func (h *honest) new() uint64 {
	h.next++
	return uintKey(h.next)>>1 | 1<<63
}

// leastFlood is how many honest decisions and how many new keys there are in a
// run, however short.
const leastFlood = 500

// ask asks about the keys for that long and writes down what each decision took.
func (h *honest) ask(d time.Duration) {
	h.took.clear()
	keys, allow, at, n := h.keys, h.allow, h.asks%len(h.keys), 0
	begin := time.Now()
	last := time.Since(begin)
	for ; last < d || n < leastFlood; n++ {
		allow(keys[at])
		now := time.Since(begin)
		h.took.add(now - last)
		last = now
		if at++; at == len(keys) {
			at = 0
		}
	}
	h.asks += n
	h.took.elapsed = last
}

// balances returns an error if a key does not have exactly what was not taken.
func (h *honest) balances() error {
	if h.stats == nil {
		return nil
	}
	for i, key := range h.keys {
		taken := 1 + h.asks/len(h.keys)
		if i < h.asks%len(h.keys) {
			taken++
		}
		if got, want := h.left(key), keysGranted().burst-taken; got != want {
			return fmt.Errorf("balance: key %d of %d has %d tokens after it took %d, want %d", i+1, len(h.keys), got, taken, want)
		}
	}
	return nil
}

// A flow is how fast new keys come, and how many came and were granted.
type flow struct {
	rate          int
	keys, granted int
	elapsed       time.Duration
}

func (w *flow) perSecond() float64 { return float64(w.keys) / max(w.elapsed.Seconds(), 1e-9) }

// flooded sends new keys from another goroutine while it runs do, and returns an
// error if they were not new.
func (h *honest) flooded(f flooded, w *flow, do func()) error {
	var before, after shard.Stats
	if h.stats != nil {
		before = h.stats()
	}
	var (
		stop    atomic.Bool
		started = make(chan struct{})
		done    = make(chan struct{})
	)
	go func() {
		defer close(done)
		begin := time.Now()
		for !stop.Load() || w.keys < leastFlood {
			// It makes up for what it was late, and does not sleep: a core is
			// busy, whatever the rate.
			if w.rate > 0 && time.Since(begin)*time.Duration(w.rate) < time.Duration(w.keys)*time.Second {
				continue
			}
			if h.allow(h.new()) {
				w.granted++
			}
			if w.keys++; w.keys == 1 {
				close(started)
			}
		}
		w.elapsed = time.Since(begin)
	}()
	<-started
	do()
	stop.Store(true)
	<-done
	if h.stats == nil {
		return nil
	}
	after = h.stats()
	return f.proof(before, after, w)
}

// proof returns an error unless each key of the flood was either one more that
// is remembered or turned away, and granted as the policy says.
func (f flooded) proof(before, after shard.Stats, w *flow) error {
	kept, away := after.Keys-before.Keys, int(after.Capped-before.Capped)
	want := kept
	if f.admits {
		want += away
	}
	switch {
	case kept+away != w.keys || after.Forgotten != before.Forgotten:
		return fmt.Errorf("flood: of %d new keys %d were kept and %d found no room, and %d were forgotten",
			w.keys, kept, away, after.Forgotten-before.Forgotten)
	case f.capped && away < w.keys*9/10, !f.capped && away > 0:
		return fmt.Errorf("flood: %d of %d new keys found no room", away, w.keys)
	case w.granted != want:
		return fmt.Errorf("flood: %d of %d new keys were granted, want %d", w.granted, w.keys, want)
	}
	return nil
}
