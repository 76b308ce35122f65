package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A tally counts what became of the mutants.
type tally struct {
	reasons, open map[string]string // by names

	mu                          sync.Mutex
	broken, explained, survived int
	left                        int // open, and alive
	wrong                       int // explained, but killed
	killed                      map[string]int
	late                        int
}

func (t *tally) add(m *mutant, by string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	why := t.reasons[m.key]
	switch {
	case m.broken:
		t.broken++
	case by == "" && why != "":
		t.explained++
	case by == "" && t.open[m.key] != "":
		t.left++
		fmt.Println("OPEN      ", m.key)
	case by == "":
		t.survived++
		fmt.Println("SURVIVED ", m.key)
	case why != "":
		t.wrong++
		fmt.Printf("NOT SO    %s: killed by %s\n", m.key, by)
	default:
		if t.killed == nil {
			t.killed = map[string]int{}
		}
		stage, test, _ := strings.Cut(by, ": ")
		t.killed[stage]++
		if test == "timeout" {
			t.late++
		}
		fmt.Printf("killed    %s\t%s\n", m.key, by)
	}
}

func (t *tally) end() error {
	killed := 0
	var by []string
	for _, stage := range slices.Sorted(maps.Keys(t.killed)) {
		killed += t.killed[stage]
		by = append(by, fmt.Sprintf("%d by the tests of %s", t.killed[stage], stage))
	}
	run := killed + t.explained + t.survived + t.left + t.wrong
	fmt.Printf("%d mutants: %d killed (%s; %d ran out of time), %d explained, %d open, %d survived; %d more do not compile\n",
		run, killed, strings.Join(by, ", "), t.late, t.explained, t.left, t.survived, t.broken)
	switch {
	case run == 0:
		return fmt.Errorf("no mutant of that name")
	case t.wrong > 0:
		return fmt.Errorf("%d in explained.txt are killed", t.wrong)
	case t.survived > 0:
		return fmt.Errorf("%d survived", t.survived)
	}
	return nil
}
