package stress_test

import (
	"time"

	"github.com/weir-go/weir/gcra"
)

// The takeover of slots, step by step: what shard.Table does with three keys in
// a block of two slots, both of which are candidates of every key. As in
// protocol_test.go gcra decides, and what is modelled is the order of the steps:
// every load, store and swap of a word that somebody else writes, every lock and
// every reading of the clock. takeoversearch_test.go runs all interleavings.
//
// Beside the words each key has what it should be: its charges, which are
// replayed on an exact bucket, and the TAT that they make. Every charge and
// every lowering has to find just that TAT, and what is decided without writing
// has to be right at some moment of the decision.

const (
	keysMost   = 3
	slotsMost  = 2 // in a block; each is a bucket
	blocksMost = 3 // one of a generation
	notesMost  = 2 // resets that a stripe remembers
	tableHands = 5 // the last one is the clock's
	lateMost   = 2 // a schedule may lie behind now by so much

	claimed int8 = -1 // TATs: an insert is writing the slot,
	moved   int8 = -2 // and the key was brought over into the next block
)

// tableWorld is all that a search remembers.
type tableWorld struct {
	eras
	now    int8
	resets int8
	broken breach
	blocks [blocksMost]mblock
	locks  [keysMost]int8 // of the stripes: the actor that holds it, plus one
	notes  [keysMost][notesMost]note
	keys   [keysMost]mkey
	actors [tableHands]tableActor
}

// mblock is what one generation's keys lie in.
type mblock struct {
	slots [slotsMost]mslot
	marks [slotsMost]int8
	old   bool // the block before it has not been emptied yet
}

type mslot struct{ tat, key int8 } // no key was never used

// note is a reset that a give-back has to know of.
type note struct{ key, serial, until int8 }

// mkey is what a key should be: its charges, and the TAT that they made one
// after the other, which no model step looks at.
type mkey struct {
	tally
	tat, gen int8
}

type tableActor struct {
	// What a decision may find, of all that was true since its reading: bit d
	// for a debt of d ticks. For operations that return nothing: bit 0 for
	// nothing to do.
	seen                uint16
	op, pc              int8
	mode                int8 // what the scan is for
	now, gen, slot      int8
	tat, next, mark     int8
	serial, tries       int8
	bucket              int8 // that is brought over
	brought             bool
	holds               bool // a booking:
	void                void
	of, mine, end       int8
	from, begins, ticks int8
	booked              int8 // the serial then
}

// void tells of a booking what a reset did to it. One whose key was reset after
// it had loaded the serial, and whose TAT came up again before it swapped, is
// excused: it returns nothing, although it is from after the reset.
type void int8

const (
	valid void = iota
	voided
	excused
)

type tableOrder struct {
	order
	key int8
}

func (o order) books() bool { return o.kind == book || o.kind == pace }

// A breach is what a step did against the promises.
type breach int8

const (
	unbroken breach = iota
	mischarged
	unfounded
	acrossReset
	acrossChange
	otherKey
)

func (b breach) Error() string {
	return [...]string{
		mischarged:   "a charge was made to a TAT that is not the key's",
		unfounded:    "a decision was right at no moment since its reading",
		acrossReset:  "a booking from before a reset came back",
		acrossChange: "a booking from before a change of limit came back",
		otherKey:     "another key's TAT was lowered",
	}[b]
}

// A tableModel is the model with its actors' programs.
type tableModel struct {
	rates
	flaw     fault
	programs [tableHands][]tableOrder
	stripes  [keysMost]int8  // of the keys
	buckets  [slotsMost]int8 // stripes of the buckets
	groups   [slotsMost]int8 // marks of the buckets
	loaded   bool            // key 1 is there and full, among empty ones
	solo     bool            // look whether everybody gets on alone
}

func (t *tableModel) changes() bool { return len(t.limits) > 1 }

// fresh is the TAT of a key without a slot.
func (t *tableModel) fresh(w *tableWorld, gen int8) int8 {
	return t.forward(&w.eras, t.rates.fresh(), 0, gen)
}

// tick is a reading under a generation.
func (t *tableModel) tick(w *tableWorld, gen, now int8) int8 {
	return int8(t.at(&w.eras, gen, now).Tick)
}

// at is the instant of a reading under a generation.
func (t *tableModel) at(e *eras, gen, now int8) gcra.Instant {
	if t.flaw == ignoresSince {
		return gcra.At(t.limit(gen), time.Duration(now))
	}
	return t.rates.at(e, gen, now)
}

// decide is what an actor's order makes of a TAT.
func (t *tableModel) decide(w *tableWorld, a *tableActor, o tableOrder, tat int8) (next int8, b gcra.Booking) {
	l, at := t.limit(a.gen), t.at(&w.eras, a.gen, a.now)
	from := at.Tick
	switch o.kind {
	case pace:
		from = gcra.Schedule(l, int64(tat), at, lateMost)
		fallthrough
	case book:
		b, _ = gcra.Book(l, int64(tat), at, from, o.n)
		if b.End == 0 || t.changes() && b.Slot > at.Tick {
			return tat, gcra.Booking{}
		}
		return int8(b.End), b
	case take:
		v, _ := gcra.Take(l, int64(tat), at, o.n)
		return int8(v), b
	}
	return tat, b
}

// charge notes that an actor has just made a TAT of another one.
func (t *tableModel) charge(w *tableWorld, who int, next int8) {
	a := &w.actors[who]
	o := t.programs[who][a.op]
	k := &w.keys[o.key-1]
	if k.gen > a.gen {
		w.broken = mischarged
		return
	}
	tat := t.forward(&w.eras, k.tat, k.gen, a.gen)
	should, b := t.decide(w, a, o, tat)
	if should != next && o.kind == pace {
		// It was taken over, and with the slot went the schedule.
		should, b = t.decide(w, a, o, max(tat, t.tick(w, a.gen, a.now)))
	}
	if should != next {
		w.broken = mischarged
	}
	k.tat, k.gen = next, a.gen
	c := charge{date: t.tick(w, a.gen, a.now) - 1, gen: a.gen, kept: int8(o.n * quarters)}
	if o.books() {
		c.date, c.by = int8(b.Slot)-1, int8(who+1)
		a.holds, a.of, a.mine, a.booked = true, o.key, a.gen, a.serial
		a.from, a.begins, a.end, a.ticks = int8(b.From), int8(b.Slot), int8(b.End), int8(b.Cost)
	}
	k.add(c)
}

// lowered notes that an actor has just lowered a TAT.
func (t *tableModel) lowered(w *tableWorld, who int, from, to int8) {
	a := &w.actors[who]
	o := t.programs[who][a.op]
	k := &w.keys[o.key-1]
	if k.gen != a.gen || k.tat != from {
		w.broken = otherKey
	}
	k.tat = to
	if o.kind == reset {
		k.forget(a.now)
		for i := range w.actors {
			switch b := &w.actors[i]; {
			case b.holds && b.of == o.key:
				b.void = voided
			case b.pc == swapTat && t.programs[i][b.op].books() && t.programs[i][b.op].key == o.key:
				b.void = excused
			}
		}
		return
	}
	if a.void == voided {
		w.broken = acrossReset
	}
	if a.mine != w.gens-1 {
		w.broken = acrossChange
	}
	k.returned(who, int8(int64(from-to)*quarters/t.ticks(a.mine)))
}

// booking is what an actor holds.
func (a *tableActor) booking() gcra.Booking {
	return gcra.Booking{Cost: int64(a.ticks), From: int64(a.from), Slot: int64(a.begins), End: int64(a.end)}
}

// watch notes for everybody what is true just now.
func (t *tableModel) watch(w *tableWorld) {
	for who := range tableHands - 1 {
		a := &w.actors[who]
		if a.seen == 0 {
			continue
		}
		switch o := t.programs[who][a.op]; o.kind {
		case take, book, pace, peek:
			a.seen |= t.owing(w, a, o.key)
		case cancel:
			k := &w.keys[o.key-1]
			if a.void != valid || a.mine != w.gens-1 || k.gen != a.mine ||
				gcra.GiveBack(t.limit(a.mine), int64(k.tat), t.at(&w.eras, a.mine, w.now), a.booking(), o.n) == int64(k.tat) {
				a.seen |= 1
			}
		case reset:
			k := &w.keys[o.key-1]
			if gen := w.gens - 1; w.since[gen] != 0 &&
				t.forward(&w.eras, k.tat, k.gen, gen) <= max(t.fresh(w, gen), t.tick(w, gen, w.now)) {
				a.seen |= 1
			}
		}
	}
}

// owing is a key's debt at an actor's reading, as a bit; and none is one that
// is paid by now.
func (t *tableModel) owing(w *tableWorld, a *tableActor, key int8) uint16 {
	k := &w.keys[key-1]
	if k.gen > a.gen {
		return 0 // it went on under a limit that the actor does not know
	}
	tat := t.forward(&w.eras, k.tat, k.gen, a.gen)
	bits := debt(tat, t.tick(w, a.gen, a.now))
	if tat <= t.tick(w, a.gen, w.now) {
		bits |= 1
	}
	return bits
}

func debt(tat, tick int8) uint16 { return 1 << min(max(tat-tick, 0), 15) }

// decided ends a decision that wrote nothing, made over a TAT.
func (t *tableModel) decided(w *tableWorld, who int, tat int8) {
	a := &w.actors[who]
	if a.seen&debt(tat, t.tick(w, a.gen, a.now)) == 0 {
		w.broken = unfounded
	}
	t.finish(w, who)
}

// nothing ends a give-back or a reset that wrote nothing.
func (t *tableModel) nothing(w *tableWorld, who int) {
	if w.actors[who].seen&1 == 0 {
		w.broken = unfounded
	}
	t.finish(w, who)
}
