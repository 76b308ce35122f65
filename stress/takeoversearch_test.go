package stress_test

import (
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

var long = flag.Bool("long", false, "search the takeover of slots with every combination of programs too: 400 million states, so that -timeout 1h is wanted")

// TestTakeover runs every interleaving of small programs over the model of the
// Table, and finds nothing wrong.
func TestTakeover(t *testing.T) {
	all := tableScenarios
	switch {
	case *long:
		all = append(all, largeTableScenarios...)
		all = append(all, tableCombinations()...)
	case underRace:
		all = all[:6] // there is no race to find, and the detector makes it ten times as slow
	}
	var total atomic.Int64
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range all {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				visited, err := s.search(faultless)
				if err != nil {
					t.Error(err)
				}
				t.Logf("%d states", visited)
				total.Add(int64(visited))
			})
		}
	})
	t.Logf("%d states of %d scenarios in all", total.Load(), len(all))
}

// A tableScenario has its limits, burst, start and ticks as a scenario does.
// Its programs name keys: t1 takes one token of key 1, T1 two; p1 peeks; b1 and
// B1 book, w1 by schedule, c cancels, d gives one token back; r1 resets, s changes the limit.
type tableScenario struct {
	scenario
	before string // what was done before the search begins; l1 is a full key 1 that was loaded
	layout string // stripes of the keys, stripes of the buckets, marks of the buckets
	solo   bool   // look at every step whether everybody gets on alone
}

const (
	twoStripes   = "001 01 01" // and a mark for each slot
	threeStripes = "012 01 00" // and one mark
	oneStripe    = "000 00 00"
)

var tableScenarios = []tableScenario{
	{scenario: scenario{"a slot changes hands", "f", 1, -1, 2, []string{"t1", "t3", "t1"}}, before: "t1t2", solo: true},
	{scenario: scenario{"a slot changes hands twice", "f", 1, -1, 3, []string{"t1t3", "t3", "t1"}}, before: "t1t2"},
	{scenario: scenario{"a change of limit", "fs", 2, -1, 1, []string{"b1c", "t1", "s"}}, solo: true},
	{scenario: scenario{"a reset", "f", 2, -1, 3, []string{"t1t1", "r1", "t3"}}, before: "t2T1"},
	{scenario: scenario{"peeks", "f", 1, -1, 3, []string{"t3", "p3", "t1"}}, before: "t1t2", solo: true},
	{scenario: scenario{"bookings and a reset", "f", 2, -1, 3, []string{"B1c", "r1", "B1"}}},

	{scenario: scenario{"burst 2", "f", 2, -1, 3, []string{"t1t3", "t3p1", "t1"}}, before: "T1t2"},
	{scenario: scenario{"peeks of two keys", "f", 2, -1, 3, []string{"t1t3", "p3p1", "t1"}}, before: "t1t2"},
	{scenario: scenario{"one stripe", "f", 1, -1, 3, []string{"t1t1", "t2", "t1"}}, layout: oneStripe},
	{scenario: scenario{"an empty block", "f", 1, -1, 2, []string{"t1", "t1t3", "t3"}}},
	{scenario: scenario{"a booking given back", "f", 2, -1, 3, []string{"b1c", "t1", "t3"}}, before: "t2t1"},
	{scenario: scenario{"a booking given back, one mark", "f", 2, -1, 3, []string{"b1c", "t1", "t3"}}, before: "t2t1", layout: threeStripes},
	{scenario: scenario{"a part given back", "f", 2, -1, 3, []string{"B1d", "t1", "t3"}}, before: "t2"},
	{scenario: scenario{"two bookings of two keys", "f", 2, -1, 3, []string{"B1c", "t1", "b3c"}}, before: "t2"},
	{scenario: scenario{"two resets, one mark", "f", 5, -1, 2, []string{"t1", "r1r3", "T2"}}, before: "T1T1t3", layout: threeStripes},
	{scenario: scenario{"a booking and a reset", "f", 2, -1, 2, []string{"b1c", "r1", "t1t1"}}, before: "t2t1"},
	{scenario: scenario{"two resets", "f", 2, -1, 2, []string{"B1c", "r1r1", "t1t1"}}},
	{scenario: scenario{"a reset and a takeover", "f", 2, -1, 3, []string{"b1c", "r1", "t3"}}, before: "t2"},
	{scenario: scenario{"a schedule", "f", 1, -1, 3, []string{"w1w1", "t3", "t1"}}, before: "t1t2"},
	{scenario: scenario{"a schedule given back", "f", 2, -1, 3, []string{"w1c", "t3", "w1"}}, before: "T1t2"},
	{scenario: scenario{"started empty", "s", 1, 0, 6, []string{"t1", "t3", "p1"}}},
	{scenario: scenario{"loaded full", "s", 1, 0, 5, []string{"t1", "t3", "p1"}}, before: "l1"},
	{scenario: scenario{"loaded full, started at half", "s", 2, 1, 5, []string{"t1", "t3", "t2"}}, before: "l1"},

	{scenario: scenario{"to slow", "fs", 1, -1, 2, []string{"t1", "t1", "s"}}},
	{scenario: scenario{"to fast", "sf", 1, -1, 3, []string{"t1", "t1", "s"}}},
	{scenario: scenario{"to slow, present", "fs", 2, -1, 2, []string{"t1", "T1", "s"}}, before: "t1t3"},
	{scenario: scenario{"to fast, present", "sf", 2, -1, 2, []string{"t1", "t3", "s"}}, before: "t1t3"},
	{scenario: scenario{"a change and another key", "fs", 1, -1, 2, []string{"t1", "t3", "s"}}, before: "t1t2"},
	{scenario: scenario{"a change and a takeover", "sf", 1, -1, 2, []string{"t1", "t2", "s"}}, before: "t3"},
	{scenario: scenario{"a change and a peek", "fs", 1, -1, 2, []string{"t1", "p1", "s"}}},
	{scenario: scenario{"a change and peeks", "fs", 1, -1, 2, []string{"p1p1", "t1", "s"}}, before: "t1"},
	{scenario: scenario{"a change and a booking", "sf", 2, -1, 2, []string{"B1c", "t1", "s"}}},
	{scenario: scenario{"a change and a reset", "fs", 2, -1, 2, []string{"t1", "r1", "s"}}, before: "T1", solo: true},
	{scenario: scenario{"two changes", "fsf", 1, -1, 2, []string{"t1", "t1", "ss"}}},
	{scenario: scenario{"a change, started empty", "fs", 2, 0, 3, []string{"t1", "t3", "s"}}},
	{scenario: scenario{"a change, loaded", "sf", 2, 1, 3, []string{"t1", "t3", "s"}}, before: "l1"},
}

var largeTableScenarios = []tableScenario{
	{scenario: scenario{"four actors", "f", 2, -1, 3, []string{"b1c", "t1", "r1", "t3"}}, before: "t2"},
	{scenario: scenario{"four actors and a change", "fs", 1, -1, 1, []string{"t1", "t3", "t2", "s"}}, before: "t1"},
	{scenario: scenario{"two bookings", "f", 2, -1, 3, []string{"b1c", "b1c", "t3"}}, before: "t2"},
	{scenario: scenario{"two bookings, one mark", "f", 2, -1, 3, []string{"B1c", "B3c", "t2"}}, layout: threeStripes},
	{scenario: scenario{"a booking of two", "f", 2, -1, 3, []string{"B1c", "t1", "t3t1"}}, before: "t2"},
	{scenario: scenario{"slow bookings and a reset", "s", 2, -1, 3, []string{"B1c", "r1", "t1t1"}}},
	{scenario: scenario{"two inserts and an owner", "f", 1, -1, 3, []string{"t1t1", "t3", "t2"}}, before: "t1"},
	{scenario: scenario{"two changes, slow first", "sfs", 1, -1, 2, []string{"t1", "t3", "ss"}}, before: "t1"},
	{scenario: scenario{"two changes and a booking", "sfs", 2, -1, 2, []string{"b1c", "t3", "ss"}}, before: "t1"},
	{scenario: scenario{"a change to fast, started empty", "sf", 1, 0, 5, []string{"t1", "t3", "s"}}},
}

// tableCombinations are all ways for three actors to choose from some programs,
// and for two beside a change.
func tableCombinations() (all []tableScenario) {
	programs := []string{"t1", "T1", "t1t1", "p1", "b1c", "B1c", "B1d", "r1", "t3", "p3", "b3c", "r3", "t2"}
	for i, p := range programs {
		for j, q := range programs[:i+1] {
			for _, r := range programs[:j+1] {
				for _, layout := range []string{twoStripes, threeStripes} {
					name := strings.Join([]string{p, q, r}, " ")
					all = append(all, tableScenario{scenario: scenario{name, "f", 2, -1, 3, []string{p, q, r}}, before: "t2t1", layout: layout})
				}
			}
			for _, limits := range []string{"fs", "sf"} {
				name := fmt.Sprintf("%s %s %s", p, q, limits)
				all = append(all, tableScenario{scenario: scenario{name, limits, 2, -1, 2, []string{p, q, "s"}}, before: "t2t1"})
			}
		}
	}
	return all
}

func (s tableScenario) model(f fault) *tableModel {
	t := &tableModel{flaw: f, solo: s.solo, loaded: strings.HasPrefix(s.before, "l1")}
	t.limits = s.generations()
	if s.layout == "" {
		s.layout = twoStripes
	}
	for i, into := range [][]int8{t.stripes[:], t.buckets[:], t.groups[:]} {
		for j, digit := range strings.Fields(s.layout)[i] {
			into[j] = int8(digit - '0')
		}
	}
	for i, program := range s.programs {
		t.programs[i] = tableProgram(program)
	}
	t.programs[tableHands-1] = tableProgram(strings.Repeat(".", s.ticks))
	return t
}

var tableLetters = map[rune]order{
	't': {take, 1}, 'T': {take, 2}, 'p': {peek, 1}, 'b': {book, 1}, 'B': {book, 2}, 'w': {pace, 1}, 'c': {cancel, 2}, 'd': {cancel, 1},
	'r': {reset, 0}, 's': {change, 0}, '.': {wait, 0},
}

// tableProgram reads letters, with keys behind those that name one.
func tableProgram(text string) (program []tableOrder) {
	for i, letter := range text {
		o, ok := tableLetters[letter]
		if !ok {
			continue // a key
		}
		next := tableOrder{order: o}
		switch o.kind {
		case change, wait:
		case cancel:
			next.key = program[len(program)-1].key
		default:
			next.key = int8(text[i+1] - '0')
		}
		program = append(program, next)
	}
	return program
}

// search explores the scenario with one fault, or none.
func (s tableScenario) search(f fault) (visited int, err error) {
	t := s.model(f)
	first := tableWorld{eras: eras{gens: 1, since: [gensMost]int8{1}}}
	for i := range first.keys {
		first.keys[i].tat = t.rates.fresh()
	}
	if t.loaded {
		first.blocks[0].slots[0] = mslot{1, 1}
		first.keys[0].tat = 1
	}
	before := *t
	before.flaw, before.programs = faultless, [tableHands][]tableOrder{tableProgram(s.before)}
	for before.step(&first, 0, 0) {
	}
	first.actors[0] = tableActor{}
	return explore(t, first)
}
