package main

import (
	"fmt"
	"slices"
)

// A goal compares two results, or one with a number.
type goal struct {
	what  string
	over  id      // the numerator
	under id      // the denominator; without, the number itself is judged
	how   compare // what is to be
	bound float64
}

// An id finds a result.
type id struct{ section, group, lib string }

type compare int

const (
	timesAtLeast compare = iota // over is at least bound times under
	timesAtMost
	moreAtMost // over is at most bound more than under
	atMost     // over is at most bound, in its unit
	atLeast
)

// A verdict is a goal with what came of it.
type verdict struct {
	What     string `json:"what"`
	Goal     string `json:"goal"`
	Measured string `json:"measured"`
	Verdict  string `json:"verdict"` // met or missed
}

const met, missed = "met", "missed"

// goals are those that the design names, in its order.
func goals(cfg config) []goal {
	cores := slices.Compact([]int{1, cfg.mostCores()})
	var all []goal
	all = append(all, hotGoals(cores)...)
	all = append(all, keyGoals(cores)...)
	all = append(all, heapGoals(cfg)...)
	all = append(all, paceGoals(cfg)...)
	all = append(all, floodGoals(cfg)...)
	for _, lib := range []string{"weir", "table"} {
		for _, mix := range []mix{granted, refused} {
			all = append(all, goal{
				what: fmt.Sprintf("allocations for a decision on a present key, %s: %s", mix, titles()[lib]),
				over: id{"allocs", fmt.Sprintf("type=string case=%s", mix), lib}, how: atMost,
			})
		}
	}
	return all
}

func hotGoals(cores []int) (all []goal) {
	result := func(mix mix, cores int, lib string) id {
		return id{"hot", fmt.Sprintf("shape=one case=%s cores=%d", mix, cores), lib}
	}
	faster := func(mix mix, cores int, lib string, bound float64) {
		all = append(all, goal{
			what: fmt.Sprintf("one hot key, %s, %s: %s against x/time/rate", mix, onCores(cores), titles()[lib]),
			over: result(mix, cores, "xtime"), under: result(mix, cores, lib), how: timesAtLeast, bound: bound,
		})
	}
	for _, n := range cores {
		if n == 1 {
			faster(granted, n, "weir", 2.5)
			faster(granted, n, "weir-tsc", 8)
		} else {
			faster(granted, n, "weir", 1.8)
			faster(granted, n, "weir-tsc", 5)
			faster(refused, n, "weir", 5)
			faster(refused, n, "weir-tsc", 10)
		}
	}
	for _, n := range cores {
		for _, lib := range []string{"weir", "weir-tsc"} {
			all = append(all, goal{
				what: fmt.Sprintf("one hot key, refused is not slower than granted, %s: %s", onCores(n), titles()[lib]),
				over: result(granted, n, lib), under: result(refused, n, lib), how: timesAtLeast, bound: 1,
			})
		}
	}
	return all
}

func keyGoals(cores []int) (all []goal) {
	for _, aim := range []struct {
		lib, peer, named string
		bound            float64
	}{
		{"table", "xtime", "x/time/rate in a sync.Map", 4.5},
		{"table", "sethvargo", "sethvargo/go-limiter", 2},
		{"weir", "xtime", "x/time/rate in a sync.Map", 2.2},
		{"weir", "sethvargo", "sethvargo/go-limiter", 1},
	} {
		for _, n := range cores {
			group := fmt.Sprintf("keys=1M type=string dist=uniform case=granted cores=%d", n)
			all = append(all, goal{
				what: fmt.Sprintf("1 M string keys, %s: %s against %s", onCores(n), titles()[aim.lib], aim.named),
				over: id{"keys", group, aim.peer}, under: id{"keys", group, aim.lib}, how: timesAtLeast, bound: aim.bound,
			})
		}
	}
	for _, lib := range []string{"table", "table-tsc"} {
		for _, n := range cores {
			group := fmt.Sprintf("keys=8M type=uint64 dist=uniform case=granted cores=%d", n)
			all = append(all, goal{
				what: fmt.Sprintf("8 M uint64 keys, %s: %s against a bare CAS on as many bytes", onCores(n), titles()[lib]),
				over: id{"keys", group, lib}, under: id{"keys", group, "cas"}, how: timesAtMost, bound: 1.5,
			}, goal{
				what: fmt.Sprintf("8 M uint64 keys, %s: %s in batches of %d against single", onCores(n), titles()[lib], batch),
				over: id{"keys", group, lib + "-batch"}, under: id{"keys", group, lib}, how: timesAtMost, bound: 0.6,
			})
		}
	}
	return all
}

func heapGoals(cfg config) []goal {
	var (
		weight  = fmt.Sprintf("type=uint64 keys=%s..%s most", count(cfg.remember), count(2*cfg.remember))
		collect = fmt.Sprintf("keys=%s type=uint64", count(cfg.collect))
		growth  = fmt.Sprintf("keys=0..%s type=uint64 goroutines=2", count(cfg.grow))
	)
	return []goal{
		{what: "bytes a uint64 key at capacity: weir Table", over: id{"memory", weight, "table"}, how: atMost, bound: 24},
		{what: "bytes a uint64 key: weir Limiter", over: id{"memory", weight, ours}, how: atMost, bound: 80},
		{
			what: fmt.Sprintf("full GC with %s keys: weir Table against an empty heap, ms", count(cfg.collect)),
			over: id{"gc", collect, "table"}, under: id{"gc", collect, "none"}, how: moreAtMost, bound: 2,
		},
		{
			what: fmt.Sprintf("longest insert, 0 to %s keys: weir Limiter against one xsync map", count(cfg.grow)),
			over: id{"growth", growth, "xsync"}, under: id{"growth", growth, ours}, how: timesAtLeast, bound: 20,
		},
	}
}

func paceGoals(cfg config) (all []goal) {
	share := 99.9
	if cfg.busy != busyNot {
		share = 98
	}
	for _, pace := range paces() {
		all = append(all, goal{
			what: fmt.Sprintf("Wait from one loop at %s/s, busy: %s; %% of the rate", count(pace), cfg.busy),
			over: id{"pacing", fmt.Sprintf("rate=%d loops=1 busy=%s", pace, cfg.busy), ours}, how: atLeast, bound: share,
		})
	}
	return all
}

// floodGoals have two rows each: the second tells what of the first is the busy
// machine, and not the flood of one's own keys.
func floodGoals(cfg config) (all []goal) {
	for _, rate := range floodRates() {
		for _, f := range floods() {
			if !isOurs(f.lib) {
				continue
			}
			at := func(when string) id { return id{"flood", floodGroup(cfg.flood, rate, when), f.lib} }
			for _, against := range floodTimes[:2] {
				all = append(all, goal{
					what: fmt.Sprintf("p99.9 of a decision during a flood at %s against %s it: %s", floodSpeed(rate), against, titles()[f.lib]),
					over: at("during"), under: at(against), how: timesAtMost, bound: 3,
				})
			}
		}
	}
	return all
}

func onCores(n int) string {
	if n == 1 {
		return "1 core"
	}
	return fmt.Sprintf("%d cores", n)
}

// judge returns the verdicts of the goals that these results have something
// to say about.
func judge(goals []goal, results []result) (verdicts []verdict) {
	find := func(i id) (result, bool) {
		n := slices.IndexFunc(results, func(r result) bool { return i == id{r.Section, r.Group, r.Lib} })
		if n < 0 {
			return result{}, false
		}
		return results[n], true
	}
	for _, g := range goals {
		over, ok := find(g.over)
		if !ok {
			continue
		}
		var under result
		if g.under != (id{}) {
			if under, ok = find(g.under); !ok {
				continue
			}
		}
		verdicts = append(verdicts, g.judge(over, under))
	}
	return verdicts
}

func (g goal) judge(over, under result) verdict {
	v := verdict{What: g.what, Verdict: missed}
	x, of := over.Median, func(a, _ float64) float64 { return a }
	ok := x <= g.bound
	switch g.how {
	case timesAtLeast, timesAtMost:
		of = func(a, b float64) float64 { return a / b }
		x = of(over.Median, under.Median)
		v.Goal, ok = fmt.Sprintf(">= %g ×", g.bound), x >= g.bound
		if g.how == timesAtMost {
			v.Goal, ok = fmt.Sprintf("<= %g ×", g.bound), x <= g.bound
		}
		v.Measured = fmt.Sprintf("%.2f × (%s)", x, spread("%.2f", over, under, of))
	case moreAtMost:
		of = func(a, b float64) float64 { return a - b }
		x = of(over.Median, under.Median)
		v.Goal, ok = fmt.Sprintf("<= %g more", g.bound), x <= g.bound
		v.Measured = fmt.Sprintf("%.3f more (%s)", x, spread("%.3f", over, under, of))
	case atLeast:
		v.Goal, ok = fmt.Sprintf(">= %g", g.bound), x >= g.bound
		v.Measured = fmt.Sprintf("%.2f (%s)", x, spread("%.2f", over, over, of))
	case atMost:
		v.Goal, ok = fmt.Sprintf("<= %g", g.bound), x <= g.bound
		v.Measured = fmt.Sprintf("%.4g (%s)", x, spread("%.4g", over, over, of))
	}
	if ok {
		v.Verdict = met
	}
	return v
}

// spread writes the least and most of what single runs gave: run by run where
// both sides took turns.
func spread(format string, over, under result, of func(a, b float64) float64) string {
	var each []float64
	if len(over.Samples) == len(under.Samples) {
		for i, a := range over.Samples {
			each = append(each, of(a, under.Samples[i]))
		}
	} else {
		each = []float64{of(over.least(), under.most()), of(over.most(), under.least())}
	}
	return fmt.Sprintf(format+" to "+format, slices.Min(each), slices.Max(each))
}
