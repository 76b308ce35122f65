package stress_test

import "github.com/weir-go/weir/gcra"

// The steps of give-back and reset, which lower a TAT, under the key's lock.

func (t *tableModel) lowerStep(w *tableWorld, who int, o tableOrder) {
	a := &w.actors[who]
	b := &w.blocks[a.gen]
	s := &b.slots[a.slot]
	group := t.groups[a.slot]
	switch a.pc {
	case readClockGiving:
		a.now = w.now
		t.consult(w, who, o)
	case loadTatGiving:
		if s.tat == a.tat {
			t.nothing(w, who)
		} else {
			a.tat, a.pc = 0, loadTat
		}
	case raiseMark:
		switch t.flaw {
		case markStored:
			b.marks[group] = a.tat
		case marksNext:
			b.marks[group] = max(b.marks[group], a.next)
		default:
			b.marks[group] = max(b.marks[group], a.tat)
		}
		if a.pc = lowerTat; t.flaw == markAfter {
			t.finish(w, who)
		} else if o.kind == reset && !t.drawsLate() {
			a.pc = drawSerial
		}
	case drawSerial:
		w.resets++
		a.serial, a.pc = w.resets, lowerTat
	case lowerTat:
		if s.tat != a.tat {
			a.tat, a.next, a.serial, a.pc = 0, 0, 0, loadTat
			return
		}
		s.tat = a.next
		t.lowered(w, who, a.tat, a.next)
		a.seen = 0
		switch {
		case o.kind == reset && t.drawsLate():
			if a.pc = noteReset; t.flaw == notesUnlocked {
				w.unlock(who)
			}
			return
		case o.kind == reset && t.flaw != resetsUnnoted:
			t.addNote(w, note{o.key, a.serial, a.tat})
		}
		if a.pc = raiseMark; t.flaw != markAfter {
			t.finish(w, who)
		}
	case noteReset:
		w.resets++
		t.addNote(w, note{o.key, w.resets, a.tat})
		t.finish(w, who)
	}
}

func (t *tableModel) drawsLate() bool { return t.flaw == notesUnlocked || t.flaw == drawsAfterSwap }

// consult decides what to lower the TAT to, with the list of resets.
func (t *tableModel) consult(w *tableWorld, who int, o tableOrder) {
	a := &w.actors[who]
	at := t.at(&w.eras, a.gen, a.now)
	now := int8(at.Tick)
	a.next = a.tat
	t.dropNotes(w, o.key, now)
	if o.kind == reset {
		a.next = min(a.tat, max(t.fresh(w, a.gen), now))
	} else if !t.wasReset(w, o.key, a.booked) {
		a.next = int8(gcra.GiveBack(t.limit(a.gen), int64(a.tat), at, a.booking(), o.n))
		if t.flaw == givesBelowNow && a.next < a.tat {
			a.next = max(1, a.tat-a.ticks)
		}
	}
	switch a.pc = raiseMark; {
	case a.next == a.tat && t.flaw == lowersOnce:
		t.nothing(w, who)
	case a.next == a.tat:
		a.next, a.pc = 0, loadTatGiving
	case t.flaw == resetsUnmarked && o.kind == reset:
		a.pc = drawSerial
	case t.flaw == markAfter, t.flaw == givesUnmarked && o.kind == cancel:
		a.pc = lowerTat
	}
}

func (t *tableModel) wasReset(w *tableWorld, key, serial int8) bool {
	for _, n := range w.notes[t.stripes[key-1]] {
		if n.key == key && n.serial > serial {
			return true
		}
	}
	return false
}

// dropNotes forgets the resets that arithmetic remembers.
func (t *tableModel) dropNotes(w *tableWorld, key, now int8) {
	switch t.flaw {
	case dropsAtNow:
		now++
	case dropsEarly:
		now += 2
	}
	notes := &w.notes[t.stripes[key-1]]
	old := *notes
	*notes = [notesMost]note{}
	for _, n := range old {
		if n.key != 0 && n.until >= now {
			t.addNote(w, n)
		}
	}
}

func (t *tableModel) addNote(w *tableWorld, n note) {
	notes := &w.notes[t.stripes[n.key-1]]
	for i := range notes {
		if notes[i].key == 0 {
			notes[i] = n
			return
		}
	}
	panic("no room for another reset")
}
