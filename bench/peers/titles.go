package main

import "strings"

// titles are what the libs are called where there is room for it.
func titles() map[string]string {
	return map[string]string{
		"none":             "nothing (the harness)",
		"cas":              "bare CAS",
		"cas-clock":        "clock and bare CAS",
		"weir":             "weir Limiter",
		"weir-tsc":         "weir Limiter, TSC",
		"weir-coarse":      "weir Limiter, coarse clock",
		"weir-1shard":      "weir Limiter, 1 shard",
		"weir-refuse":      "weir Limiter, capped, Refuse",
		"weir-admit":       "weir Limiter, capped, Admit",
		"weir-strict":      "weir, strict",
		"weir-strict-spin": "weir, strict, spinning",
		"table":            "weir Table",
		"table-admit":      "weir Table, Admit",
		"table-tsc":        "weir Table, TSC",
		"table-coarse":     "weir Table, coarse clock",
		"table-batch":      "weir Table, batches",
		"table-tsc-batch":  "weir Table, TSC, batches",
		"xtime":            "x/time/rate",
		"xtime-mutex":      "x/time/rate, mutex",
		"xsync":            "one xsync map",
		"sethvargo":        "sethvargo/go-limiter",
		"throttled":        "throttled v2",
		"ulule":            "ulule/limiter v3",
		"tollbooth":        "tollbooth v7",
		"uber":             "uber/ratelimit",
		"uber-noslack":     "uber/ratelimit, no slack",
	}
}

// isOurs tells whether a lib is weir, in whatever shape.
func isOurs(lib string) bool {
	return strings.HasPrefix(lib, "weir") || strings.HasPrefix(lib, "table")
}
