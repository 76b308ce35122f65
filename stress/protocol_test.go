package stress_test

import (
	"math"
	"time"

	"github.com/weir-go/weir/gcra"
)

// The life of a cell, step by step: what package atomic and shard do about one
// key, cut wherever another goroutine may come in between. It decides with
// gcra; what is modelled is the order of the steps. search_test.go runs every
// interleaving of them.

const (
	quarters = 4 // of a token: what balances are counted in
	deadWord = math.MinInt8
	nobody   = -1
	gensMost = 4 // generations
	cellMost = 6 // cells that somebody can still see
	actors   = 4 // the last one is the clock's hand
	logMost  = 6
)

// world is all that a search remembers: a comparable value without pointers.
type world struct {
	now    int8
	gens   int8            // published; the last one is current
	since  [gensMost]int8  // S + 1; 0 is not read yet
	entry  int8            // the cell in the map
	lock   int8            // of the map: the actor that holds it, plus one
	cells  [cellMost]mcell // those that nobody sees any more are zero
	actors [actors]actor
	log    [logMost]charge // in the order of their dates; sorted, so that it does not tell what came first
	logged int8
	reset  int8 // the instant of the last reset
}

// mcell is a cell: a word, with the sign for frozen.
type mcell struct{ gen, word int8 }

// charge is what was taken: quarters of a token at an instant, by a decision
// under a generation.
type charge struct{ date, gen, kept, by int8 }

type actor struct {
	op, pc, ret int8 // the operation it is at, the step, and where to go on after reading the generation
	now         int8 // its reading of the clock
	cell, gen   int8
	word, next  int8
	again       int8 // the reading in present
	keep        bool // whether the decision goes on with its first one
	holds       bool // a booking:
	held, mine  int8 // in that cell, of that generation
	from, slot  int8
	end, ticks  int8
}

// An order is one operation of an actor.
type order struct {
	kind kind
	n    int
}

type kind uint8

const (
	idle    kind = iota
	take         // n tokens or none
	book         // n tokens, to be cancelled by the next order
	cancel       // the booking
	sweep        // forget the key if it is full
	change       // publish the next generation
	reset        // the key
	convert      // bring the key forward, as every 64th change does
	wait         // for the hand: advance the clock by one
)

// A flaw is one fault of the protocol.
type flaw uint8

const (
	flawless flaw = iota
	parityBit
	generationFirst
	sinceFirst
	judgesByOldLimit
	frozenIsDead
	chargesFrozen
	staleInsert
	deletesOther
	resetKeepsValue
	beforeSince
	deletesAlive
	ignoresFresh
	returnsAcross
	deadUnseen
	staleGiveBack
	freshAfterReset
)

// A protocol is a model with its actors' programs.
type protocol struct {
	flaw     flaw
	limits   []gcra.Limit // of the generations
	programs [actors][]order
	loaded   bool // the key has a full cell at the beginning
	single   bool // atomic.Limiter: a pointer for the map, always with a cell
}

func (p *protocol) limit(gen int8) *gcra.Limit { return &p.limits[gen] }

// since is the reading that a generation begins with.
func (w *world) start(gen int8) time.Duration { return time.Duration(w.since[gen] - 1) }

// at is the instant of a reading under a generation.
func (p *protocol) at(w *world, gen, now int8) gcra.Instant {
	reading := time.Duration(now)
	if p.flaw != beforeSince {
		reading = max(reading, w.start(gen))
	}
	return gcra.At(p.limit(gen), reading)
}

// fresh is the TAT of a key without a cell.
func (p *protocol) fresh(w *world, gen int8) int8 {
	l := p.limit(0)
	return p.forward(w, int8(gcra.Fresh(l, gcra.At(l, 0))), 0, gen)
}

// forward converts a TAT from one generation to a later one.
func (p *protocol) forward(w *world, tat, from, to int8) int8 {
	if p.same(from, to) {
		return tat
	}
	if p.flaw == parityBit {
		from = to - 1 // all that a bit tells
	}
	for g := from; g < to; g++ {
		old, next := p.limit(g), p.limit(g+1)
		s := w.start(g + 1)
		tat = int8(gcra.Convert(int64(tat), old, gcra.At(old, s), next, gcra.At(next, s)))
	}
	return tat
}

// same tells whether a cell of one generation is one of the other.
func (p *protocol) same(a, b int8) bool {
	if p.flaw == parityBit {
		return a&1 == b&1
	}
	return a == b
}

// balance is the TAT of a key under a generation, as whoever only looks works
// it out.
func (p *protocol) balance(w *world, cell, gen int8) int8 {
	if cell == nobody {
		return p.fresh(w, gen)
	}
	c := w.cells[cell]
	switch {
	case c.word == deadWord,
		c.word < 0 && p.flaw == frozenIsDead,
		c.word < 0 && p.flaw == resetKeepsValue && c.gen == gen:
		return p.fresh(w, gen)
	case c.word < 0:
		return p.forward(w, -c.word, c.gen, gen)
	}
	return p.forward(w, c.word, c.gen, gen)
}

// decide is what a take or a booking makes of a TAT. A booking of this model
// is for now, so that it is dated by one instant.
func (p *protocol) decide(w *world, a *actor, o order, tat int8) (next int8, ok bool) {
	l, at := p.limit(a.gen), p.at(w, a.gen, a.now)
	if o.kind == book {
		b, _ := gcra.Book(l, int64(tat), at, at.Tick, o.n)
		if b.End == 0 || len(p.limits) > 1 && b.Slot > at.Tick {
			return tat, false
		}
		a.from, a.slot, a.end, a.ticks = int8(b.From), int8(b.Slot), int8(b.End), int8(b.Cost)
		return int8(b.End), true
	}
	v, d := gcra.Take(l, int64(tat), at, o.n)
	return int8(v), d.OK()
}

// note writes a charge of n tokens into the log.
func (p *protocol) note(w *world, who int, a *actor, o order, cell int8) {
	c := charge{date: int8(p.at(w, a.gen, a.now).Tick - 1), gen: a.gen, kept: int8(o.n * quarters)}
	if o.kind == book {
		c.date, c.by = a.slot-1, int8(who+1)
		a.holds, a.held, a.mine = true, cell, a.gen
	}
	i := w.logged
	for i > 0 && c.before(w.log[i-1]) {
		w.log[i] = w.log[i-1]
		i--
	}
	w.log[i] = c
	w.logged++
}

func (c charge) before(d charge) bool {
	if c.date != d.date {
		return c.date < d.date
	}
	if c.gen != d.gen {
		return c.gen < d.gen
	}
	return c.by < d.by || c.by == d.by && c.kept < d.kept
}

// forgetCharges is what a reset does to the past.
func (w *world) forgetCharges() { w.log, w.logged, w.reset = [logMost]charge{}, 0, w.now }

// giveBack takes ticks that came back out of an actor's charge.
func (p *protocol) giveBack(w *world, who int, gen, ticks int8) {
	for i := range w.log[:w.logged] {
		if w.log[i].by == int8(who+1) {
			w.log[i].kept -= int8(int64(ticks) * quarters / p.ticks(gen))
		}
	}
}

// ticks is how many a token has.
func (p *protocol) ticks(gen int8) int64 {
	l := p.limit(gen)
	b, _ := gcra.Book(l, 1, gcra.At(l, 0), 1, 1)
	return b.Cost
}

// add puts a new cell into the map.
func (w *world) add(gen, word int8) int8 {
	for i := range w.cells {
		if w.cells[i] == (mcell{}) {
			w.cells[i] = mcell{gen, word}
			w.entry = int8(i)
			return w.entry
		}
	}
	panic("no room for another cell")
}

// tidy clears what nobody will read again, so that worlds that differ in
// nothing else are one.
func (w *world) tidy() {
	var seen [cellMost]bool
	mark := func(cell int8) {
		if cell != nobody {
			seen[cell] = true
		}
	}
	mark(w.entry)
	for i := range w.actors {
		mark(w.actors[i].cell)
		if w.actors[i].holds {
			mark(w.actors[i].held)
		}
	}
	for i := range w.cells {
		if !seen[i] {
			w.cells[i] = mcell{}
		}
	}
}

// freeze returns the TAT that a cell keeps from now on.
func (c *mcell) freeze() int8 {
	if c.word >= 0 {
		c.word = -c.word
	}
	return -c.word
}

// gone tells whether a cell counts as none.
func (p *protocol) gone(c mcell, gen int8) bool {
	return c.word == deadWord ||
		c.word < 0 && (p.flaw == frozenIsDead || p.flaw == resetKeepsValue && c.gen == gen)
}
