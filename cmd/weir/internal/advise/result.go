package advise

import (
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/logs"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
	"github.com/weir-go/weir/gcra"
)

// Schema names the form of a Result in JSON. Within a version names keep their meaning, and names may be added.
const Schema = "weir/advise/1"

// A Result is what traffic advises. All numbers are exact; durations are nanoseconds, quantiles are by nearest rank.
type Result struct {
	Schema   string           `json:"schema"`
	Input    logs.Summary     `json:"input"`
	Key      string           `json:"key"`
	Cost     string           `json:"cost"`
	Requests int64            `json:"requests"`
	Tokens   int64            `json:"tokens"`
	Keys     int64            `json:"keys"`
	LeftOut  int64            `json:"left_out"` // requests of keys for which there was no room
	Largest  int64            `json:"largest_cost"`
	Busiest  KeyTokens        `json:"busiest_key"` // the key that asked the most tokens
	Peak     Second           `json:"peak_second"` // the most tokens of one key in one second of the clock
	PeakAll  Second           `json:"peak_second_of_all"`
	Refuse   string           `json:"refuse"`         // the share of requests of Point.ForShare and "tight"; "" for none
	ForKeys  string           `json:"refuse_keys"`    // the share of keys of Point.ForKeys and "tight"; "" for none
	Curve    []Point          `json:"curve"`          // by rate
	Skipped  []string         `json:"rates_left_out"` // for which bursts or time are beyond what such a limit counts exactly
	Advice   []Advice         `json:"advice"`         // tight, balanced, generous; tight only if it differs
	Timeline *replay.Timeline `json:"timeline"`       // Refused as Advice
	Spooled  int64            `json:"spooled_bytes"`
}

// A KeyTokens is a key with what it asked for.
type KeyTokens struct {
	Key    string `json:"key"`
	Tokens int64  `json:"tokens"`
}

// A Second is one of the clock, not any that long.
type Second struct {
	At     time.Time `json:"at"`
	Tokens int64     `json:"tokens"`
	Key    string    `json:"key,omitempty"`
}

// A Point is what traffic needs at one rate.
type Point struct {
	Rate   string        `json:"rate"` // as a limit without burst
	N      int64         `json:"n"`
	Period time.Duration `json:"period_ns"`

	// The smallest burst that refuses nothing: to this part of the keys, and to all. It is 0 where nothing costs anything.
	P50 int64  `json:"burst_p50"`
	P90 int64  `json:"burst_p90"`
	P99 int64  `json:"burst_p99"`
	Max int64  `json:"burst"`
	Key string `json:"key"` // that needs the most; of equal ones the first by name

	ForShare int64  `json:"burst_for_share"` // that refuses at most Result.Refuse of the requests
	ForKeys  int64  `json:"burst_for_keys"`  // that refuses something to at most Result.ForKeys of the keys
	Pacing   Pacing `json:"pacing"`          // with the smallest burst that takes every request
}

// A Pacing is how long requests would have waited.
type Pacing struct {
	Burst  int64         `json:"burst"`
	Waited int64         `json:"waited"`  // requests that did not go at once
	Never  int64         `json:"never"`   // requests that cost more than the burst, and count in nothing else here
	Mean   time.Duration `json:"mean_ns"` // rounded down
	P50    time.Duration `json:"p50_ns"`
	P99    time.Duration `json:"p99_ns"`
	Max    time.Duration `json:"max_ns"`
}

// An Advice is a limit that fits.
type Advice struct {
	Name  string     `json:"name"` // tight, balanced or generous
	Why   string     `json:"why"`
	Limit gcra.Limit `json:"limit"`

	Verdict  replay.Verdict `json:"verdict"`            // what it would have done
	Seconds  int64          `json:"seconds_refused"`    // seconds of the clock in which something was refused
	Worst    Second         `json:"worst_second"`       // the one with the most refused tokens; zero if there is none
	Headroom int64          `json:"headroom_tokens"`    // what no key ever used of the burst
	Slack    int64          `json:"clock_slack_tokens"` // how far the clock's tick may put the burst off, either way
	Pacing   Pacing         `json:"pacing"`
}
