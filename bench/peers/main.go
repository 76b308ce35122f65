// Peers times weir side by side with other libraries, in one process, and
// prints the ratios as Markdown.
//
//	go run ./bench/peers                     # what tells something new; -full has all
//	go run ./bench/peers -report out.html    # and one page of it, with plots, that needs nothing else
//	go run ./bench/peers -only '^keys/keys=1M' -runs 9
//	go run ./bench/peers -only pacing -busy processes
//	go run ./bench/peers -save run.json; go run ./bench/peers -from run.json -report out.html -plots docs
//
// Subjects take turns, A B C A B C, and what counts is the ratio of their
// medians: on a machine that other work shares, a number taken alone says
// little. All ask about the same keys in the same order, the floors too.
//
// Every timed run proves its own workload, or is an error: how many different
// keys it asked about, and that so many requests were granted as the exact
// token bucket grants. A benchmark that asks 40 million a second of a limit of
// one million times refusals, and one that looks its keys up in a nil map times
// one empty key. Before, each subject has to show that it limits, and each key
// by itself; the section law compares what it grants over time with the law.
//
// The benchmarks of this package time the same subjects for benchstat:
//
//	go test -run '^$' -bench . -cpu 1,2 -count 10 ./bench/peers
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
)

type section struct {
	name, unit, about string
	plan              func(config) (plan, error)
	more              []string // columns after the ratio: what points have besides their value
}

func sections() []section {
	return []section{
		{"hot", "ns/request", "one key", hotPlan, proofColumns()},
		{"keys", "ns/request", "many keys, all present", keysPlan, proofColumns()},
		{"law", "% of what L1 permits", "granted to keys that are asked about without a pause", lawPlan, nil},
		{"allocs", "allocations/request", "on a present key", allocsPlan, nil},
		{"memory", "B/key", "heap in use", memoryPlan, nil},
		{"gc", "ms", "a full collection", gcPlan, nil},
		{"growth", "ms", "the longest insert", growthPlan, nil},
		{"flood", "ns, p99.9", "decisions on present keys while someone sends new ones", floodPlan, floodColumns()},
		{"pacing", "% of the rate", "delivered to sequential loops, and the gaps between wake-ups", pacingPlan, gapColumns()},
	}
}

// A run is all that was measured.
type run struct {
	place
	Notes   map[string][]string `json:"notes,omitempty"` // of sections
	Results []result            `json:"results"`
	Goals   []verdict           `json:"goals"`
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("peers: ")
	cfg, err := parse(os.Args[1:])
	if err == flag.ErrHelp {
		return
	}
	if cfg.spin {
		spinUntilEOF(os.Stdin)
		return
	}
	if err == nil {
		err = execute(cfg, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// execute measures, or reads what was measured, and writes it in every form
// that is asked for.
func execute(cfg config, w io.Writer) error {
	var r run
	if cfg.from != "" {
		text, err := os.ReadFile(cfg.from)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("%s: %w", cfg.from, err)
		}
		w = io.Discard
	} else {
		tables := w
		if cfg.json {
			tables = io.Discard
		}
		var err error
		if r, err = measure(cfg, tables); err != nil {
			return err
		}
	}
	if cfg.json {
		out := json.NewEncoder(w)
		out.SetIndent("", "\t")
		if err := out.Encode(r); err != nil {
			return err
		}
	} else if len(r.Goals) > 0 {
		writeGoals(w, r.Goals)
	}
	if cfg.save != "" {
		text, err := json.MarshalIndent(r, "", "\t")
		if err == nil {
			err = os.WriteFile(cfg.save, text, 0o666)
		}
		if err != nil {
			return err
		}
	}
	if cfg.plots != "" {
		if err := writePlots(cfg.plots, r); err != nil {
			return err
		}
	}
	if cfg.report != "" {
		return writeReport(cfg.report, r)
	}
	return nil
}

// measure runs the sections, one after another, and writes the table of each
// when it is there.
func measure(cfg config, w io.Writer) (run, error) {
	r := run{place: here(cfg), Notes: make(map[string][]string), Results: []result{}}
	r.place.write(w)
	for _, s := range sections() {
		p, err := s.plan(cfg)
		if err != nil {
			return r, fmt.Errorf("%s: %w", s.name, err)
		}
		var all []result
		for i, block := range p.blocks {
			results, err := interleave(selected(s.name, block, cfg.only), cfg.runs)
			if err != nil {
				return r, fmt.Errorf("%s: %w", s.name, err)
			}
			all = append(all, results...)
			p.blocks[i] = nil // and with it the keys
		}
		if len(all) == 0 {
			continue
		}
		for i := range all {
			all[i].Section, all[i].Unit = s.name, s.unit
		}
		r.Results = append(r.Results, all...)
		r.Notes[s.name] = p.notes
		writeTable(w, s, all, p.notes)
	}
	r.Goals = judge(goals(cfg), r.Results)
	return r, nil
}
