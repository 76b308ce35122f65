package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/console"
)

// A jobReport counts tokens where it says granted, refused or permitted: over the whole run, each key's first request
// included. Every later request asks for one.
type jobReport struct {
	Command    string     `json:"command"`
	Limit      gcra.Limit `json:"limit"`
	Keys       int        `json:"keys"`
	Goroutines int        `json:"goroutines"`

	Seconds            float64 `json:"seconds"`
	Decisions          int64   `json:"decisions"`
	DecisionsGranted   int64   `json:"decisions_granted"`
	DecisionsPerSecond int64   `json:"decisions_per_second"`
	Latency            latency `json:"latency_ns"`
	LatencyOneIn       int     `json:"latency_measured_on_one_in"`
	Counter            string  `json:"counter"`
	CounterOverhead    float64 `json:"counter_overhead_ns"` // part of each latency

	Granted   int64  `json:"granted"`
	Refused   int64  `json:"refused"`
	Permitted *int64 `json:"permitted"` // by L1; null under unlimited

	Remembered    int      `json:"remembered"`    // keys, after the inserts
	BytesPerKey   *float64 `json:"bytes_per_key"` // null if none is remembered
	InsertSeconds float64  `json:"insert_seconds"`
	LongestInsert int64    `json:"longest_insert_pause_ns"`
	Insert        latency  `json:"insert_ns"`

	HotPerSecond int64 `json:"hot_key_decisions_per_second"`

	// The longest pause of an empty loop, measured for a moment beforehand: the machine's share in what is longest here.
	MachinePause int64 `json:"machine_pause_ns"`

	Violations []string `json:"violations"`

	Go       string `json:"go"`
	Platform string `json:"platform"`
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"`
}

func newJobReport(o options, j, hot *job) *jobReport {
	all, inserts := j.workers[0].latency, j.workers[0].inserts
	for _, w := range j.workers[1:] {
		all.merge(&w.latency)
		inserts.merge(&w.inserts)
	}
	unit := j.counter.unit()
	last := j.made.to
	for _, b := range j.filled {
		last = max(last, b.to)
	}
	r := &jobReport{
		Command: o.command(), Limit: j.limit, Keys: j.keys, Goroutines: len(j.workers),
		Seconds:          (j.decided.to - j.decided.from).Seconds(),
		DecisionsGranted: j.sum(func(w *worker) int64 { return w.granted }),
		Latency:          all.summary(unit), LatencyOneIn: sampled,
		Counter: j.counter.String(), CounterOverhead: j.counter.overhead(),
		Remembered: j.kept, InsertSeconds: (last - j.made.to).Seconds(), Insert: inserts.summary(unit),
		Violations: append([]string{}, j.faults...), HotPerSecond: hot.perSecond(),
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, CPU: cpu(), Cores: runtime.NumCPU(),
	}
	refused := j.sum(func(w *worker) int64 { return w.refused })
	r.Decisions = r.DecisionsGranted + refused
	r.DecisionsPerSecond = j.perSecond()
	for _, f := range hot.faults {
		r.Violations = append(r.Violations, "hot key: "+f)
	}
	r.Granted = j.sum(func(w *worker) (n int64) {
		for _, tokens := range w.tokens {
			n += tokens
		}
		return n
	})
	r.Refused = refused + j.refused0*int64(j.cost)
	r.LongestInsert = r.Insert.Max
	for _, w := range j.workers {
		r.MachinePause = max(r.MachinePause, int64(float64(w.pause)*unit))
	}
	if !j.Unlimited {
		each := int64(j.limit.Within(j.window()))
		n := int64(math.MaxInt64)
		if each <= n/int64(j.keys) {
			n = each * int64(j.keys)
		}
		r.Permitted = &n
	}
	if j.kept > 0 {
		b := float64(j.heap) / float64(j.kept)
		r.BytesPerKey = &b
	}
	return r
}

func (j *job) perSecond() int64 {
	decisions := j.sum(func(w *worker) int64 { return w.granted + w.refused })
	return int64(float64(decisions) / max(j.decided.to-j.decided.from, 1).Seconds()) // a coarse clock may not have moved
}

func (r *jobReport) faults() []string { return r.Violations }

func (r *jobReport) text() string {
	var b strings.Builder
	row := func(name, value, format string, args ...any) {
		line := fmt.Sprintf("%-16s %14s  ", name, value) + fmt.Sprintf(format, args...)
		fmt.Fprintln(&b, strings.TrimRight(line, " "))
	}
	share := func(part, whole int64) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

	row("keys", console.Grouped(int64(r.Keys)), "%v; %d goroutines", r.Limit, r.Goroutines)
	row("decisions/s", console.Grouped(r.DecisionsPerSecond), "%s in %.2f s, %.1f %% granted",
		console.Grouped(r.Decisions), r.Seconds, share(r.DecisionsGranted, r.Decisions))
	row("latency p50", ns(r.Latency.P50), "of 1 decision in %d, with one reading of the %s (%.0f ns)",
		r.LatencyOneIn, r.Counter, r.CounterOverhead)
	row("        p99", ns(r.Latency.P99), "")
	row("        p99.9", ns(r.Latency.P999), "")
	row("        max", ns(r.Latency.Max), "")
	if r.Permitted == nil {
		row("tokens granted", console.Grouped(r.Granted), "and permitted without end")
	} else {
		row("tokens granted", console.Grouped(r.Granted), "%.1f %% of the %s that L1 permits", share(r.Granted, *r.Permitted), console.Grouped(*r.Permitted))
	}
	row("tokens refused", console.Grouped(r.Refused), "")
	if r.BytesPerKey == nil {
		row("bytes per key", "none", "no key is remembered")
	} else {
		row("bytes per key", fmt.Sprintf("%.1f", *r.BytesPerKey), "%s keys remembered after the inserts", console.Grouped(int64(r.Remembered)))
	}
	row("longest insert", ns(r.LongestInsert), "p50 %s, p99.9 %s; %s inserts in %.2f s",
		ns(r.Insert.P50), ns(r.Insert.P999), console.Grouped(int64(r.Insert.Samples)), r.InsertSeconds)
	row("hot key/s", console.Grouped(r.HotPerSecond), "decisions on one key, by all goroutines")
	row("machine", ns(r.MachinePause), "longest pause of an empty loop: part of any max and longest above")
	if len(r.Violations) == 0 {
		row("laws", "hold", "window, conservation and presence, for each key")
	} else {
		row("laws", "BROKEN", "%d; see stderr", len(r.Violations))
	}
	fmt.Fprintf(&b, "\n%s, %s, %s, %d cores\n", r.Command, r.Go, r.CPU, r.Cores)
	return b.String()
}

func ns(n int64) string { return console.Short(time.Duration(n)) }

// cpu is the processor's name where it can be had for nothing.
func cpu() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	if name := os.Getenv("PROCESSOR_IDENTIFIER"); name != "" { // Windows
		return name
	}
	return "unknown CPU"
}
