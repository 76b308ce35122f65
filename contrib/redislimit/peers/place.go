package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// compared are the modules whose versions the tables are of.
var compared = []string{"github.com/go-redis/redis_rate/v10", "github.com/redis/go-redis/v9", "github.com/throttled/throttled/v2"}

// writePlace says where the numbers come from: command, date, machine, versions.
func writePlace(w io.Writer, cfg config, args []string) {
	command := "go run ./contrib/redislimit/peers"
	for _, arg := range args {
		if strings.ContainsAny(arg, " ()|*?$^\\") {
			arg = "'" + arg + "'"
		}
		command += " " + arg
	}
	fmt.Fprintf(w, "`%s`, %s: %s, %s/%s, %s, %d cores, medians of %d rounds of %v%s; %s.\n\n",
		command, time.Now().UTC().Format("2006-01-02 15:04 MST"), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		processor(), runtime.NumCPU(), cfg.runs, cfg.time, load(), serverVersion())
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, m := range build.Deps {
			if slices.Contains(compared, m.Path) {
				fmt.Fprintf(w, "- %s %s\n", m.Path, m.Version)
			}
		}
	}
}

// processor is the name that Linux has for it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	about := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			about[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	if about["model name"] == "" {
		return runtime.GOARCH
	}
	return fmt.Sprintf("%s (model %s, %s MHz)", about["model name"], about["model"], about["cpu MHz"])
}

// load is that of the machine in the last minute: other work beside makes all slower.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return ", load " + first + " at the start"
}
