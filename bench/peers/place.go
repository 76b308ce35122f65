package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// A place is where numbers come from.
type place struct {
	Command   string            `json:"command"`
	Date      string            `json:"date"`
	Go        string            `json:"go"`
	CPU       string            `json:"cpu"`
	Cores     int               `json:"cores"`
	System    string            `json:"system"`
	Load      string            `json:"load,omitempty"` // of the machine, when the program began
	Runs      int               `json:"runs"`
	Libraries map[string]string `json:"libraries"`
}

func here(cfg config) place {
	p := place{
		Command:   "go run ./bench/peers",
		Date:      time.Now().UTC().Format("2006-01-02 15:04 MST"),
		Go:        runtime.Version(),
		CPU:       runtime.GOARCH,
		Cores:     runtime.NumCPU(),
		System:    runtime.GOOS + "/" + runtime.GOARCH,
		Runs:      cfg.runs,
		Libraries: make(map[string]string),
	}
	for _, arg := range os.Args[1:] {
		if strings.ContainsAny(arg, " ()|*?$^\\") {
			arg = "'" + arg + "'"
		}
		p.Command += " " + arg
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		fields := make(map[string]string)
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok {
				fields[strings.TrimSpace(name)] = strings.TrimSpace(value)
			}
		}
		if name := fields["model name"]; name != "" {
			p.CPU = name
			if mhz, _, ok := strings.Cut(fields["cpu MHz"], "."); ok {
				p.CPU += fmt.Sprintf(" (family %s, model %s, %s MHz)", fields["cpu family"], fields["model"], mhz)
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
