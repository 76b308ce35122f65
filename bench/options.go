package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weir-go/weir/gcra"
)

const help = `bench does weir's main job and measures it, or decides a recorded trace.

  go run ./bench [-keys N] [-duration D] [-limit L] [-json]
  go run ./bench -trace FILE [-limit L] [-json]

  -keys N      keys to limit, up to 100000000 (default 1000000)
  -duration D  how long to decide, once every key is there, up to 24h (default 3s)
  -trace FILE  decide the requests recorded in FILE, in their own time: CSV with the columns time, key and perhaps
               cost, or Combined log lines of a web server; either may be gzipped
  -limit L     a rate and a burst, perhaps step and start (default "2/s burst 20"; for a trace "30/m burst 5")
  -json        print one JSON document instead of text
  -help        print this

Examples:

  go run ./bench
  go run ./bench -keys 8000000 -duration 10s -limit "100/s burst 20"
  go run ./bench -json > today.json
  go run ./bench -trace access.log -limit "5/s burst 50"
  go run ./bench -trace tokens.csv -limit "100000/m burst 20000" -json
  go run ./bench -trace access.log.gz -limit "60/m burst 10 step 1m start 0"

The results go to stdout, progress and complaints to stderr. The exit code is 0 if all laws held, 1 if one was broken (or
a decision on the trace is not the exact model's), 2 if the input is bad. The go command reports 2 as 1: where that
matters, go build ./bench first.
`

const (
	mostKeys   = 100_000_000
	longest    = 24 * time.Hour
	workLimit  = "2/s burst 20"
	traceLimit = "30/m burst 5"
)

type options struct {
	args     []string
	keys     int
	duration time.Duration
	trace    string
	limit    gcra.Limit
	json     bool
}

// parse reads the command line. The error is flag.ErrHelp if help was asked for.
func parse(args []string) (options, error) {
	o := options{args: args}
	var limit string
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(io.Discard) // the caller prints the error, once
	f.IntVar(&o.keys, "keys", 1_000_000, "")
	f.DurationVar(&o.duration, "duration", 3*time.Second, "")
	f.StringVar(&o.trace, "trace", "", "")
	f.StringVar(&limit, "limit", "", "")
	f.BoolVar(&o.json, "json", false, "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	given := make(map[string]bool)
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })

	if !given["limit"] {
		limit = workLimit
		if given["trace"] {
			limit = traceLimit
		}
	}
	var err error
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q: a trace is named by -trace", f.Arg(0))
	case o.keys < 1 || o.keys > mostKeys:
		return o, fmt.Errorf("-keys %d: want 1 to %d", o.keys, mostKeys)
	case o.duration <= 0 || o.duration > longest:
		return o, fmt.Errorf("-duration %v: want more than 0, up to %v", o.duration, longest)
	case given["trace"] && o.trace == "":
		return o, errors.New(`-trace "": want the name of a file`)
	case given["trace"] && given["keys"]:
		return o, fmt.Errorf("-keys %d does not go with -trace: a trace has its own keys", o.keys)
	case given["trace"] && given["duration"]:
		return o, fmt.Errorf("-duration %v does not go with -trace: a trace has its own time", o.duration)
	}
	if o.limit, err = gcra.Parse(limit); err != nil {
		return o, fmt.Errorf("-limit: %w", err)
	}
	return o, nil
}

// command is the command line as a shell reads it.
func (o options) command() string {
	words := []string{"go run ./bench"}
	for _, a := range o.args {
		if a == "" || strings.ContainsFunc(a, func(r rune) bool {
			return !strings.ContainsRune("-_=+./:,@%", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}
