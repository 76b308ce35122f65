package main

import (
	"flag"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
)

type config struct {
	runs       int
	time       time.Duration
	keys       int
	goroutines []int
	sequences  int
	requests   int
	seed       uint64
	clock      string
	only       *regexp.Regexp
}

func parse(args []string, out io.Writer) (config, error) {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(out)
	var cfg config
	flags.IntVar(&cfg.runs, "runs", 9, "rounds of all subjects; medians of fewer than 5 are noise")
	flags.DurationVar(&cfg.time, "time", 100*time.Millisecond, "how long a subject is timed in a round, in each case")
	flags.IntVar(&cfg.keys, "keys", 100_000, "keys of the cases that have many")
	flags.IntVar(&cfg.sequences, "sequences", 200, "sequences of the table of wrong decisions, under each limit")
	flags.IntVar(&cfg.requests, "requests", 40, "requests in a sequence")
	flags.Uint64Var(&cfg.seed, "seed", 1, "of the sequences")
	flags.StringVar(&cfg.clock, "clock", clockAuto, "the Redis whose clock is set: faketime (redis-server below libfaketime), miniredis, or auto: what is there")
	only := flags.String("only", "", "run what matches this `regexp`, of section/case/library: sections are speed and wrong")
	goroutines := flags.String("goroutines", "1,8,64", "numbers of goroutines")
	if err := flags.Parse(args); err != nil {
		return cfg, err
	}
	if cfg.runs < 1 || cfg.time < 10 || cfg.keys < 2 || cfg.sequences < 1 || cfg.requests < 1 || flags.NArg() > 0 {
		return cfg, fmt.Errorf("want positive numbers, two keys and no arguments: %q", args)
	}
	if cfg.clock != clockAuto && cfg.clock != clockFaked && cfg.clock != clockMini {
		return cfg, fmt.Errorf("-clock %q: want %s, %s or %s", cfg.clock, clockAuto, clockFaked, clockMini)
	}
	for text := range strings.SplitSeq(*goroutines, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 10_000 {
			return cfg, fmt.Errorf("-goroutines %q: %q is no number from 1 to 10000", *goroutines, text)
		}
		cfg.goroutines = append(cfg.goroutines, n)
	}
	var err error
	if cfg.only, err = regexp.Compile(*only); err != nil {
		return cfg, fmt.Errorf("-only: %w", err)
	}
	return cfg, nil
}
