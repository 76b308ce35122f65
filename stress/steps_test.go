package stress_test

// The steps of the operations. Each reads or writes one thing that others see;
// what follows from it without looking again belongs to the same step.
const (
	begin int8 = iota
	loadGeneration
	readSince
	setSince
	readClockLate // for generationFirst

	loadCell // take and book
	loadWord
	swapWord
	lookOnly
	lockMap // insert
	lookOld
	readClock
	loadOld
	freezeOld
	store

	sweepCell
	sweepWord
	kill
	remove

	publish

	resetCell
	resetWord
	resetKill

	lockToRenew
	freeze
	renewed

	cancelWord
	cancelClock
	cancelSwap

	presentCell
	presentDead
	presentClock
	presentFreeze
	presentSwap

	// Not steps: where to go on after the generation was read.
	haveCell
	haveKey
	changed
	mayCancel
	havePresent
)

// step lets an actor do its next step, and reports false if it has none or has
// to wait for the map's lock.
func (p *protocol) step(w *world, who, way int) bool {
	a := &w.actors[who]
	if way > 0 || int(a.op) == len(p.programs[who]) {
		return false
	}
	o := p.programs[who][a.op]
	switch a.pc {
	case begin:
		p.begin(w, a, o)
	case loadGeneration:
		if a.gen = w.gens - 1; w.since[a.gen] != 0 {
			p.goOn(w, a, o)
		} else {
			a.pc = readSince
		}
	case readSince:
		a.next, a.pc = w.now+1, setSince
	case setSince:
		if w.since[a.gen] == 0 {
			w.since[a.gen] = a.next
		}
		p.goOn(w, a, o)
	case loadCell, loadWord, swapWord, lookOnly, readClockLate:
		p.takeStep(w, a, o, who)
	case lockMap, lockToRenew:
		if w.lock != 0 {
			return false
		}
		w.lock = int8(who + 1)
		fallthrough
	case lookOld, readClock, loadOld, freezeOld, store, freeze, renewed:
		p.mapStep(w, a, o, who)
	case sweepCell, sweepWord, kill:
		p.sweepStep(w, a, o)
	case remove:
		if w.lock != 0 {
			return false // one operation of the map
		}
		if w.entry == a.cell || p.flaw == deletesOther {
			w.entry = nobody
		}
		a.finish(o)
	case publish:
		w.since[w.gens] = a.next
		w.gens++
		a.finish(o)
	case resetCell, resetWord, resetKill:
		p.resetStep(w, a, o)
	case presentCell, presentDead, presentClock, presentFreeze, presentSwap:
		p.presentStep(w, a)
	case cancelWord, cancelClock, cancelSwap:
		p.cancelStep(w, a, o, who)
	}
	w.tidy()
	return true
}

func (a *actor) finish(o order) {
	next := actor{op: a.op + 1, cell: nobody}
	if o.kind != cancel && a.holds {
		next.holds, next.held, next.mine = true, a.held, a.mine
		next.from, next.slot, next.end, next.ticks = a.from, a.slot, a.end, a.ticks
	}
	*a = next
}

func (a *actor) generation(ret int8) { a.pc, a.ret = loadGeneration, ret }

func (p *protocol) begin(w *world, a *actor, o order) {
	switch a.now = w.now; o.kind {
	case wait:
		w.now++
		a.finish(o)
	case take, book:
		if a.pc = loadCell; p.flaw == generationFirst {
			a.gen, a.pc = w.gens-1, readClockLate
			if w.since[a.gen] == 0 {
				a.pc, a.ret = readSince, readClockLate
			}
		}
	case sweep:
		a.pc = sweepCell
	case reset:
		a.pc = resetCell
	case change:
		if p.flaw == sinceFirst {
			a.next, a.pc = w.now+1, publish
			break
		}
		w.gens++
		a.generation(changed)
	case convert:
		if a.cell = w.entry; a.cell == nobody {
			a.finish(o)
			break
		}
		a.generation(haveKey)
	case cancel:
		switch {
		case !a.holds:
			a.finish(o)
		case p.flaw == staleGiveBack:
			a.generation(mayCancel)
		default:
			a.pc, a.now = cancelWord, 0
		}
	}
}

// goOn goes on after the generation was read.
func (p *protocol) goOn(w *world, a *actor, o order) {
	a.next = 0
	switch a.pc = a.ret; a.ret {
	case haveCell:
		p.haveCell(w, a)
	case havePresent:
		p.havePresent(w, a)
	case haveKey:
		if p.same(w.cells[a.cell].gen, a.gen) {
			a.finish(o)
		} else {
			a.pc = lockToRenew
		}
	case changed:
		a.finish(o)
	case mayCancel:
		switch {
		case a.gen != a.mine && p.flaw != returnsAcross:
			a.finish(o)
		case p.flaw == staleGiveBack:
			a.pc = cancelWord
		default:
			p.cancelTo(w, a, o)
		}
	}
}

func (p *protocol) haveCell(w *world, a *actor) {
	if a.pc = lookOnly; a.cell != nobody && p.same(w.cells[a.cell].gen, a.gen) {
		a.pc = loadWord
	} else if p.single {
		a.pc, a.keep = presentCell, true
	}
}

func (p *protocol) takeStep(w *world, a *actor, o order, who int) {
	switch a.pc {
	case readClockLate:
		a.now, a.pc = w.now, loadCell
	case loadCell:
		if a.cell = w.entry; p.flaw == generationFirst {
			p.haveCell(w, a)
		} else {
			a.generation(haveCell)
		}
	case loadWord:
		a.word = w.cells[a.cell].word
		tat := a.word
		if tat < 0 {
			if p.flaw != chargesFrozen || tat == deadWord {
				if a.pc = lookOnly; p.single {
					a.pc, a.keep = presentCell, false
				}
				return
			}
			tat = -tat
		}
		next, ok := p.decide(w, a, o, tat)
		if !ok {
			a.finish(o)
			return
		}
		a.next, a.pc = next, swapWord
	case swapWord:
		c := &w.cells[a.cell]
		if c.word != a.word {
			a.pc = loadWord
			return
		}
		if c.word = a.next; a.word < 0 {
			c.word = -a.next // frozen as it was
		}
		p.note(w, who, a, o, a.cell)
		a.finish(o)
	case lookOnly:
		if _, ok := p.decide(w, a, o, p.balance(w, a.cell, a.gen)); ok {
			a.pc = lockMap
		} else {
			a.finish(o)
		}
	}
}

// mapStep is what is done under the map's lock, by insert and renew.
func (p *protocol) mapStep(w *world, a *actor, o order, who int) {
	switch a.pc {
	case lockMap:
		a.cell = w.entry
		switch a.pc, a.word = lookOld, 0; {
		case p.flaw == staleInsert:
			a.generation(loadOld)
		case a.cell == nobody || p.flaw == deadUnseen:
			a.pc = readClock
		}
	case lookOld:
		if a.pc = readClock; p.gone(w.cells[a.cell], a.gen) {
			a.word = deadWord // seen before the clock is read
		}
	case readClock:
		a.now = w.now
		a.generation(loadOld)
	case loadOld:
		if a.cell == nobody {
			p.insert(w, a, o, who, p.fresh(w, a.gen))
			return
		}
		switch c := w.cells[a.cell]; {
		case p.same(c.gen, a.gen) && c.word >= 0:
			w.lock, a.pc = 0, begin // it is present
		case p.gone(c, a.gen):
			p.insertDead(w, a, o, who)
		default:
			a.pc = freezeOld
		}
	case freezeOld:
		c := &w.cells[a.cell]
		if p.gone(*c, a.gen) {
			p.insertDead(w, a, o, who)
			return
		}
		a.word = c.freeze()
		a.generation(store)
	case store:
		p.insert(w, a, o, who, p.forward(w, a.word, w.cells[a.cell].gen, a.gen))

	case lockToRenew:
		if a.pc = freeze; w.entry != a.cell {
			w.lock = 0
			a.renewed(o)
		}
	case freeze:
		c := &w.cells[a.cell]
		if c.word == deadWord {
			w.lock = 0
			a.renewed(o)
			return
		}
		a.word = c.freeze()
		a.generation(renewed)
	case renewed:
		w.add(a.gen, p.forward(w, a.word, w.cells[a.cell].gen, a.gen))
		w.lock = 0
		a.renewed(o)
	}
}

// renewed: a reset tries again, a conversion is done.
func (a *actor) renewed(o order) {
	if o.kind == reset {
		*a = actor{op: a.op, cell: nobody}
	} else {
		a.finish(o)
	}
}

// insertDead replaces a dead cell, unless it died after the clock was read.
func (p *protocol) insertDead(w *world, a *actor, o order, who int) {
	if a.word != deadWord && p.flaw != deadUnseen && p.flaw != staleInsert {
		a.word, a.pc = deadWord, readClock
		return
	}
	p.insert(w, a, o, who, p.fresh(w, a.gen))
}

func (p *protocol) insert(w *world, a *actor, o order, who int, tat int8) {
	w.lock = 0
	if next, ok := p.decide(w, a, o, tat); ok {
		p.note(w, who, a, o, w.add(a.gen, next))
	}
	a.finish(o)
}
