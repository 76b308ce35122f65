// Package invariants says what must hold at every step of a cell's and of a
// slot's life, and panics where it does not, in programs built with the tag of
// that name:
//
//	go test -tags invariants ./...
//
// Without the tag [On] is false: what stands under "if invariants.On" is not
// compiled, [Word], [Slot], [Mark] and [Counter] are the atomic.Int64 itself, and
// an engine is the same, instruction by instruction, as if it knew nothing of
// this package.
//
// With it, a violated invariant panics with its name and the values. The checks
// share no code with what they check, as far as that is possible: the ticks in
// a token and in a burst are asked of package gcra from the outside. The types
// also yield the processor now and then between the reading of a word and its
// writing, so that goroutines meet there even where one processor runs them
// all; and they count what cannot be seen from outside: see [Read].
package invariants

import (
	"fmt"

	"github.com/weir-go/weir/gcra"
)

// Broken panics: the invariant of that name does not hold.
func Broken(name, format string, values ...any) {
	panic("weir: invariant broken: " + name + ": " + fmt.Sprintf(format, values...))
}

// An Event is something rare in an engine's life.
type Event int

// The events that engines count.
const (
	Takeover  Event = iota // a slot went from one key to another
	Forgotten              // a key was dropped because its bucket was full
	Replaced               // a cell was put in the place of one whose life was over
	Retried                // a decision came under the insert lock and had to go back
	events
)

// Counts are what happened in the whole program since it began. They are 0
// without the tag.
type Counts struct {
	Lost   map[string]int64 // compare-and-swaps that failed, by the function that made them
	Events [events]int64
}

// LostInAll returns how many compare-and-swaps failed.
func (c Counts) LostInAll() (n int64) {
	for _, lost := range c.Lost {
		n += lost
	}
	return n
}

// Since returns what happened after the counts before.
func (c Counts) Since(before Counts) Counts {
	since := Counts{Lost: make(map[string]int64)}
	for name, n := range c.Lost {
		if n -= before.Lost[name]; n > 0 {
			since.Lost[name] = n
		}
	}
	for e := range c.Events {
		since.Events[e] = c.Events[e] - before.Events[e]
	}
	return since
}

// ticks returns the ticks in a token and in a burst, both 0 for a limit without
// a bucket.
func ticks(l *gcra.Limit) (token, burst int64) {
	at := gcra.Instant{Tick: 1}
	next, _ := gcra.Allow(l, at.Tick, at, 1)
	empty := l.Start(0)
	return next - at.Tick, gcra.Fresh(&empty, at) - at.Tick
}
