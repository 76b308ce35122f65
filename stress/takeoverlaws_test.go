package stress_test

import "fmt"

// What the search asks of a world of the Table.

var _ model[tableWorld] = (*tableModel)(nil)

func (t *tableModel) hands() int { return tableHands }

// ended tells whether all have ended, the clock's hand apart.
func (t *tableModel) ended(w *tableWorld) bool {
	for who := range tableHands - 1 {
		if int(w.actors[who].op) < len(t.programs[who]) {
			return false
		}
	}
	return true
}

// wrong asks of every world what need only hold at the end: the protocol keeps
// it all the time. A broken one has to be found out by what somebody sees.
func (t *tableModel) wrong(w *tableWorld) error {
	if w.broken != unbroken {
		return w.broken
	}
	if t.solo {
		if err := t.alone(w); err != nil {
			return err
		}
	}
	if t.flaw == faultless {
		return t.slotsAreKeys(w)
	}
	return nil
}

// audit replays every key's charges.
func (t *tableModel) audit(w *tableWorld) error {
	if err := t.slotsAreKeys(w); err != nil {
		return err
	}
	gen := w.gens - 1
	for i := range w.keys {
		k := &w.keys[i]
		tat := t.fresh(w, gen)
		if s := t.find(w, int8(i+1)); s != nil {
			tat = s.tat
		}
		has := func(end int8) int {
			missing := max(int64(tat)-t.at(&w.eras, gen, end).Tick, 0)
			return t.limit(gen).Capacity()*quarters - int(missing*quarters/t.ticks(gen))
		}
		if err := t.rates.audit(&w.eras, &k.tally, t.loaded && i == 0, w.now, has); err != nil {
			return fmt.Errorf("key %d: %w", i+1, err)
		}
	}
	return nil
}

// find returns the key's slot in the current block, or nil.
func (t *tableModel) find(w *tableWorld, key int8) *mslot {
	b := &w.blocks[w.gens-1]
	for j := range b.slots {
		if s := &b.slots[j]; s.tat > 0 && s.key == key {
			return s
		}
	}
	return nil
}

// slotsAreKeys: a key is in one slot at most, with just the TAT that its
// charges made; and one that is in none owes nothing, or as much as one never
// seen.
func (t *tableModel) slotsAreKeys(w *tableWorld) error {
	gen := w.gens - 1
	first := gen
	if w.blocks[gen].old {
		first--
	}
	for i := range w.keys {
		k, in := &w.keys[i], 0
		for g := first; g <= gen; g++ {
			for j, s := range w.blocks[g].slots {
				if s.tat <= 0 || int(s.key) != i+1 {
					continue
				}
				if in++; s.tat != k.tat || g != k.gen {
					return fmt.Errorf("key %d has TAT %d in slot %d of block %d, want %d", i+1, s.tat, j, g, k.tat)
				}
			}
		}
		if in > 1 {
			return fmt.Errorf("key %d is in two slots", i+1)
		}
		if in > 0 || w.since[gen] == 0 || t.carried(w, int8(i+1)) {
			continue
		}
		now := t.tick(w, gen, w.now)
		if tat, fresh := t.forward(&w.eras, k.tat, k.gen, gen), t.fresh(w, gen); max(tat, now) != max(fresh, now) {
			return fmt.Errorf("key %d is in no slot at %d, with TAT %d; fresh is %d", i+1, now, tat, fresh)
		}
	}
	return nil
}

// carried tells whether somebody is bringing the key over.
func (t *tableModel) carried(w *tableWorld, key int8) bool {
	for i := range w.actors {
		a := &w.actors[i]
		if a.pc >= bringClock && a.pc <= bringTat && w.blocks[a.gen-1].slots[a.bucket].key == key {
			return true
		}
	}
	return false
}

// alone lets each actor go on while the others stand still: it ends, or waits
// for a lock. Nobody turns in circles until somebody else has done something.
func (t *tableModel) alone(w *tableWorld) error {
	for who := range tableHands - 1 {
		next := *w
		for steps := 0; next.actors[who].op == w.actors[who].op && t.step(&next, who, 0); steps++ {
			if steps > 200 {
				return fmt.Errorf("%c does not get on alone", 'A'+who)
			}
		}
	}
	return nil
}
