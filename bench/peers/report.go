package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// A trial is one subject in one group. Each run of it opens the subject anew
// and adds a point to the group, or to parts of it.
type trial struct {
	group, lib string
	run        func() ([]point, error)
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

// interleave runs the trials A B C A B C …, so that a change in the machine
// meets all alike, and compares medians within each group.
func interleave(trials []trial, runs int) (results []result, err error) {
	type id struct{ group, lib string }
	at := make(map[id]int)
	for range runs {
		for _, t := range trials {
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
				r := &results[i]
				r.Samples = append(r.Samples, p.value)
				for n, x := range p.more {
					if n == len(r.more) {
						r.more = append(r.more, nil)
					}
					r.more[n] = append(r.more[n], x)
				}
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
		if base, ok := at[id{r.Group, ours}]; ok {
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

func writeTable(w io.Writer, s section, results []result) {
	fmt.Fprintf(w, "\n### %s: %s\n\n", s.name, s.about)
	fmt.Fprintf(w, "| case | library | %s | least | most | to %s |", s.unit, ours)
	for _, column := range s.more {
		fmt.Fprintf(w, " %s |", column)
	}
	fmt.Fprintf(w, "\n|---|---|---:|---:|---:|---:|%s\n", strings.Repeat("---:|", len(s.more)))
	last := ""
	for _, r := range results {
		group := r.Group
		if group == last {
			group = ""
		}
		last = r.Group
		ratio := ""
		if r.Ratio > 0 {
			ratio = short(r.Ratio)
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s |", group, r.Lib,
			short(r.Median), short(slices.Min(r.Samples)), short(slices.Max(r.Samples)), ratio)
		for _, x := range r.More {
			fmt.Fprintf(w, " %s |", short(x))
		}
		fmt.Fprintln(w)
	}
}

// short writes four digits, and no exponent.
func short(x float64) string {
	switch {
	case x < 10:
		return fmt.Sprintf("%.3f", x)
	case x < 100:
		return fmt.Sprintf("%.2f", x)
	case x < 1000:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// A place is where numbers come from.
type place struct {
	Command   string            `json:"command"`
	Go        string            `json:"go"`
	CPU       string            `json:"cpu"`
	Cores     int               `json:"cores"`
	Load      string            `json:"load,omitempty"` // of the machine, when the program began
	Libraries map[string]string `json:"libraries"`
}

func here() place {
	p := place{
		Command:   "go run ./bench/peers",
		Go:        runtime.Version(),
		CPU:       runtime.GOARCH,
		Cores:     runtime.NumCPU(),
		Libraries: make(map[string]string),
	}
	for _, arg := range os.Args[1:] {
		if strings.ContainsAny(arg, " ()|*?$^\\") {
			arg = "'" + arg + "'"
		}
		p.Command += " " + arg
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				p.CPU = strings.TrimSpace(model)
				break
			}
		}
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		p.Load, _, _ = strings.Cut(string(load), " ")
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, m := range build.Deps {
			p.Libraries[m.Path] = m.Version
		}
	}
	return p
}

func (p place) write(w io.Writer) {
	fmt.Fprintf(w, "`%s`: %s, %s, %d cores", p.Command, p.Go, p.CPU, p.Cores)
	if p.Load != "" {
		fmt.Fprintf(w, ", load %s at the start", p.Load)
	}
	fmt.Fprint(w, ".\n\n")
	for _, path := range slices.Sorted(maps.Keys(p.Libraries)) {
		fmt.Fprintf(w, "- %s %s\n", path, p.Libraries[path])
	}
}
