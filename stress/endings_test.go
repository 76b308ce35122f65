package stress_test

import "github.com/weir-go/weir/gcra"

// The steps of the operations that end a cell's life or lower its word.

func (p *protocol) sweepStep(w *world, a *actor, o order) {
	if a.pc == sweepCell {
		if a.cell = w.entry; a.cell == nobody {
			a.finish(o)
		} else {
			a.generation(sweepWord)
		}
		return
	}
	c := &w.cells[a.cell]
	if a.pc == kill {
		if a.pc = sweepWord; c.word == a.word {
			c.word, a.pc = deadWord, remove
		}
		return
	}
	if p.gone(*c, a.gen) {
		a.pc = remove
		return
	}
	tat, gen := max(c.word, -c.word), a.gen
	if p.flaw == judgesByOldLimit {
		gen = c.gen
	}
	at := int8(p.at(w, gen, a.now).Tick)
	if p.forward(w, tat, c.gen, gen) > at || p.fresh(w, gen) > at && p.flaw != ignoresFresh {
		a.finish(o)
		return
	}
	a.word, a.pc = c.word, kill
	if c.word < 0 || p.flaw == deletesAlive {
		a.pc = remove
	}
}

func (p *protocol) resetStep(w *world, a *actor, o order) {
	if a.pc == resetCell {
		if a.cell = w.entry; a.cell == nobody {
			a.finish(o)
		} else {
			a.generation(resetWord)
		}
		return
	}
	c := &w.cells[a.cell]
	if a.pc == resetKill {
		if a.pc = resetWord; c.word == a.word {
			if c.word = deadWord; p.flaw == resetKeepsValue {
				c.word = -a.word
			}
			w.forget(w.now)
			a.finish(o)
		}
		return
	}
	switch {
	case p.gone(*c, a.gen):
		a.finish(o)
	case !p.same(c.gen, a.gen):
		if a.pc = lockToRenew; p.single {
			a.pc = presentCell
		}
	case c.word < 0: // frozen: there is a newer generation
		a.renewed(o)
	case c.word <= max(p.fresh(w, a.gen), int8(p.at(w, a.gen, a.now).Tick)):
		a.finish(o) // it is full
	default:
		a.word, a.pc = c.word, resetKill
	}
}

func (p *protocol) cancelStep(w *world, a *actor, o order, who int) {
	if p.flaw == returnsAcross && a.pc == cancelWord && w.entry != nobody {
		a.held = w.entry // the key's cell, and not the one it booked in
	}
	c := &w.cells[a.held]
	switch a.pc {
	case cancelWord:
		if a.word = c.word; a.word < 0 {
			a.finish(o)
		} else if a.pc = cancelClock; p.flaw == staleGiveBack {
			p.cancelTo(w, a, o)
		}
	case cancelClock:
		a.now = w.now
		a.generation(mayCancel)
	case cancelSwap:
		if a.pc = cancelWord; c.word == a.word {
			c.word = a.next
			w.returned(who, int8(int64(a.word-a.next)*quarters/p.ticks(a.mine)))
			a.finish(o)
		}
	}
}

func (p *protocol) cancelTo(w *world, a *actor, o order) {
	b := gcra.Booking{Cost: int64(a.ticks), From: int64(a.from), Slot: int64(a.slot), End: int64(a.end)}
	a.next = int8(gcra.GiveBack(p.limit(a.mine), int64(a.word), p.at(w, a.mine, a.now), b, o.n))
	if a.pc = cancelSwap; a.next == a.word {
		a.finish(o)
	}
}
