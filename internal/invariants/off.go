//go:build !invariants

package invariants

import "sync/atomic"

// On says whether invariants are checked.
const On = false

// A Word holds a cell's TAT, below 0 once the cell's life is over.
type Word = atomic.Int64

// A Slot holds the TAT of a slot of a table.
type Slot = atomic.Int64

// A Mark is a number that never falls.
type Mark = atomic.Int64

// A Counter is a number that is never below 0.
type Counter = atomic.Int64

// Lower is w.CompareAndSwap for a give-back, which alone makes a TAT less.
func Lower(w *atomic.Int64, tat, next int64) bool { return w.CompareAndSwap(tat, next) }

// LowerSlot is Lower for a slot.
func LowerSlot(s *atomic.Int64, tat, next int64) bool { return s.CompareAndSwap(tat, next) }

// Happened counts an event.
func Happened(Event) {}

// Read returns the counts.
func Read() Counts { return Counts{} }
