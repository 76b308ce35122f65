package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
)

// A plan is what a section is going to run. The trials of a block take turns;
// blocks come one after another, so that each has its keys in memory alone.
type plan struct {
	blocks [][]trial
	notes  []string // what is left out, and why
}

// few are the rounds of those that no goal names.
const few = 3

// aside marks the trials of those that no goal names.
func (t trial) aside() trial {
	switch t.lib {
	case "weir-coarse", "table-coarse", "weir-1shard", "xtime-mutex", "throttled", "ulule", "tollbooth", "uber":
		t.rounds = few
	}
	return t
}

// add puts a trial into the last block.
func (p *plan) add(t trial) {
	if len(p.blocks) == 0 {
		p.block()
	}
	last := &p.blocks[len(p.blocks)-1]
	*last = append(*last, t)
}

// block begins another block.
func (p *plan) block() { p.blocks = append(p.blocks, nil) }

// A trial is one subject in one group. Each run of it opens the subject anew
// and adds points to the group, or to parts of it.
type trial struct {
	group, lib string
	run        func() ([]point, error)
	// rounds is how many of the rounds it is run in at the most, if not 0: of
	// what does not depend on the moment, or takes too long, or is in no goal.
	rounds int
}

type point struct {
	group string
	value float64
	more  []float64 // further numbers of the same run, for the section's columns
}

// A result is what all runs of a subject in a group gave.
type result struct {
	Section string    `json:"section"`
	Group   string    `json:"group"`
	Lib     string    `json:"lib"`
	Unit    string    `json:"unit"`
	Median  float64   `json:"median"`
	Ratio   float64   `json:"ratio,omitempty"` // of the median to that of ours
	Samples []float64 `json:"samples"`
	More    []float64 `json:"more,omitempty"` // medians too, of what the section's columns name

	more [][]float64 // samples of each
}

func (r result) least() float64 { return slices.Min(r.Samples) }
func (r result) most() float64  { return slices.Max(r.Samples) }

// interleave runs the trials A B C A B C …, so that a change in the machine
// meets all alike, and compares medians within each group.
func interleave(trials []trial, runs int) (results []result, err error) {
	type id struct{ group, lib string }
	at := make(map[id]int)
	for round := range runs {
		for _, t := range trials {
			if t.rounds > 0 && round >= t.rounds {
				continue
			}
			points, err := t.run()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.group, err)
			}
			for _, p := range points {
				i, ok := at[id{p.group, t.lib}]
				if !ok {
					i = len(results)
					at[id{p.group, t.lib}] = i
					results = append(results, result{Group: p.group, Lib: t.lib})
				}
				results[i].add(p)
			}
		}
	}
	for i := range results {
		r := &results[i]
		r.Median = median(r.Samples)
		for _, samples := range r.more {
			r.More = append(r.More, median(samples))
		}
	}
	for i := range results {
		r := &results[i]
		if base, ok := at[id{r.Group, ours}]; ok && results[base].Median != 0 {
			r.Ratio = r.Median / results[base].Median
		}
	}
	// Groups one after another, each in the order of its libraries.
	first := make(map[string]int)
	for i, r := range results {
		if _, ok := first[r.Group]; !ok {
			first[r.Group] = i
		}
	}
	slices.SortStableFunc(results, func(a, b result) int { return cmp.Compare(first[a.Group], first[b.Group]) })
	return results, nil
}

func (r *result) add(p point) {
	r.Samples = append(r.Samples, p.value)
	for n, x := range p.more {
		if n == len(r.more) {
			r.more = append(r.more, nil)
		}
		r.more[n] = append(r.more[n], x)
	}
}

func median(samples []float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// selected returns the trials whose name section/group/lib matches.
func selected(section string, trials []trial, only *regexp.Regexp) []trial {
	return slices.DeleteFunc(trials, func(t trial) bool {
		return !only.MatchString(section + "/" + t.group + "/" + t.lib)
	})
}
