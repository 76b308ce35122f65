package replay

import "slices"

// A table holds the keys of one kind, each with a cell for every limit on that kind.
type table struct {
	*index
	limits []int  // indices of the limits
	cells  []cell // of each row and limit
	hand   int32  // where the search for a key to forget goes on
	most   int    // rows

	made      int64 // rows that were ever made
	peak      int   // rows at once
	forgotten int64
	unstored  int64 // requests of keys for which there was no room
	past      map[string]*tally
	purged    int64 // tallies that were dropped
	lack      int64 // the most refusals of a key that were dropped at a time, summed up
}

// A cell is a key under one limit.
type cell struct {
	word    int64
	refused int64 // requests
}

// A tally is what was counted of a key that was forgotten.
type tally struct {
	asked   int64
	refused []int64 // as table.limits
}

const (
	glances = 64      // rows that are looked at for one to forget
	maxPast = 1 << 16 // tallies
	noRow   = int32(-1)
)

func newTable(most int) *table {
	return &table{index: newIndex(), most: most, past: make(map[string]*tally)}
}

// row finds the key, or makes a row for it, whose words are fresh. idle reports whether a row can be forgotten.
func (t *table) row(key []byte, fresh func(limit int) int64, idle func(row int32) bool) int32 {
	hash := t.hash(key)
	n := t.find(hash, key)
	if n == noRow {
		if n = t.room(idle); n == noRow {
			t.unstored++
			return noRow
		}
		t.insert(hash, key, n)
		for i := range t.limits {
			*t.cell(n, i) = cell{word: fresh(t.limits[i])}
		}
		t.made++
		t.peak = max(t.peak, t.live)
	}
	t.rows[n].asked++
	return n
}

func (t *table) cell(row int32, col int) *cell { return &t.cells[int(row)*len(t.limits)+col] }

// room finds a row that is not in use, or noRow.
func (t *table) room(idle func(row int32) bool) int32 {
	if len(t.rows) < t.most {
		t.rows = append(t.rows, row{size: unused})
		t.cells = append(t.cells, make([]cell, len(t.limits))...)
		return int32(len(t.rows) - 1)
	}
	for range glances {
		n := t.hand
		if t.hand++; int(t.hand) == len(t.rows) {
			t.hand = 0
		}
		if idle(n) {
			t.forget(n)
			return n
		}
	}
	return noRow
}

func (t *table) forget(n int32) {
	t.remember(t.past, n)
	if len(t.past) > maxPast {
		t.purge()
	}
	t.remove(n)
	t.forgotten++
}

// remember adds what was counted of a row to its tally.
func (t *table) remember(to map[string]*tally, n int32) {
	key := t.key(n)
	known, ok := to[key]
	if !ok {
		any := false
		for i := range t.limits {
			any = any || t.cell(n, i).refused > 0
		}
		if !any {
			return
		}
		known = &tally{refused: make([]int64, len(t.limits))}
		to[key] = known
	}
	known.asked += t.rows[n].asked
	for i := range t.limits {
		known.refused[i] += t.cell(n, i).refused
	}
}

// purge drops the lesser half of the tallies.
func (t *table) purge() {
	all := make([]int64, 0, len(t.past))
	for _, y := range t.past {
		all = append(all, slices.Max(y.refused))
	}
	slices.Sort(all)
	bar := all[len(all)/2]
	for key, y := range t.past {
		if slices.Max(y.refused) <= bar {
			delete(t.past, key)
			t.purged++
		}
	}
	t.lack += bar
}

// refusedBy calls f with every key that the limit of that column refused something, and what was counted of it.
func (t *table) refusedBy(col int, f func(key func() string, refused, asked int64)) {
	var n int32
	var name string
	inRow := func() string { return t.key(n) }
	for i := range t.rows {
		if t.rows[i].size == unused {
			continue
		}
		n = int32(i)
		refused, asked := t.cell(n, col).refused, t.rows[i].asked
		if len(t.past) > 0 {
			if y, ok := t.past[t.key(n)]; ok {
				refused, asked = refused+y.refused[col], asked+y.asked
			}
		}
		if refused > 0 {
			f(inRow, refused, asked)
		}
	}
	inPast := func() string { return name }
	for key, y := range t.past {
		if y.refused[col] > 0 && t.find(t.hash([]byte(key)), []byte(key)) == noRow {
			name = key
			f(inPast, y.refused[col], y.asked)
		}
	}
}
