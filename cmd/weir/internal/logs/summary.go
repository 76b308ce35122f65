package logs

import (
	"fmt"
	"regexp"
	"time"
)

// A Summary says what was read. Numbers are exact.
type Summary struct {
	Files    []File   `json:"files"`
	Keys     []string `json:"keys"`  // what Options.Keys came to
	Costs    []string `json:"costs"` // what Options.Costs came to
	Lines    int64    `json:"lines"`
	Requests int64    `json:"requests"` // records
	Blank    int64    `json:"blank"`    // lines without a record: blank ones and headers
	Broken   int64    `json:"broken"`
	Faults   []Fault  `json:"first_broken"` // at most MaxFaults

	Reordered int64         `json:"reordered"` // records that were sorted within the window
	Late      int64         `json:"late"`      // records beyond it, decided at the latest time seen before them
	Window    time.Duration `json:"window_ns"`
	Free      int64         `json:"without_cost"` // records whose cost is empty or "-", and counts as 0

	First time.Time     `json:"first"` // of the records, in UTC
	Last  time.Time     `json:"last"`
	Tick  time.Duration `json:"clock_ns"` // the longest of 1 s, 1 ms, 1 µs and 1 ns that all times are multiples of
}

// A File is one input, in the order given.
type File struct {
	Name   string `json:"name"`
	Format string `json:"format"`
	Lines  int64  `json:"lines"`

	First time.Time `json:"first,omitzero"` // of its records as they stand there, in UTC; zero if there is none
}

// A Fault is a broken line.
type Fault struct {
	File   string `json:"file"`
	Line   int64  `json:"line"` // from 1, within the file
	Reason string `json:"reason"`
}

// WholeSeconds reports whether the clock of the input seems to be one of whole seconds, which hides how requests lie within
// a second.
func (s *Summary) WholeSeconds() bool { return s.Tick == time.Second && s.Requests > 1 }

// String returns "access.log:7: reason".
func (f Fault) String() string { return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Reason) }

// quotes matches what a reason quotes of a line.
var quotes = regexp.MustCompile(`"(?:[^"\\]|\\.)*"(?:\.\.\.)?`)

func hide(reason string) string { return quotes.ReplaceAllString(reason, "(hidden)") }

// see notes a time for Tick.
func (s *Summary) see(at int64) {
	for at%int64(s.Tick) != 0 {
		s.Tick /= 1000
	}
}
