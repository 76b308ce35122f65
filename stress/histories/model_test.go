package histories_test

import (
	"cmp"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/weir-go/weir/gcra"
)

// The sequential limiter. It decides with package gcra, whose arithmetic has
// proofs of its own; what is checked here is that concurrent operations come to
// what some order of them comes to. A key is a TAT from its first moment to its
// end: the model forgets nothing, moves no slot, and has no dead cell.
//
// Where an operation may end in several ways, each is a state that follows.
// That is so in these cases only:
//
//   - Instant (L9). A decision is dated by one of the readings of the clock
//     that its own operation made, which may be older than others have used.
//   - Change (rule 19). The instant of a change is one that the clock showed
//     during the SetLimit, not before one that was used under the old limit.
//   - Forgetting (L6). A decision that writes nothing may see a key as never
//     charged if the clock had come to where it is full before the operation
//     returned, although the decision's own reading is older. A charge may not.
//   - Rule 21, for an engine that is lazy: an operation that began before a
//     SetLimit returned, and has read the clock before the change, may still
//     be decided under the old limit after a refusal or Peek was under the new
//     one, as long as nothing was charged under that. Its charge is converted.
//   - Reset of atomic.Limiter: the key is full from an instant that the clock
//     showed between the Reset and the end of the next operation, which only
//     makes decisions at older readings stricter.
//   - Move (rule 22) reads here and writes there, a joint (rule 25) asks,
//     charges and rolls back: others may come in between, and each step is one
//     of the above.
type state struct {
	lims  [2]limState
	books [maxBooks]bookState
	moved [maxClients]balance
	asked [maxClients]jointState
}

const (
	maxClients = 4
	maxBooks   = 6
	maxGens    = 4
)

type limState struct {
	gens [maxGens]genState
	cur  uint8
	used time.Duration // the latest instant that was used under cur
	keys [2]keyState
}

// A genState is a limit's time, from one SetLimit to the next.
type genState struct {
	limit uint8
	since time.Duration
	fresh int64
	ret   int64 // when the SetLimit returned
}

type keyState struct {
	tat    int64
	gen    uint8
	adrift bool // see Reset of atomic.Limiter
}

type bookState struct {
	gcra.Booking
	n             int
	lim, key, gen uint8
	made, settled bool
	lost          bool // its key was reset
}

// A balance on its way: what a key lacked under a limit.
type balance struct {
	limit  uint8
	behind int64
}

// What a client's joint decision has come to so far.
type jointState struct {
	asked  [2]gcra.Decision
	first  gcra.Decision
	back   bookState
	booked bool
}

// traits say what an engine does that the others do not.
type traits struct {
	forgets bool
	lazy    bool
	adrift  bool
}

type checker struct {
	traits [2]traits // of each limiter
	debt   int       // WithMaxDebt; 0 for one burst
	h      *history
	read   time.Duration // what the decision that is tried reads
}

func (c *checker) model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{c.first()} },
		Step: func(s, in, _ any) []any {
			before := s.(state)
			after := c.step(&before, in.(*op))
			all := make([]any, len(after))
			for i := range after {
				all[i] = after[i]
			}
			return all
		},
		Hash: func(s any) uint64 {
			is := s.(state)
			return is.hash()
		},
	}
	return m.ToModel()
}

// hash mixes what states differ in mostly.
func (s *state) hash() (h uint64) {
	mix := func(n int64) { h = (h ^ uint64(n)) * 0x9e3779b97f4a7c15; h ^= h >> 29 }
	for i := range s.lims {
		l := &s.lims[i]
		mix(int64(l.cur))
		mix(int64(l.used))
		for _, k := range l.keys {
			mix(k.tat<<3 | int64(k.gen))
		}
	}
	for i := range s.books {
		if s.books[i].settled {
			mix(int64(i))
		}
	}
	for i := range s.asked {
		if s.asked[i].booked {
			mix(int64(i))
		}
	}
	return h
}

func (c *checker) first() (s state) {
	for i := range s.lims {
		l := &s.lims[i]
		g := &l.gens[0]
		g.limit = c.h.limits[i]
		g.fresh = gcra.Fresh(&limits[g.limit], c.at(g, 0))
		for k := range l.keys {
			l.keys[k].tat = g.fresh
		}
	}
	return s
}

// at is the instant of a reading under a generation.
func (c *checker) at(g *genState, elapsed time.Duration) gcra.Instant {
	l := &limits[g.limit]
	start := c.h.stage.start
	return gcra.At(l, max(elapsed, g.since)+start-l.Birth(start))
}

// forward is a TAT of generation from under a later one: L5, change by change.
func (c *checker) forward(l *limState, tat int64, from, to uint8) int64 {
	for ; from < to; from++ {
		old, next := &l.gens[from], &l.gens[from+1]
		tat = gcra.Convert(tat, &limits[old.limit], c.at(old, next.since), &limits[next.limit], c.at(next, next.since))
	}
	return tat
}

// A sight is what an operation may take a key for.
type sight struct {
	gen   uint8
	tat   int64
	read  time.Duration
	at    gcra.Instant
	never bool // as a key never charged: not to be written
}

func (c *checker) sights(s *state, o *op, lim, key uint8) []sight {
	l := &s.lims[lim]
	k := &l.keys[key]
	g := &l.gens[l.cur]
	var all []sight
	for _, read := range o.readings() {
		at := c.at(g, read)
		all = append(all, sight{l.cur, c.forward(l, k.tat, k.gen, l.cur), read, at, false})
		if k.adrift {
			for _, shown := range c.h.shown {
				if then := max(g.fresh, c.at(g, shown).Tick); shown <= o.to && then > all[len(all)-1].tat {
					all = append(all, sight{l.cur, then, read, at, false})
				}
			}
		}
		if c.traits[lim].forgets && max(all[len(all)-1].tat, g.fresh) <= c.at(g, o.to).Tick {
			all = append(all, sight{l.cur, g.fresh, read, at, true})
		}
		for old := k.gen; old < l.cur && c.traits[lim].lazy; old++ {
			if next := &l.gens[old+1]; o.call < next.ret && read <= next.since {
				all = append(all, sight{old, c.forward(l, k.tat, k.gen, old), read, c.at(&l.gens[old], read), false})
			}
		}
	}
	return all
}

// write is the state after a decision at that sight left the TAT next.
func (s *state) write(lim, key uint8, v sight, next int64) *state {
	after := *s
	l := &after.lims[lim]
	if v.gen == l.cur {
		l.used = max(l.used, v.read)
	}
	if k := &l.keys[key]; next != v.tat || k.adrift {
		*k = keyState{next, v.gen, false}
	}
	return &after
}

// each calls visit with every sight and what follows from it, once for each
// outcome that is different: the first reading of several that come to the
// same excludes least.
func (c *checker) each(s *state, o *op, lim, key uint8, op decide, visit func(v sight, next int64, d gcra.Decision)) {
	type outcome struct {
		gen  uint8
		tat  int64
		next int64
		d    gcra.Decision
	}
	var seen []outcome
	for _, v := range c.sights(s, o, lim, key) {
		c.read = v.read
		next, d := op(&limits[s.lims[lim].gens[v.gen].limit], v.tat, v.at, o.n)
		if v.never {
			if next != v.tat {
				continue
			}
			// As far as the key goes nothing was seen of it.
			v.tat = s.lims[lim].keys[key].tat
			next = v.tat
		}
		if is := (outcome{v.gen, v.tat, next, d}); !slices.Contains(seen, is) {
			seen = append(seen, is)
			visit(v, next, d)
		}
	}
}

type decide func(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision)

func look(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
	return tat, gcra.Peek(l, tat, at, n)
}

func (c *checker) charge(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
	return gcra.Debit(l, tat, at, n, cmp.Or(c.debt, l.Capacity()))
}

func (c *checker) step(s *state, o *op) []state {
	switch o.kind {
	case allow, take:
		return c.decide(s, o, gcra.Take)
	case upTo:
		return c.decide(s, o, gcra.TakeUpTo)
	case peek:
		return c.decide(s, o, look)
	case debit:
		return c.decide(s, o, c.charge)
	case reserve:
		return c.reserve(s, o)
	case settle:
		return c.settle(s, o)
	case reset:
		return c.reset(s, o)
	case setLimit:
		return c.setLimit(s, o)
	case moveRead:
		return c.moveRead(s, o)
	case moveRaise:
		return c.moveRaise(s, o)
	case jointAsk:
		return c.jointAsk(s, o)
	case jointBook:
		return c.jointBook(s, o)
	case jointBack:
		return c.jointBack(s, o)
	}
	return []state{*s} // a sweep, a guest: nobody sees them
}

func (c *checker) decide(s *state, o *op, op decide) (after []state) {
	c.each(s, o, o.lim, o.key, op, func(v sight, next int64, d gcra.Decision) {
		if o.kind == allow && d.OK() == o.verdict.ok || judge(d) == o.verdict {
			after = append(after, *s.write(o.lim, o.key, v, next))
		}
	})
	return after
}

// reset makes the key full, or what it would be: never worse. What was booked
// before does not come back.
func (c *checker) reset(s *state, o *op) (after []state) {
	l := &s.lims[o.lim]
	g, k := &l.gens[l.cur], &l.keys[o.key]
	tat := c.forward(l, k.tat, k.gen, l.cur)
	// Forgotten or never charged: there is nothing to reset.
	if tat <= g.fresh || c.traits[o.lim].forgets && max(tat, g.fresh) <= c.at(g, o.to).Tick {
		after = append(after, *s)
	}
	for _, read := range o.readings() {
		next := *s
		lower := max(g.fresh, c.at(g, read).Tick)
		if tat > lower {
			l := &next.lims[o.lim]
			l.used = max(l.used, read)
			l.keys[o.key] = keyState{lower, l.cur, c.traits[o.lim].adrift}
			for i := range next.books {
				if b := &next.books[i]; b.made && b.lim == o.lim && b.key == o.key {
					b.lost = true
				}
			}
			for i := range next.asked {
				if b := &next.asked[i].back; b.made && b.lim == o.lim && b.key == o.key {
					b.lost = true
				}
			}
		}
		after = append(after, next)
	}
	return after
}

// setLimit converts all keys, each when it is looked at.
func (c *checker) setLimit(s *state, o *op) (after []state) {
	l := &s.lims[o.lim]
	if l.gens[l.cur].limit == o.limit {
		return []state{*s}
	}
	for _, since := range c.h.shown {
		if since < max(o.from, l.used) || since > o.to {
			continue
		}
		next := *s
		l := &next.lims[o.lim]
		l.cur++
		old, g := &l.gens[l.cur-1], &l.gens[l.cur]
		*g = genState{limit: o.limit, since: since, ret: o.ret}
		g.fresh = c.forward(l, old.fresh, l.cur-1, l.cur)
		l.used = since
		if !c.traits[o.lim].lazy {
			g.ret = 0
			for i := range l.keys {
				k := &l.keys[i]
				k.tat, k.gen = c.forward(l, k.tat, k.gen, l.cur), l.cur
			}
		}
		after = append(after, next)
	}
	return after
}
