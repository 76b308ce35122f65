package stress_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// TestSearch runs every interleaving of a few small programs over the model of
// the protocol, and finds nothing wrong.
func TestSearch(t *testing.T) {
	total := 0
	for _, s := range scenarios {
		p := s.protocol(flawless)
		visited, err := p.search()
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		t.Logf("%s: %d states", s.name, visited)
		total += visited
	}
	t.Logf("%d states in all", total)
}

// TestSearchTwins breaks the protocol in one way after the other, and the
// search finds each fault.
func TestSearchTwins(t *testing.T) {
	for _, twin := range []struct {
		flaw flaw
		name string
		in   string
		why  string
	}{
		{parityBit, "a parity bit for the generation", "two changes", "two changes restore it"},
		{generationFirst, "generation read before the clock", "a change to slow", "a charge in old ticks is dated after the change"},
		{sinceFirst, "S read before publication", "a change to slow", "charges under the old limit are dated after S"},
		{judgesByOldLimit, "sweeper judges by the old limit", "a change and a sweep", "full under the old one, owing under the new"},
		{frozenIsDead, "frozen taken for dead", "a change to slow", "the debt is lost"},
		{chargesFrozen, "charge to a frozen cell", "a change to slow", "its balance has been converted already"},
		{staleInsert, "insert with the stale instant", "charges and a sweep", "old credit comes to life again"},
		{deletesOther, "delete without pointer check", "charges and a sweep", "a charger's new cell is deleted"},
		{resetKeepsValue, "reset keeps its value", "a change and a reset", "the next conversion undoes it"},
		{beforeSince, "instants before S", "a change and a reset", "time counts twice, at either rate"},
		{deletesAlive, "delete without killing first", "charges and a sweep", "a charge in between is lost"},
		{ignoresFresh, "forget although fresh has not passed", "loaded full, started empty", "a full key reads as empty"},
		{returnsAcross, "give-back to the key's next cell", "bookings and a change to fast", "old ticks come back out of a new balance"},
		{deadUnseen, "insert reads the clock before it sees the cell dead", "charges and a sweep", "it may have been charged later, before it died"},
		{freshAfterReset, "a reset bucket is full since long ago", "one pointer: a reset", "a reading from before the reset finds credit"},
		{staleGiveBack, "give-back reads the clock before the word", "bookings and a change", "others were charged later: the refill comes back a second time"},
	} {
		for _, s := range scenarios {
			if s.name != twin.in {
				continue
			}
			visited, err := s.protocol(twin.flaw).search()
			if err == nil {
				t.Errorf("%s was not found in %d states: %s", twin.name, visited, twin.why)
			}
			t.Logf("%s, after %d states: %v", twin.name, visited, err)
		}
	}
}

type scenario struct {
	name     string
	limits   string // of one generation after the other: f is 1 a tick, s is 1 per 4
	burst    int
	start    int // tokens, -1 for full, and loaded for a full key among empty ones
	ticks    int // that the clock advances
	programs []string
}

const loaded = -2

// Programs: t and b take and book one token, T and B two, c cancels, w sweeps,
// s changes the limit, r resets, v converts.
var scenarios = []scenario{
	{"charges and a sweep", "f", 1, -1, 2, []string{"tt", "tt", "ww"}},
	{"charges and a sweep, burst 2", "f", 2, -1, 2, []string{"T", "tT", "w"}},
	{"a change to slow", "fs", 1, -1, 2, []string{"tt", "t", "s"}},
	{"a change to fast", "sf", 1, -1, 3, []string{"t", "t", "s"}},
	{"two changes", "fsf", 2, -1, 2, []string{"T", "T", "ss"}},
	{"two changes, slow first", "sfs", 1, -1, 2, []string{"t", "t", "ss"}},
	{"a change and a sweep", "fs", 2, -1, 3, []string{"Tt", "w", "s"}},
	{"two changes and a sweep", "fsf", 1, -1, 3, []string{"t", "w", "ss"}},
	{"a change and a reset", "fs", 2, -1, 2, []string{"Tt", "r", "s"}},
	{"two changes and a reset", "sfs", 2, -1, 2, []string{"T", "r", "ss"}},
	{"a reset and a sweep", "f", 2, -1, 3, []string{"Tt", "r", "w"}},
	{"a conversion", "fs", 2, -1, 2, []string{"Tt", "t", "sv"}},
	{"a conversion and a sweep", "sf", 1, -1, 4, []string{"t", "w", "sv"}},
	{"bookings", "f", 1, -1, 2, []string{"bc", "bc", "t"}},
	{"bookings that wait", "s", 2, -1, 2, []string{"Bc", "Bc", "t"}},
	{"bookings and a reset", "f", 2, -1, 2, []string{"Bc", "r", "T"}},
	{"bookings and a change", "fs", 2, -1, 2, []string{"Bc", "Tt", "s"}},
	{"bookings and a change to fast", "sf", 2, -1, 2, []string{"Bc", "tt", "s"}},
	{"started empty", "sf", 1, 0, 5, []string{"t", "w", "s"}},
	{"started empty, fast", "fs", 2, 0, 3, []string{"T", "tr", "s"}},
	{"one pointer: a reset", "f", 1, -1, 2, []string{"tt", "t", "r"}},
	{"one pointer: a change and a reset", "fs", 2, -1, 2, []string{"Tt", "r", "s"}},
	{"one pointer: two changes", "sfs", 1, -1, 1, []string{"t", "t", "ss"}},
	{"one pointer: bookings", "fs", 2, -1, 2, []string{"Bc", "T", "s"}},
	{"loaded full, started empty", "sf", 1, loaded, 2, []string{"t", "w", "s"}},
}

func (s scenario) generations() (limits []gcra.Limit) {
	for _, letter := range s.limits {
		l := gcra.Every(time.Duration(map[rune]int{'f': 1, 's': 4}[letter])).Burst(s.burst)
		if s.start != -1 {
			l = l.Start(max(s.start, 0))
		}
		limits = append(limits, l)
	}
	return limits
}

func (s scenario) protocol(f flaw) *protocol {
	p := &protocol{flaw: f, loaded: s.start == loaded, single: strings.HasPrefix(s.name, "one pointer")}
	p.limits = s.generations()
	for i, program := range s.programs {
		for _, letter := range program {
			p.programs[i] = append(p.programs[i], map[rune]order{
				't': {take, 1}, 'T': {take, 2}, 'b': {book, 1}, 'B': {book, 2}, 'c': {cancel, 2},
				'w': {sweep, 0}, 's': {change, 0}, 'r': {reset, 0}, 'v': {convert, 0},
			}[letter])
		}
	}
	for range s.ticks {
		p.programs[actors-1] = append(p.programs[actors-1], order{kind: wait})
	}
	return p
}

func (p *protocol) search() (visited int, err error) {
	first := world{eras: eras{gens: 1, since: [gensMost]int8{1}}, entry: nobody}
	if p.loaded || p.single {
		first.add(0, p.fresh(&first, 0))
	}
	if p.loaded {
		first.cells[0].word = 1
	}
	for i := range first.actors {
		first.actors[i].cell = nobody
	}
	return explore(p, first)
}

func (p *protocol) hands() int { return actors }

func (p *protocol) wrong(*world) error { return nil }

func (p *protocol) ended(w *world) bool {
	for who := range actors - 1 {
		if int(w.actors[who].op) < len(p.programs[who]) {
			return false
		}
	}
	return true
}

func (p *protocol) audit(w *world) error {
	return p.rates.audit(&w.eras, &w.tally, p.loaded, w.now, func(end int8) int { return p.has(w, end) })
}

// label is an operation and a step of it.
func (p *protocol) label(w *world, who int) string {
	return fmt.Sprintf("%d.%d", w.actors[who].op, w.actors[who].pc)
}

// has is the balance that a look at the key finds.
func (p *protocol) has(w *world, now int8) int {
	gen := w.gens - 1
	missing := max(int64(p.balance(w, w.entry, gen))-p.at(w, gen, now).Tick, 0)
	return p.limit(gen).Capacity()*quarters - int(missing*quarters/p.ticks(gen))
}
