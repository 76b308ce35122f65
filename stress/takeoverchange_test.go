package stress_test

// The steps of SetLimit, which leaves a block, and of bringing its keys over.

func (t *tableModel) changeStep(w *tableWorld, who int) {
	a := &w.actors[who]
	switch a.pc {
	case lockFirst, lockSecond, lockThird:
		if a.pc++; a.pc == publishBlock || t.flaw == publishesHalfLocked {
			a.pc = publishBlock
			if t.flaw != sinceBeforeBlock {
				t.publish(w, who)
			}
		}
	case publishBlock:
		t.publish(w, who)
	case dropOld:
		w.blocks[a.gen].old = false
		t.finish(w, who)
	}
}

func (t *tableModel) publish(w *tableWorld, who int) {
	a := &w.actors[who]
	a.gen = w.gens
	w.blocks[a.gen].old = true
	w.since[a.gen] = a.next
	w.gens++
	if a.pc, a.next = readS, 0; w.since[a.gen] != 0 {
		a.pc = setS
	}
}

// bringStep empties a bucket of the old block into the same one of the next.
func (t *tableModel) bringStep(w *tableWorld, who int) {
	a := &w.actors[who]
	old := &w.blocks[a.gen-1].slots[a.bucket]
	b := &w.blocks[a.gen].slots[a.bucket]
	switch a.pc {
	case bringLoad:
		if a.tat = old.tat; a.tat <= 0 {
			t.nextBucket(w, who)
			return
		}
		switch a.pc = bringSwap; t.flaw {
		case bringsPlainly:
			t.convert(w, who, old.key)
			a.pc = bringClock
		case newFirst, oldStaysAlive:
			a.next = t.forward(&w.eras, a.tat, a.gen-1, a.gen)
			a.pc = bringClock
		case bringClockFirst:
			a.mark = w.now + 1
		}
	case bringSwap:
		if old.tat != a.tat {
			a.pc, a.tat = bringLoad, 0
			return
		}
		old.tat, a.pc = moved, bringClock
		t.convert(w, who, old.key)
		switch t.flaw {
		case newFirst:
			t.nextBucket(w, who)
		case bringClockFirst:
			t.keepOrDrop(w, who, a.mark-1)
		}
	case bringClock:
		t.keepOrDrop(w, who, w.now)
	case bringClaim:
		b.tat, a.pc = claimed, bringHash
	case bringHash:
		b.key, a.pc = old.key, bringTat
		if t.flaw == bringsUnclaimed {
			t.nextBucket(w, who)
		}
	case bringTat:
		b.tat = a.next
		switch t.flaw {
		case newFirst:
			a.pc = bringSwap
		case bringsUnclaimed:
			a.pc = bringHash
		case bringsPlainly:
			old.tat = moved
			t.nextBucket(w, who)
		case oldStaysAlive:
			t.convert(w, who, old.key)
			t.nextBucket(w, who)
		default:
			t.nextBucket(w, who)
		}
	}
}

// convert is what becomes of the key in the next generation.
func (t *tableModel) convert(w *tableWorld, who int, key int8) {
	a := &w.actors[who]
	a.next = t.forward(&w.eras, a.tat, a.gen-1, a.gen)
	k := &w.keys[key-1]
	k.tat, k.gen = t.forward(&w.eras, k.tat, k.gen, a.gen), a.gen
}

// keepOrDrop forgets a key that is full.
func (t *tableModel) keepOrDrop(w *tableWorld, who int, reading int8) {
	a := &w.actors[who]
	tat, gen, keep := a.next, a.gen, bringClaim
	if t.flaw == dropsByOldLimit {
		tat, gen = a.tat, a.gen-1
	}
	switch t.flaw {
	case bringsHalfWritten:
		keep = bringHash
	case bringsUnclaimed:
		keep = bringTat
	}
	now, fresh := t.tick(w, gen, reading), t.fresh(w, gen)
	full := tat <= now && fresh < now
	switch t.flaw {
	case dropIgnoresFresh:
		full = tat <= now
	case dropAtFresh:
		full = tat <= now && fresh <= now
	}
	if a.pc, a.mark = keep, 0; full {
		t.nextBucket(w, who)
	}
}

// nextBucket goes on to the next bucket, or back to the operation.
func (t *tableModel) nextBucket(w *tableWorld, who int) {
	w.unlock(who)
	a := &w.actors[who]
	o := t.programs[who][a.op]
	a.tat, a.next, a.pc = 0, 0, bringLoad
	if a.bucket++; a.bucket < slotsMost && !(t.flaw == bringsHomeOnly && o.kind != change) {
		return
	}
	a.bucket = 0
	switch a.pc = loadTat; {
	case o.kind == change:
		if a.pc = dropOld; t.flaw == dropsOldEarly {
			t.finish(w, who)
		}
	case o.kind == reset:
		a.pc = lockStripe
	case t.flaw == looksOnce:
		t.absent(w, who, o)
	}
}
