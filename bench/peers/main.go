// Peers times weir side by side with other libraries, in one process, and
// prints the ratios as Markdown.
//
//	go run ./bench/peers                     # everything, about five minutes
//	go run ./bench/peers -only keys -runs 9
//	go run ./bench/peers -only pacing -busy processes
//
// Subjects take turns, A B C A B C, and what counts is the ratio of their
// medians: on a machine that other work shares, a number taken alone says
// little. Every timed run counts its grants and is an error unless all were
// granted, or all refused, as its case says: a benchmark that asks 40 million
// a second of a limit of one million times refusals. Before, each subject has
// to show that it limits, and each key by itself.
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
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

const defaultKeys = 1 << 20

type config struct {
	runs  int
	time  time.Duration
	pace  time.Duration
	only  *regexp.Regexp
	keys  int
	grow  int
	cores []int
	busy  string
	json  bool
	spin  bool
}

func (c config) mostCores() int { return slices.Max(c.cores) }

type section struct {
	name, unit, about string
	trials            func(config) ([]trial, error)
	once              bool     // it does not depend on the moment, so one run is enough
	more              []string // columns after the ratio: what points have besides their value
}

func sections() []section {
	return []section{
		{name: "hot", unit: "ns/request", about: "one key", trials: hotTrials},
		{name: "keys", unit: "ns/request", about: "many keys, all present", trials: keyTrials},
		{name: "memory", unit: "B/key", about: "heap in use", trials: memoryTrials, once: true},
		{name: "growth", unit: "ms", about: "the longest insert", trials: growthTrials},
		{name: "pacing", unit: "% of the rate", about: "delivered to sequential loops, and the gaps between wake-ups", trials: pacingTrials, more: gapColumns()},
	}
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
		err = run(cfg, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func parse(args []string) (config, error) {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	var cfg config
	flags.IntVar(&cfg.runs, "runs", 5, "rounds of all subjects; medians of fewer than 5 are noise")
	flags.DurationVar(&cfg.time, "time", 300*time.Millisecond, "how long a subject is timed in a round")
	flags.DurationVar(&cfg.pace, "pace", 300*time.Millisecond, "how long a pacer is timed in a round; 5s for numbers to publish")
	flags.IntVar(&cfg.keys, "keys", defaultKeys, "keys of the sections keys and memory")
	flags.IntVar(&cfg.grow, "grow", 4_000_000, "keys of the section growth")
	flags.StringVar(&cfg.busy, "busy", busyNot, "what keeps every core busy while pacing: no, goroutines or processes")
	flags.BoolVar(&cfg.spin, "spin", false, "only spin, until standard input ends: what -busy processes starts")
	flags.BoolVar(&cfg.json, "json", false, "print JSON, with every sample")
	only := flags.String("only", "", "run what matches this `regexp`, of section/case/library")
	cores := flags.String("cpu", defaultCores(), "numbers of cores, each with as many goroutines")
	if err := flags.Parse(args); err != nil {
		return cfg, err
	}
	if cfg.runs < 1 || cfg.keys < 1 || cfg.grow < 2 || cfg.time <= 0 || cfg.pace <= 0 || flags.NArg() > 0 {
		return cfg, fmt.Errorf("want positive numbers and no arguments: %q", args)
	}
	if _, err := occupy(cfg.busy, 0); err != nil {
		return cfg, err
	}
	for text := range strings.SplitSeq(*cores, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return cfg, fmt.Errorf("-cpu %q: %q is not a number of cores", *cores, text)
		}
		cfg.cores = append(cfg.cores, n)
	}
	var err error
	cfg.only, err = regexp.Compile(*only)
	return cfg, err
}

func defaultCores() string {
	if n := runtime.NumCPU(); n > 1 {
		return fmt.Sprintf("1,%d", n)
	}
	return "1"
}

func run(cfg config, w io.Writer) error {
	where := here()
	if !cfg.json {
		where.write(w)
	}
	all := []result{}
	for _, s := range sections() {
		trials, err := s.trials(cfg)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		trials = selected(s.name, trials, cfg.only)
		if len(trials) == 0 {
			continue
		}
		runs := cfg.runs
		if s.once {
			runs = 1
		}
		results, err := interleave(trials, runs)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		for i := range results {
			results[i].Section, results[i].Unit = s.name, s.unit
		}
		all = append(all, results...)
		if !cfg.json {
			writeTable(w, s, results)
		}
	}
	if !cfg.json {
		return nil
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "\t")
	return out.Encode(struct {
		place
		Results []result `json:"results"`
	}{where, all})
}
