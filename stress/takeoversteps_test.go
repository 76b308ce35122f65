package stress_test

// The steps of the Table's operations. Each reads or writes one thing that
// others write; what follows from it without looking again belongs to the same
// step, and so do taking a lock, to what comes next, and leaving it, to what
// came before.
const (
	setOut int8 = iota
	loadBlock
	readS
	setS
	readClockAfter // for blockFirst

	loadTat // the scan: of each slot
	loadHash
	loadTatAgain
	loadSerial
	swapTat
	loadOldBlock
	readClockAbsent
	loadBlockAgain

	lockStripe
	checkBlock
	readClockLocked // insert
	pickSlot
	loadMark
	claim
	storeHash
	storeTat
	unclaim // for claimUndone

	readClockGiving // give-back and reset
	loadTatGiving
	raiseMark
	drawSerial
	lowerTat
	noteReset

	lockFirst // SetLimit
	lockSecond
	lockThird
	publishBlock
	dropOld

	bringLoad
	bringSwap
	bringClock
	bringClaim
	bringHash
	bringTat
)

var stepNames = [...]string{
	setOut: "begin", loadBlock: "load-block", readS: "read-S", setS: "set-S", readClockAfter: "clock",
	loadTat: "load-tat", loadHash: "load-hash", loadTatAgain: "load-tat-again", loadSerial: "load-resets", swapTat: "CAS-tat",
	loadOldBlock: "load-old", readClockAbsent: "clock", loadBlockAgain: "load-block-again",
	lockStripe: "lock", checkBlock: "check-block", readClockLocked: "clock", pickSlot: "pick", loadMark: "load-mark",
	claim: "claim", storeHash: "store-hash", storeTat: "store-tat", unclaim: "unclaim",
	readClockGiving: "clock", loadTatGiving: "load-tat-again", raiseMark: "raise-mark", drawSerial: "++resets", lowerTat: "CAS-tat", noteReset: "note",
	lockFirst: "lock", lockSecond: "lock", lockThird: "lock", publishBlock: "publish", dropOld: "drop-old",
	bringLoad: "bring:load-tat", bringSwap: "bring:CAS-tat", bringClock: "bring:clock", bringClaim: "bring:claim",
	bringHash: "bring:store-hash", bringTat: "bring:store-tat",
}

// What a scan is for.
const (
	deciding int8 = iota
	inserting
	giving
)

func (t *tableModel) step(w *tableWorld, who, way int) bool {
	a := &w.actors[who]
	if int(a.op) == len(t.programs[who]) || way > 0 && (a.pc != pickSlot || a.tries > 0 || way >= slotsMost) {
		return false
	}
	o := t.programs[who][a.op]
	switch {
	case o.kind == wait:
		w.now++
		t.finish(w, who)
	case !t.takeLock(w, who, o):
		return false
	case a.pc <= readClockAfter:
		t.beginStep(w, who, o)
	case a.pc <= loadBlockAgain:
		t.decideStep(w, who, o)
	case a.pc <= unclaim:
		t.insertStep(w, who, way, o)
	case a.pc <= noteReset:
		t.lowerStep(w, who, o)
	case a.pc <= dropOld:
		t.changeStep(w, who)
	default:
		t.bringStep(w, who)
	}
	t.watch(w)
	return true
}

// takeLock takes the lock that an actor's next step needs, or reports false.
func (t *tableModel) takeLock(w *tableWorld, who int, o tableOrder) bool {
	a := &w.actors[who]
	var lock *int8
	switch a.pc {
	case lockStripe:
		lock = &w.locks[t.stripes[o.key-1]]
		if t.flaw == insertsUnlocked && a.mode == inserting || t.flaw == givesUnlocked && o.kind == cancel {
			return true
		}
	case bringLoad:
		if lock = &w.locks[t.buckets[a.bucket]]; *lock == int8(who+1) || t.flaw == bringsUnlocked {
			return true // again
		}
	case lockFirst, lockSecond, lockThird:
		lock = &w.locks[a.pc-lockFirst]
	default:
		return true
	}
	if *lock != 0 {
		return false
	}
	*lock = int8(who + 1)
	return true
}

// unlock leaves the locks that an actor has.
func (w *tableWorld) unlock(who int) {
	for i := range w.locks {
		if w.locks[i] == int8(who+1) {
			w.locks[i] = 0
		}
	}
}

// finish ends an operation. Only a booking outlives it.
func (t *tableModel) finish(w *tableWorld, who int) {
	w.unlock(who)
	a := &w.actors[who]
	next := tableActor{op: a.op + 1}
	if a.holds && t.programs[who][a.op].kind != cancel {
		next.holds, next.void, next.of, next.mine, next.end = true, a.void, a.of, a.mine, a.end
		next.from, next.begins, next.ticks, next.booked = a.from, a.begins, a.ticks, a.booked
	}
	*a = next
}

// again starts an operation again.
func (t *tableModel) again(w *tableWorld, who int) {
	w.actors[who].op--
	t.finish(w, who)
}

func (t *tableModel) beginStep(w *tableWorld, who int, o tableOrder) {
	a := &w.actors[who]
	switch a.pc {
	case setOut:
		switch o.kind {
		case take, book, pace, peek:
			a.now, a.pc = w.now, loadBlock
			if t.flaw == blockFirst {
				a.gen, a.pc, a.now = w.gens-1, readClockAfter, 0
			}
		case reset:
			a.seen, a.pc = 1<<15, loadBlock
		case cancel:
			if !a.holds {
				t.finish(w, who)
				return
			}
			a.seen, a.gen, a.mode, a.pc = 1<<15, a.mine, giving, lockStripe
			if t.watch(w); t.flaw == checksBeforeLock && w.gens-1 != a.gen {
				t.nothing(w, who)
			}
			return
		case change:
			if a.next = w.now + 1; t.flaw != sinceBeforeBlock {
				a.next = 0
			}
			if a.pc = lockFirst; t.flaw == publishesUnlocked {
				a.pc = publishBlock
			}
			return
		}
		if !t.changes() {
			t.haveBlock(w, who, o) // there is but one
		}
	case loadBlock:
		if a.gen = w.gens - 1; w.since[a.gen] == 0 {
			a.pc = readS
		} else {
			t.haveBlock(w, who, o)
		}
	case readS:
		a.next, a.pc = w.now+1, setS
	case setS:
		if w.since[a.gen] == 0 {
			w.since[a.gen] = a.next
		}
		t.haveBlock(w, who, o)
	case readClockAfter:
		a.now = w.now
		if w.since[a.gen] == 0 {
			a.pc = readS
			return
		}
		t.haveBlock(w, who, o)
	}
}

// haveBlock goes on with a block whose S is read.
func (t *tableModel) haveBlock(w *tableWorld, who int, o tableOrder) {
	a := &w.actors[who]
	// Before the scan: what was not found there can be in the old block only if
	// that was not empty before.
	a.brought = !w.blocks[a.gen].old && (t.flaw != loadsOldAfter || o.kind == reset)
	switch a.next = 0; o.kind {
	case reset:
		a.mode = giving
		if t.beforeInsert(w, who); t.flaw == resetsUnbrought {
			a.pc = lockStripe
		}
	case change:
		w.unlock(who)
		a.bucket, a.pc = 0, bringLoad
		switch t.flaw {
		case dropsOldEarly:
			w.blocks[a.gen].old = false
		case leavesUnbrought:
			t.finish(w, who)
		}
	default:
		a.mode, a.pc, a.seen = deciding, loadTat, t.owing(w, a, o.key)
	}
}

// beforeInsert sees to it that there is nothing to be brought over.
func (t *tableModel) beforeInsert(w *tableWorld, who int) {
	a := &w.actors[who]
	switch a.pc = lockStripe; {
	case a.brought || t.flaw == insertsUnbrought:
	case t.flaw == loadsOldAfter && a.mode == deciding:
		a.pc = loadOldBlock
	default:
		a.brought, a.pc = true, bringLoad
	}
}

// label names the key that an actor is about, and its step.
func (t *tableModel) label(w *tableWorld, who int) string {
	a := &w.actors[who]
	o := t.programs[who][a.op]
	name := stepNames[a.pc]
	if a.pc == setOut {
		name = [...]string{take: "take", peek: "peek", book: "book", pace: "pace", cancel: "cancel", reset: "reset", change: "SetLimit", wait: "tick"}[o.kind]
		if o.key > 0 {
			name += string('0' + rune(o.key))
		}
	} else if a.pc <= lowerTat && a.pc >= loadTat && a.pc != lockStripe {
		name += "[" + string('0'+rune(a.slot)) + "]"
	}
	return name
}
