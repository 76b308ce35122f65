package stress_test

// The steps of atomic.Limiter's present: it has a pointer where shard has a map,
// and puts a cell without a charge there, so that a decision may come to it with
// a reading from before the reset.

func (p *protocol) presentStep(w *world, a *actor) {
	switch a.pc {
	case presentCell:
		a.cell, a.pc = w.entry, presentDead
	case presentDead:
		a.word, a.pc = 0, presentClock
		if w.cells[a.cell].word == deadWord {
			a.word = deadWord
		}
	case presentClock:
		a.again = w.now
		a.generation(havePresent)
	case presentFreeze:
		c := &w.cells[a.cell]
		switch {
		case a.word == deadWord && p.flaw == freshAfterReset:
			a.next = p.fresh(w, a.gen)
		case a.word == deadWord:
			a.next = max(p.fresh(w, a.gen), int8(p.at(w, a.gen, a.again).Tick))
		case c.word == deadWord:
			a.pc = presentCell
			return
		default:
			a.next = p.forward(w, c.freeze(), c.gen, a.gen)
		}
		a.pc = presentSwap
	case presentSwap:
		if w.entry == a.cell {
			w.add(a.gen, a.next)
		}
		a.pc, a.next = presentCell, 0
	}
}

func (p *protocol) havePresent(w *world, a *actor) {
	a.pc = presentFreeze
	if p.same(w.cells[a.cell].gen, a.gen) && a.word != deadWord {
		if a.pc = begin; a.keep {
			a.pc = loadWord
		}
		a.again, a.keep, a.word = 0, false, 0
	}
}
