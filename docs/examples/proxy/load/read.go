package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	rate       = regexp.MustCompile(`(?m)^Requests/sec:\s+([\d.]+)$`)
	percentile = regexp.MustCompile(`(?m)^\s+99%\s+([\d.]+(?:us|ms|s))[ \t]*$`)
	count      = regexp.MustCompile(`(?m)^\s+(\d+) requests in `)
	failure    = regexp.MustCompile(`(?m)^\s+(Non-2xx or 3xx responses|Socket errors): .*$`)
)

// parse reads what wrk prints. Whatever failed makes the measurement worthless.
func parse(text []byte) (o outcome, requests int64, err error) {
	if failed := failure.Find(text); failed != nil {
		return o, 0, errors.New(strings.TrimSpace(string(failed)))
	}
	find := func(re *regexp.Regexp) string {
		if m := re.FindSubmatch(text); m != nil {
			return string(m[1])
		}
		return ""
	}
	o.perSecond, err = strconv.ParseFloat(find(rate), 64)
	if err != nil {
		return o, 0, err
	}
	if o.p99, err = time.ParseDuration(find(percentile)); err != nil {
		return o, 0, err
	}
	requests, err = strconv.ParseInt(find(count), 10, 64)
	if err == nil && requests == 0 {
		err = errors.New("no request was answered")
	}
	return o, requests, err
}

// cpuTime returns the CPU time of a process, from Linux, or 0.
func cpuTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return parseStat(string(text))
}

// parseStat reads the fields 14 and 15, in hundredths of a second. The second
// is a name, and may have anything in it.
func parseStat(text string) time.Duration {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err != nil || err2 != nil {
		return 0
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

func report(out io.Writer, off, on []outcome) {
	for _, what := range []struct {
		name string
		of   func(outcome) float64
	}{
		{"requests/s", func(o outcome) float64 { return o.perSecond }},
		{"p99", func(o outcome) float64 { return float64(o.p99) / 1e3 }},
		{"CPU/request", func(o outcome) float64 { return float64(o.cpu) / 1e3 }},
	} {
		a, b := median(off, what.of), median(on, what.of)
		unit := " µs"
		if what.name == "requests/s" {
			unit = ""
		}
		fmt.Fprintf(out, "median %-12s off %.1f%s, on %.1f%s: %+.2f %%\n", what.name, a, unit, b, unit, 100*(b/a-1))
	}
}

func median(of []outcome, value func(outcome) float64) float64 {
	values := make([]float64, len(of))
	for i, o := range of {
		values[i] = value(o)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
