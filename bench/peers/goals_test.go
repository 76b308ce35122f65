package main

import (
	"slices"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	a, b := id{"s", "g", "a"}, id{"s", "g", "b"}
	of := func(lib string, samples ...float64) result {
		return result{Section: "s", Group: "g", Lib: lib, Samples: samples, Median: median(samples)}
	}
	for _, row := range []struct {
		goal     goal
		results  []result
		verdict  string
		measured string
		why      string
	}{
		{goal{over: a, under: b, how: timesAtLeast, bound: 2}, []result{of("a", 4, 6, 5), of("b", 2, 2, 2.5)}, met, "2.50 × (2.00 to 3.00)", "more than enough"},
		{goal{over: a, under: b, how: timesAtLeast, bound: 3}, []result{of("a", 4, 6, 5), of("b", 2, 2, 2.5)}, missed, "2.50 × (2.00 to 3.00)", "too little"},
		{goal{over: a, under: b, how: timesAtMost, bound: 0.6}, []result{of("a", 1), of("b", 2)}, met, "0.50 × (0.50 to 0.50)", "less"},
		{goal{over: a, under: b, how: timesAtMost, bound: 0.4}, []result{of("a", 1), of("b", 2)}, missed, "0.50 × (0.50 to 0.50)", "not so much less"},
		{goal{over: a, under: b, how: timesAtMost, bound: 9}, []result{of("a", 1, 3), of("b", 2)}, met, "1.00 × (0.50 to 1.50)", "runs that do not pair: the widest"},
		{goal{over: a, under: b, how: moreAtMost, bound: 2}, []result{of("a", 3), of("b", 1)}, met, "2.000 more (2.000 to 2.000)", "just"},
		{goal{over: a, under: b, how: moreAtMost, bound: 2}, []result{of("a", 3.001), of("b", 1)}, missed, "2.001 more (2.001 to 2.001)", "just not"},
		{goal{over: a, how: atMost, bound: 24}, []result{of("a", 24, 25, 23)}, met, "24 (23 to 25)", "a number"},
		{goal{over: a, how: atMost}, []result{of("a", 1)}, missed, "1 (1 to 1)", "at most nothing"},
		{goal{over: a, how: atLeast, bound: 99.9}, []result{of("a", 99.8)}, missed, "99.80 (99.80 to 99.80)", "a number, not reached"},
		{goal{over: a, under: b}, []result{of("a", 1)}, "", "", "one side was not measured"},
		{goal{over: a, under: b}, []result{of("b", 1)}, "", "", "nor the other"},
	} {
		got := judge([]goal{row.goal}, row.results)
		if row.verdict == "" {
			if len(got) != 0 {
				t.Errorf("%s: got %+v", row.why, got)
			}
		} else if len(got) != 1 || got[0].Verdict != row.verdict || got[0].Measured != row.measured {
			t.Errorf("%s: got %+v, want %s, %s", row.why, got, row.verdict, row.measured)
		}
	}
}

// Every goal names results that a run at default flags gives.
func TestGoalsAreMeasured(t *testing.T) {
	cfg, err := parse([]string{"-cpu", "1,2"})
	if err != nil {
		t.Fatal(err)
	}
	planned := make(map[id]bool)
	for _, s := range sections() {
		p, err := s.plan(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range slices.Concat(p.blocks...) {
			planned[id{s.name, tr.group, tr.lib}] = true
		}
	}
	// A trial is named for its first case, and its points for what follows.
	begins := func(want id) bool {
		for have := range planned {
			if have.section == want.section && have.lib == want.lib && strings.HasPrefix(want.group, have.group) {
				return true
			}
		}
		return false
	}
	for _, g := range goals(cfg) {
		for _, want := range []id{g.over, g.under} {
			if want != (id{}) && !begins(want) && !strings.Contains(want.lib, "tsc") {
				t.Errorf("%s: nothing measures %+v", g.what, want)
			}
		}
	}
}
