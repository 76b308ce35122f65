package stress_test

// The steps of an insert and of what lowers a TAT, under the key's stripe lock.

func (t *tableModel) insertStep(w *tableWorld, who, way int, o tableOrder) {
	a := &w.actors[who]
	b := &w.blocks[a.gen]
	s := &b.slots[a.slot]
	switch a.pc {
	case lockStripe:
		if a.slot = 0; t.flaw == givesByStaleClock && o.kind == cancel {
			a.now, a.pc = w.now, checkBlock
			return
		}
		if a.pc = checkBlock; !t.changes() || t.unchecked(a, o) {
			t.lookLocked(w, who, o)
		}
	case checkBlock:
		switch {
		case w.gens-1 == a.gen:
			t.lookLocked(w, who, o)
		case o.kind == cancel:
			t.nothing(w, who)
		default:
			t.again(w, who)
		}
	case readClockLocked:
		t.readInsertClock(w, who, o)
	case pickSlot:
		t.pick(w, who, way)
	case loadMark:
		t.judgeMark(w, who, b.marks[t.groups[a.slot]])
	case claim:
		if s.tat != a.tat {
			t.pickAgain(a)
			return
		}
		switch t.flaw {
		case claimsNothing, hashBeforeSwap:
			s.tat = a.next
			t.charge(w, who, a.next)
			if a.pc = storeHash; t.flaw == hashBeforeSwap {
				t.finish(w, who)
			}
		case claimUndone:
			if s.tat, a.pc = claimed, loadMark; a.tat == 0 {
				a.pc = storeHash
			}
		case tatBeforeHash:
			s.tat, a.pc = claimed, storeTat
		default:
			s.tat, a.pc = claimed, storeHash
		}
	case storeHash:
		s.key, a.pc = o.key, storeTat
		switch t.flaw {
		case hashBeforeSwap:
			a.pc = claim
		case claimsNothing, tatBeforeHash:
			t.finish(w, who)
		}
	case storeTat:
		s.tat = a.next
		t.charge(w, who, a.next)
		if a.pc = storeHash; t.flaw != tatBeforeHash {
			t.finish(w, who)
		}
	case unclaim:
		s.tat = a.tat
		t.nextPick(w, who)
	}
}

// unchecked tells whether a broken protocol forgets to look, under the lock,
// whether its block is the current one. It may look at any time before it lets
// go: SetLimit takes all locks to publish the next.
func (t *tableModel) unchecked(a *tableActor, o tableOrder) bool {
	switch t.flaw {
	case insertsUnchecked:
		return a.mode == inserting
	case resetsUnchecked:
		return o.kind == reset
	case givesUnchecked, checksBeforeLock:
		return o.kind == cancel
	}
	return false
}

// lookLocked scans again, under the lock.
func (t *tableModel) lookLocked(w *tableWorld, who int, o tableOrder) {
	a := &w.actors[who]
	switch {
	case t.flaw == insertsUnscanned && a.mode == inserting:
		t.mayInsert(w, who, o)
	case t.flaw == clockBeforeScan && a.mode == inserting:
		a.now, a.pc = w.now, loadTat
		a.seen = t.owing(w, a, o.key)
	default:
		a.pc = loadTat
		t.loadTat(w, who, o)
	}
}

func (t *tableModel) mayInsert(w *tableWorld, who int, o tableOrder) {
	if w.actors[who].pc = readClockLocked; t.flaw == staleInsertion || t.flaw == clockBeforeScan {
		t.decideFresh(w, who, o)
	}
}

func (t *tableModel) readInsertClock(w *tableWorld, who int, o tableOrder) {
	a := &w.actors[who]
	a.now = w.now
	a.seen = t.owing(w, a, o.key)
	t.decideFresh(w, who, o)
}

// decideFresh decides as for a key never seen.
func (t *tableModel) decideFresh(w *tableWorld, who int, o tableOrder) {
	a := &w.actors[who]
	tat := max(t.fresh(w, a.gen), t.tick(w, a.gen, a.now)) // and no schedule
	if a.next, _ = t.decide(w, a, o, tat); a.next == tat {
		t.decided(w, who, tat)
		return
	}
	if o.books() {
		a.serial = w.resets
	}
	t.pickAgain(a)
}

func (t *tableModel) pickAgain(a *tableActor) {
	a.pc, a.slot, a.tat, a.mark, a.tries = pickSlot, 0, 0, 0, 0
}

// nextPick tries the other slot; or there is no room.
func (t *tableModel) nextPick(w *tableWorld, who int) {
	a := &w.actors[who]
	a.tat, a.mark, a.pc = 0, 0, pickSlot
	a.slot = (a.slot + 1) % slotsMost
	if a.tries++; a.tries == slotsMost {
		t.finish(w, who)
	}
}

// pick looks whether a slot may be taken, beginning with any of them.
func (t *tableModel) pick(w *tableWorld, who, way int) {
	a := &w.actors[who]
	b := &w.blocks[a.gen]
	if a.tries == 0 && a.mark == 0 {
		a.slot = int8(way)
	}
	if t.flaw == markFirst && a.mark == 0 {
		a.mark = b.marks[t.groups[a.slot]] + 1
		return
	}
	now, fresh := t.tick(w, a.gen, a.now), t.fresh(w, a.gen)
	late, passed := b.slots[a.slot].tat, fresh < now
	switch t.flaw {
	case takesAtNow:
		late--
	case freshUntested:
		passed = true
	case freshNotStrict:
		passed = fresh <= now
	}
	switch {
	case b.slots[a.slot].tat == 0:
		a.pc = claim
	case late >= 0 && late < now && passed:
		a.tat, a.pc = b.slots[a.slot].tat, loadMark
		switch t.flaw {
		case markUnread:
			a.pc = claim
		case markFirst:
			t.judgeMark(w, who, a.mark-1)
		case claimUndone:
			a.pc = claim
		}
	default:
		t.nextPick(w, who)
		return
	}
	if t.flaw == hashBeforeSwap && a.pc == claim {
		a.pc = storeHash
	}
}

// judgeMark: somebody may still swap a TAT up to the mark.
func (t *tableModel) judgeMark(w *tableWorld, who int, mark int8) {
	a := &w.actors[who]
	now := t.tick(w, a.gen, a.now)
	free := mark < now
	if t.flaw == markNotStrict {
		free = mark <= now
	}
	a.mark = 0
	switch {
	case free && t.flaw == claimUndone:
		a.pc = storeHash
	case free:
		if a.pc = claim; t.flaw == hashBeforeSwap {
			a.pc = storeHash
		}
	case t.flaw == claimUndone:
		a.pc = unclaim
	default:
		t.nextPick(w, who)
	}
}
