package main

import (
	"flag"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

type config struct {
	runs  int
	time  time.Duration
	pace  time.Duration
	only  *regexp.Regexp
	full  bool
	cores []int
	busy  string
	spin  bool

	keys                    []int
	remember, grow, collect int
	flood                   int

	json                      bool
	save, from, report, plots string
}

func (c config) mostCores() int { return slices.Max(c.cores) }

func parse(args []string) (config, error) {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	var cfg config
	flags.IntVar(&cfg.runs, "runs", 5, "rounds of all subjects; medians of fewer than 5 are noise")
	flags.DurationVar(&cfg.time, "time", 100*time.Millisecond, "how long a subject is timed in a round, in each case")
	flags.DurationVar(&cfg.pace, "pace", 300*time.Millisecond, "how long a pacer is timed in a round; 5s for numbers to publish")
	flags.BoolVar(&cfg.full, "full", false, "every case of the section keys, in every round")
	flags.IntVar(&cfg.remember, "remember", 1_000_000, "keys of the section memory, which goes on to twice as many")
	flags.IntVar(&cfg.grow, "grow", 4_000_000, "keys of the section growth")
	flags.IntVar(&cfg.collect, "collect", 10_000_000, "keys of the section gc")
	flags.IntVar(&cfg.flood, "flood", 100_000, "present keys of the section flood")
	flags.StringVar(&cfg.busy, "busy", busyNot, "what keeps every core busy while pacing: no, goroutines or processes")
	flags.BoolVar(&cfg.spin, "spin", false, "only spin, until standard input ends: what -busy processes starts")
	flags.BoolVar(&cfg.json, "json", false, "print JSON, with every sample")
	flags.StringVar(&cfg.save, "save", "", "write the JSON to this `file` too")
	flags.StringVar(&cfg.from, "from", "", "measure nothing: make -report and -plots of the JSON in this `file`")
	flags.StringVar(&cfg.report, "report", "", "write an HTML `file` that needs nothing else")
	flags.StringVar(&cfg.plots, "plots", "", "write the main plots as SVG into this `folder`")
	only := flags.String("only", "", "run what matches this `regexp`, of section/case/library")
	keys := flags.String("keys", "1000,1000000,8000000", "numbers of keys of the section keys")
	cores := flags.String("cpu", defaultCores(), "numbers of cores, each with as many goroutines")
	if err := flags.Parse(args); err != nil {
		return cfg, err
	}
	if cfg.runs < 1 || cfg.grow < 2 || cfg.remember < 1 || cfg.collect < 1 || cfg.flood < 1 || cfg.time <= 0 || cfg.pace <= 0 || flags.NArg() > 0 {
		return cfg, fmt.Errorf("want positive numbers and no arguments: %q", args)
	}
	if _, err := occupy(cfg.busy, 0); err != nil {
		return cfg, err
	}
	var err error
	if cfg.keys, err = numbers(*keys); err != nil {
		return cfg, fmt.Errorf("-keys: %w", err)
	}
	if cfg.cores, err = numbers(*cores); err != nil {
		return cfg, fmt.Errorf("-cpu: %w", err)
	}
	cfg.only, err = regexp.Compile(*only)
	return cfg, err
}

// numbers reads positive numbers with commas between them.
func numbers(list string) (all []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q: %q is not a positive number", list, text)
		}
		all = append(all, n)
	}
	return all, nil
}

func defaultCores() string {
	if n := runtime.NumCPU(); n > 1 {
		return fmt.Sprintf("1,%d", n)
	}
	return "1"
}
