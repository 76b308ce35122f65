package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

func (p place) write(w io.Writer) {
	fmt.Fprintf(w, "`%s`, %s: %s, %s, %s, %d cores, medians of %d runs", p.Command, p.Date, p.Go, p.System, p.CPU, p.Cores, p.Runs)
	if p.Load != "" {
		fmt.Fprintf(w, ", load %s at the start", p.Load)
	}
	fmt.Fprint(w, ".\n\n")
	for _, path := range slices.Sorted(maps.Keys(p.Libraries)) {
		fmt.Fprintf(w, "- %s %s\n", path, p.Libraries[path])
	}
}

func writeTable(w io.Writer, s section, results []result, notes []string) {
	fmt.Fprintf(w, "\n### %s: %s\n\n", s.name, s.about)
	for _, note := range notes {
		fmt.Fprintf(w, "- %s\n", note)
	}
	if notes != nil {
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "| case | library | %s | least | most | runs | to %s |", s.unit, ours)
	for _, column := range s.more {
		fmt.Fprintf(w, " %s |", column)
	}
	fmt.Fprintf(w, "\n|---|---|---:|---:|---:|---:|---:|%s\n", strings.Repeat("---:|", len(s.more)))
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
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %d | %s |", group, r.Lib,
			short(r.Median), short(r.least()), short(r.most()), len(r.Samples), ratio)
		for _, x := range r.More {
			fmt.Fprintf(w, " %s |", short(x))
		}
		fmt.Fprintln(w)
	}
}

func writeGoals(w io.Writer, verdicts []verdict) {
	fmt.Fprint(w, "\n### goals: ratios of medians (least to most of the runs)\n\n| what | goal | measured | |\n|---|---|---|---|\n")
	for _, v := range verdicts {
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", v.What, v.Goal, v.Measured, v.Verdict)
	}
}

// short writes four digits, and no exponent.
func short(x float64) string {
	switch {
	case x == float64(int(x)):
		return fmt.Sprint(int(x))
	case x < 10:
		return fmt.Sprintf("%.3f", x)
	case x < 100:
		return fmt.Sprintf("%.2f", x)
	case x < 1000:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
