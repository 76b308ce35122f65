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
	deadWord = math.MinInt8
	nobody   = -1
	cellMost = 6 // cells that somebody can still see
	actors   = 4 // the last one is the clock's hand
)

// world is all that a search remembers: a comparable value without pointers.
type world struct {
	eras
	tally
	now    int8
	entry  int8            // the cell in the map
	lock   int8            // of the map: the actor that holds it, plus one
	cells  [cellMost]mcell // those that nobody sees any more are zero
	actors [actors]actor
}

// mcell is a cell: a word, with the sign for frozen.
type mcell struct{ gen, word int8 }

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
	peek         // what take would decide
	book         // n tokens, to be cancelled by the next order
	pace         // book, by the key's schedule
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
	rates
	flaw     flaw
	programs [actors][]order
	loaded   bool // the key has a full cell at the beginning
	single   bool // atomic.Limiter: a pointer for the map, always with a cell
}

// at is the instant of a reading under a generation.
func (p *protocol) at(w *world, gen, now int8) gcra.Instant {
	if p.flaw == beforeSince {
		return gcra.At(p.limit(gen), time.Duration(now))
	}
	return p.rates.at(&w.eras, gen, now)
}

// fresh is the TAT of a key without a cell.
func (p *protocol) fresh(w *world, gen int8) int8 {
	return p.forward(w, p.rates.fresh(), 0, gen)
}

// forward converts a TAT from one generation to a later one.
func (p *protocol) forward(w *world, tat, from, to int8) int8 {
	if p.same(from, to) {
		return tat
	}
	if p.flaw == parityBit {
		from = to - 1 // all that a bit tells
	}
	return p.rates.forward(&w.eras, tat, from, to)
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
	w.tally.add(c)
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
