package replay

import "maps"

// A table holds the keys of one kind, each with a word and a count for every limit on that kind.
type table struct {
	limits []int // indices of the limits
	rows   map[string]int32
	keys   []string // of each row; rows that are free stand in free
	used   []bool
	asked  []int64 // of each row
	words  []int64 // of each row and limit
	counts []int64 // refusals, likewise
	free   []int32
	hand   int32 // where the search for a key to forget goes on
	most   int   // rows

	made      int64 // rows that were ever made
	peak      int   // rows at once
	forgotten int64
	unstored  int64 // requests of keys for which there was no room
	past      map[string]*tally
	purged    int64 // tallies that were dropped
	lack      int64 // the most refusals of a key that were dropped at a time, summed up
}

// A tally is what was counted of a key that was forgotten.
type tally struct {
	asked  int64
	counts []int64
}

const (
	glances = 64      // rows that are looked at for one to forget
	maxPast = 1 << 16 // tallies
	noRow   = int32(-1)
)

func newTable(most int) *table {
	return &table{rows: make(map[string]int32), most: most, past: make(map[string]*tally)}
}

// row finds the key, or makes a row for it, whose words are fresh. idle reports whether a row can be forgotten.
func (t *table) row(key []byte, fresh func(limit int) int64, idle func(row int32) bool) int32 {
	if row, ok := t.rows[string(key)]; ok {
		return row
	}
	row, ok := t.room(idle)
	if !ok {
		t.unstored++
		return noRow
	}
	name := string(key)
	t.rows[name] = row
	t.keys[row], t.used[row], t.asked[row] = name, true, 0
	n := len(t.limits)
	for i, limit := range t.limits {
		t.words[int(row)*n+i] = fresh(limit)
		t.counts[int(row)*n+i] = 0
	}
	t.made++
	t.peak = max(t.peak, len(t.rows))
	return row
}

// room finds a row that is not in use.
func (t *table) room(idle func(row int32) bool) (int32, bool) {
	if n := len(t.free); n > 0 {
		row := t.free[n-1]
		t.free = t.free[:n-1]
		return row, true
	}
	if len(t.keys) < t.most {
		t.keys, t.used, t.asked = append(t.keys, ""), append(t.used, false), append(t.asked, 0)
		for range t.limits {
			t.words, t.counts = append(t.words, 0), append(t.counts, 0)
		}
		return int32(len(t.keys) - 1), true
	}
	for range glances {
		row := t.hand
		if t.hand++; int(t.hand) == len(t.keys) {
			t.hand = 0
		}
		if t.used[row] && idle(row) {
			t.forget(row)
			return row, true
		}
	}
	return 0, false
}

func (t *table) forget(row int32) {
	t.remember(t.past, row)
	if len(t.past) > maxPast {
		t.purge()
	}
	delete(t.rows, t.keys[row])
	t.keys[row], t.used[row] = "", false
	t.forgotten++
}

// remember adds what was counted of a row to its tally.
func (t *table) remember(to map[string]*tally, row int32) {
	n := len(t.limits)
	counts := t.counts[int(row)*n : (int(row)+1)*n]
	known, ok := to[t.keys[row]]
	if !ok {
		any := int64(0)
		for _, c := range counts {
			any |= c
		}
		if any == 0 {
			return
		}
		known = &tally{counts: make([]int64, n)}
		to[t.keys[row]] = known
	}
	known.asked += t.asked[row]
	for i, c := range counts {
		known.counts[i] += c
	}
}

// purge drops the lesser half of the tallies.
func (t *table) purge() {
	worst := func(y *tally) (most int64) {
		for _, c := range y.counts {
			most = max(most, c)
		}
		return most
	}
	all := make([]int64, 0, len(t.past))
	for _, y := range t.past {
		all = append(all, worst(y))
	}
	bar := median(all)
	for key, y := range t.past {
		if w := worst(y); w <= bar {
			delete(t.past, key)
			t.purged++
		}
	}
	t.lack += bar
}

// totals returns what was counted of each key that was ever refused.
func (t *table) totals() map[string]*tally {
	all := make(map[string]*tally, len(t.past))
	for key, y := range maps.All(t.past) {
		all[key] = &tally{y.asked, append([]int64(nil), y.counts...)}
	}
	for row := range t.keys {
		if t.used[row] {
			t.remember(all, int32(row))
		}
	}
	return all
}
