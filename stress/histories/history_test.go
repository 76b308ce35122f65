package histories_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// limits are those that histories are about: small, so that their edges are
// met often.
var limits = [...]gcra.Limit{
	gcra.Per(1, 4).Burst(2),
	gcra.Per(1, 1).Burst(3),
	gcra.Per(1, 10).Burst(3),
	gcra.Per(2, 7).Burst(4),
	gcra.Per(3, 11).Burst(1),
	gcra.Per(1, 6).Burst(4).Start(0),
	gcra.Per(1, 5).Burst(2).Start(1),
	gcra.Per(3, 6).Burst(5).InSteps(6),
	gcra.Per(1, 100).Burst(6),
	gcra.Per(0, 1).Burst(5),
	gcra.Unlimited(),
	{},
}

const bounded = 9 // the limits that come first refill, and are those of most histories

// A limiter is one under test. The key is left out of account where there is
// one only.
type limiter interface {
	AllowN(key uint64, n int) bool
	Take(key uint64, n int) gcra.Decision
	TakeUpTo(key uint64, n int) gcra.Decision
	Peek(key uint64, n int) gcra.Decision
	Debit(key uint64, n int) gcra.Decision
	ReserveWithin(key uint64, d time.Duration, n int) reservation
}

type reservation interface {
	Settle(actual int)
	Delay() time.Duration
	Decision() gcra.Decision
}

// What some limiters can do besides.
type (
	resetter interface{ Reset(key uint64) }
	sweeper  interface{ Sweep() int }
	changer  interface{ SetLimit(gcra.Limit) }
)

// A joiner decides for two limiters together.
type joiner interface {
	Take(n int) gcra.Decision
	Peek(n int) gcra.Decision
}

// An engine makes what one history is about.
type engine struct {
	name   string
	make   func(l [2]gcra.Limit, c [2]clock.Clock) *rig
	keys   int        // at most
	mix    [kinds]int // how often each operation comes up
	traits [2]traits
	// need lists the operations that have to have done something.
	need   []kind
	guests int // that come before the history, at most
	debt   int // WithMaxDebt
	// script, if set, is a program for a twin.
	script func(rng *rand.Rand) [][]*op
	fixed  func(rng *rand.Rand) [2]uint8 // the limits
}

type rig struct {
	lims  [2]limiter
	move  func(key uint64) error
	guest func(n int) // asks for a key that nobody else does
	join  func(key uint64) joiner
	taken func() int64 // keys forgotten so far
}

// A history is one program as it ran.
type history struct {
	seed   uint64
	engine *engine
	limits [2]uint8
	stage  *stage
	rig    *rig
	ops    []*op           // by call
	shown  []time.Duration // what the clock showed, without repeats
	booked [maxBooks]atomic.Pointer[reservation]
	result porcupine.CheckResult
}

func run(e *engine, seed uint64) *history {
	rng := rand.New(rand.NewPCG(seed, 0))
	h := &history{seed: seed, engine: e, stage: new(stage)}
	h.limits = [2]uint8{h.anyLimit(rng), h.anyLimit(rng)}
	if e.fixed != nil {
		h.limits = e.fixed(rng)
	}
	s := h.stage
	s.start = time.Duration(rng.IntN(40))
	s.now.Store(int64(s.start))
	h.rig = e.make([2]gcra.Limit{limits[h.limits[0]], limits[h.limits[1]]}, [2]clock.Clock{&probe{s, 0}, &probe{s, 1}})
	h.shown = append(h.shown, s.clock())
	if h.rig.guest != nil {
		for range rng.IntN(e.guests + 1) {
			h.rig.guest(rng.Int())
		}
	}
	program := h.program(rng)
	var ready, gone sync.WaitGroup
	start := make(chan struct{})
	cast := make([]*client, len(program))
	ready.Add(len(program))
	for i, ops := range program {
		cast[i] = &client{stage: s, id: i, rng: rand.New(rand.NewPCG(seed, uint64(i+1))), ops: ops}
		gone.Go(func() {
			cast[i].goid = goid()
			ready.Done()
			<-start
			for _, o := range ops {
				cast[i].do(h, o)
			}
		})
	}
	ready.Wait()
	s.cast = cast
	close(start)
	gone.Wait()
	for _, o := range slices.Concat(program...) {
		if !o.skipped {
			h.ops = append(h.ops, o)
		}
		if o.kind == advance {
			h.shown = append(h.shown, o.to)
		}
	}
	slices.SortFunc(h.ops, func(a, b *op) int { return cmp.Compare(a.call, b.call) })
	slices.Sort(h.shown)
	h.shown = slices.Compact(h.shown)
	for _, o := range h.ops {
		for _, p := range h.ops {
			if o != p && o.kind == settle && p.kind == settle && o.target == p.target && o.call <= p.ret && p.call <= o.ret {
				o.rival = true
			}
		}
	}
	return h
}

func (h *history) anyLimit(rng *rand.Rand) uint8 {
	if rng.IntN(12) == 0 && h.engine.guests == 0 {
		return uint8(rng.IntN(len(limits)))
	}
	return uint8(rng.IntN(bounded))
}

// program writes what each client will do.
func (h *history) program(rng *rand.Rand) [][]*op {
	e := h.engine
	if e.script != nil {
		all := e.script(rng)
		for i, ops := range all {
			for _, o := range ops {
				o.client = i
			}
		}
		return all
	}
	still := rng.IntN(4) == 0 // the clock stands still
	keys, books, changes := 1+rng.IntN(e.keys), 0, 0
	total := 0
	for _, n := range e.mix {
		total += n
	}
	all := make([][]*op, 2+rng.IntN(maxClients-1))
	length := 4 + rng.IntN(5)
	if len(all) == maxClients {
		length = 4 + rng.IntN(3)
	}
	for i := range all {
		for len(all[i]) < length {
			var k kind
			for at := rng.IntN(total); at >= e.mix[k]; k++ {
				at -= e.mix[k]
			}
			o := &op{kind: k, client: i, key: uint8(rng.IntN(keys)), n: rng.IntN(4)}
			if rng.IntN(30) == 0 {
				o.n = rng.IntN(12) - 2
			}
			if h.rig.lims[1] != nil && k != reserve && k != settle {
				o.lim = uint8(rng.IntN(2))
			}
			switch k {
			case advance:
				if o.within = time.Duration(1 + rng.IntN(12)); still {
					continue
				}
			case reserve:
				if books == maxBooks {
					continue
				}
				o.target, books = books, books+1
				o.within = [...]time.Duration{0, 5, gcra.Never}[rng.IntN(3)]
			case settle:
				if books == 0 {
					continue
				}
				o.target = rng.IntN(books)
				if rng.IntN(3) > 0 {
					o.n = 0
				}
			case setLimit, reset:
				if h.rig.join != nil {
					o.lim = 0
				}
				if k == setLimit {
					if changes == maxGens-1 {
						continue
					}
					changes++
					o.limit = h.anyLimit(rng)
				}
			case sweep:
				if _, ok := h.rig.lims[o.lim].(sweeper); !ok {
					o.lim = 0
				}
			case guest:
				o.n = rng.Int()
			case move, jointTake, jointPeek:
				o.lim = 0
			}
			if h.rig.join != nil && (o.lim == 1 || k == jointTake || k == jointPeek) {
				o.key = 0
			}
			all[i] = append(all[i], o)
		}
	}
	return all
}

// do does one operation.
func (c *client) do(h *history, o *op) {
	if o.kind == settle && h.booked[o.target].Load() == nil {
		o.skipped = true
		return
	}
	s, l, key := c.stage, h.rig.lims[o.lim], uint64(o.key)
	c.cur = o
	o.from = s.clock()
	o.call = s.seq.Add(2)
	var r reservation
	var d gcra.Decision
	switch o.kind {
	case allow:
		o.verdict.ok = l.AllowN(key, o.n)
	case take:
		d = l.Take(key, o.n)
	case upTo:
		d = l.TakeUpTo(key, o.n)
	case peek:
		d = l.Peek(key, o.n)
	case debit:
		d = l.Debit(key, o.n)
	case reserve:
		r = l.ReserveWithin(key, o.within, o.n)
		d, o.delay = r.Decision(), r.Delay()
	case settle:
		(*h.booked[o.target].Load()).Settle(o.n)
	case reset:
		l.(resetter).Reset(key)
	case sweep:
		o.count = l.(sweeper).Sweep()
	case setLimit:
		l.(changer).SetLimit(limits[o.limit])
	case move:
		o.err = h.rig.move(key)
	case guest:
		h.rig.guest(o.n)
	case jointTake:
		d = h.rig.join(key).Take(o.n)
	case jointPeek:
		d = h.rig.join(key).Peek(o.n)
	case advance:
		o.to = time.Duration(s.now.Add(int64(o.within))) - s.start
		o.ret = s.seq.Add(2)
		return
	}
	o.to = s.clock()
	o.ret = s.seq.Add(2)
	if o.kind != allow {
		o.verdict = judge(d)
	}
	if r != nil && d.OK() { // after the return: nobody settles it before
		h.booked[o.target].Store(&r)
	}
}

func (h *history) checker() *checker {
	return &checker{traits: h.engine.traits, debt: h.engine.debt, h: h}
}

// check asks whether some order of the operations explains the history.
func (h *history) check() porcupine.CheckResult {
	c := h.checker()
	var ops []porcupine.Operation
	for _, o := range h.ops {
		for _, step := range o.steps() {
			ops = append(ops, porcupine.Operation{ClientId: step.client, Input: step, Call: step.call, Return: step.ret})
		}
	}
	h.result = porcupine.CheckOperationsTimeout(c.model(), ops, 20*time.Second)
	return h.result
}

// inOrder reports whether the order of the calls explains the history.
func (h *history) inOrder() bool {
	m := h.checker().model()
	s, ok := m.Init(), true
	for _, o := range h.ops {
		for _, step := range o.steps() {
			if ok, s = m.Step(s, step, nil); !ok {
				return false
			}
		}
	}
	return true
}

func (h *history) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, seed %d: %v\n", h.engine.name, h.seed, h.result)
	fmt.Fprintf(&b, "limiter 0: %v\n", limits[h.limits[0]])
	if h.rig.lims[1] != nil {
		fmt.Fprintf(&b, "limiter 1: %v\n", limits[h.limits[1]])
	}
	fmt.Fprintf(&b, "first reading %v on the clock's own scale; it showed %v since\n", h.stage.start, h.shown)
	for _, o := range h.ops {
		fmt.Fprintln(&b, o)
	}
	return b.String()
}
