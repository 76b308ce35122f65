package stress_test

// The steps of a decision that holds no lock.

func (t *tableModel) decideStep(w *tableWorld, who int, o tableOrder) {
	a := &w.actors[who]
	b := &w.blocks[a.gen]
	s := &b.slots[a.slot]
	switch a.pc {
	case loadTat:
		t.loadTat(w, who, o)
	case loadHash:
		t.loadHash(w, who, o)
	case loadTatAgain:
		if s.tat == a.tat {
			t.decided(w, who, a.tat)
		} else {
			a.tat, a.pc = 0, loadTat
		}
	case loadSerial:
		if a.serial, a.pc = w.resets, swapTat; t.flaw == serialAfterSwap {
			a.booked = w.resets
			t.finish(w, who)
		}
	case swapTat:
		if s.tat != a.tat {
			a.tat, a.next, a.serial, a.void, a.pc = 0, 0, 0, valid, loadTat
			return
		}
		s.tat = a.next
		t.charge(w, who, a.next)
		if a.pc = loadSerial; !o.books() || t.flaw != serialAfterSwap {
			t.finish(w, who)
		}
	case loadOldBlock:
		a.brought = true
		if b.old {
			a.bucket, a.pc = 0, bringLoad
			return
		}
		t.absent(w, who, o)
	case readClockAbsent:
		// Nobody is taken over while fresh lies ahead.
		if t.fresh(w, a.gen) > t.tick(w, a.gen, w.now) {
			t.decideAbsent(w, who, o)
		} else {
			t.again(w, who)
		}
	case loadBlockAgain:
		if w.gens-1 == a.gen {
			t.decided(w, who, t.fresh(w, a.gen))
		} else {
			t.again(w, who)
		}
	}
}

// loadTat: a slot's TAT before its hash, or the hash may be that of the owner
// before.
func (t *tableModel) loadTat(w *tableWorld, who int, o tableOrder) {
	a := &w.actors[who]
	s := &w.blocks[a.gen].slots[a.slot]
	if t.flaw == hashFirst {
		if s.key != o.key {
			t.nextSlot(w, who, o)
		} else {
			a.pc = loadHash
		}
		return
	}
	if a.tat = s.tat; a.tat >= 0 || t.flaw == claimedIsPresent && a.tat == claimed && a.mode == inserting {
		a.pc = loadHash
	} else {
		t.nextSlot(w, who, o)
	}
}

func (t *tableModel) loadHash(w *tableWorld, who int, o tableOrder) {
	a := &w.actors[who]
	s := &w.blocks[a.gen].slots[a.slot]
	if t.flaw == hashFirst {
		if a.tat = s.tat; a.tat < 0 {
			t.nextSlot(w, who, o)
			return
		}
	} else if s.key != o.key {
		t.nextSlot(w, who, o)
		return
	}
	switch a.mode {
	case inserting:
		w.unlock(who)
		a.tat, a.mode, a.pc = 0, deciding, loadTat
		return
	case giving:
		a.pc = readClockGiving
		if t.flaw == givesByStaleClock && o.kind == cancel {
			t.consult(w, who, o)
		}
		return
	}
	a.next, _ = t.decide(w, a, o, a.tat)
	switch {
	case a.next == a.tat && t.flaw == decidesOnce:
		t.decided(w, who, a.tat)
	case a.next == a.tat:
		a.pc, a.next = loadTatAgain, 0
	case o.books() && t.flaw != serialAfterSwap:
		a.pc = loadSerial
	default:
		a.pc = swapTat
	}
}

func (t *tableModel) nextSlot(w *tableWorld, who int, o tableOrder) {
	a := &w.actors[who]
	a.tat, a.pc = 0, loadTat
	if a.slot++; a.slot == slotsMost {
		a.slot = 0
		t.absent(w, who, o)
	}
}

// absent goes on after a scan that did not find the key.
func (t *tableModel) absent(w *tableWorld, who int, o tableOrder) {
	a := &w.actors[who]
	switch a.mode {
	case inserting:
		t.mayInsert(w, who, o)
		return
	case giving:
		t.nothing(w, who)
		return
	}
	if t.beforeInsert(w, who); a.pc != lockStripe {
		return
	}
	if fresh := t.fresh(w, a.gen); fresh > t.tick(w, a.gen, a.now) && t.flaw != absentByOldReading {
		if next, _ := t.decide(w, a, o, fresh); next == fresh {
			a.pc = readClockAbsent
			return
		}
	}
	t.decideAbsent(w, who, o)
}

// decideAbsent decides on a key that was not found, without a lock if there is
// nothing to write.
func (t *tableModel) decideAbsent(w *tableWorld, who int, o tableOrder) {
	a := &w.actors[who]
	fresh := t.fresh(w, a.gen)
	switch next, _ := t.decide(w, a, o, fresh); {
	case next != fresh:
		a.mode, a.pc = inserting, lockStripe
	case t.changes() && t.flaw != absentUnchecked:
		a.pc = loadBlockAgain
	default:
		t.decided(w, who, fresh)
	}
}
