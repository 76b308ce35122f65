//go:build invariants

package invariants

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
)

// On says whether invariants are checked.
const On = true

// ended is the sign bit: alone in a dead word, beside the TAT in a frozen one.
const ended = math.MinInt64

// A Word holds a cell's TAT, below 0 once the cell's life is over. Then it
// never changes again; before, it only grows, unless by Lower.
type Word struct{ v atomic.Int64 }

// Load returns the word.
func (w *Word) Load() int64 {
	tat := w.v.Load()
	yield()
	return tat
}

// Store sets the word of a cell that nobody else knows yet.
func (w *Word) Store(tat int64) {
	if old := w.v.Load(); old != 0 {
		Broken("a cell begins once", "%d is stored over %d", tat, old)
	}
	w.v.Store(tat)
}

// CompareAndSwap is a step of the cell's life.
func (w *Word) CompareAndSwap(old, next int64) bool {
	switch {
	case old < 0:
		Broken("dead stays dead and frozen stays frozen", "%#x becomes %#x", uint64(old), uint64(next))
	case next >= 0 && next < old:
		Broken("a word goes back only in a give-back", "from %d to %d", old, next)
	case next < 0 && next != ended && next != old|ended:
		Broken("a frozen word keeps its value", "%d becomes %#x", old, uint64(next))
	}
	return swapped(w.v.CompareAndSwap(old, next))
}

// Lower is w.CompareAndSwap for a give-back, which alone makes a TAT less.
func Lower(w *Word, tat, next int64) bool {
	if tat < 0 || next < 0 || next >= tat {
		Broken("a give-back lowers the word of a living cell", "%d becomes %d", tat, next)
	}
	return swapped(w.v.CompareAndSwap(tat, next))
}

// A Slot holds the TAT of a slot of a table, 0 if it was never used and below 0
// if it is claimed, or if its key has moved to another block. It is not unused
// again. Who claimed it writes it with Store, and nobody else writes it.
type Slot struct{ v atomic.Int64 }

// Load returns the TAT.
func (s *Slot) Load() int64 {
	tat := s.v.Load()
	yield()
	return tat
}

// Store ends a claim, or makes one in a block that nobody inserts in yet.
func (s *Slot) Store(tat int64) {
	if tat == 0 {
		Broken("a slot never becomes unused again", "%d becomes 0", s.v.Load())
	}
	s.v.Store(tat)
}

// CompareAndSwap is a charge, a claim, or the end of the slot in its block.
func (s *Slot) CompareAndSwap(old, next int64) bool {
	switch {
	case old < 0:
		Broken("a claim is never undone, and what has moved does not come back", "%#x becomes %#x", uint64(old), uint64(next))
	case next == 0:
		Broken("a slot never becomes unused again", "%d becomes 0", old)
	case old == 0 && next > 0:
		Broken("a slot that was never used is claimed first", "0 becomes %d", next)
	case next > 0 && next < old:
		Broken("a slot's TAT goes back only under its mark", "from %d to %d", old, next)
	}
	return swapped(s.v.CompareAndSwap(old, next))
}

// LowerSlot is Lower for a slot.
func LowerSlot(s *Slot, tat, next int64) bool {
	if tat <= 0 || next <= 0 || next >= tat {
		Broken("what lowers a slot's TAT finds it in use", "%d becomes %d", tat, next)
	}
	return swapped(s.v.CompareAndSwap(tat, next))
}

// A Mark is a number that never falls.
type Mark struct{ v atomic.Int64 }

// Load returns the number.
func (m *Mark) Load() int64 { return m.v.Load() }

// CompareAndSwap raises it.
func (m *Mark) CompareAndSwap(old, next int64) bool {
	if next <= old {
		Broken("a mark never falls", "from %d to %d", old, next)
	}
	return swapped(m.v.CompareAndSwap(old, next))
}

// A Counter is a number that is never below 0.
type Counter struct{ v atomic.Int64 }

// Load returns the number.
func (c *Counter) Load() int64 {
	n := c.v.Load()
	yield()
	return n
}

// Add adds n and returns the sum.
func (c *Counter) Add(n int64) int64 {
	sum := c.v.Add(n)
	if sum < 0 {
		Broken("a counter is never below 0", "it is %d after %+d", sum, n)
	}
	return sum
}

// CompareAndSwap sets the number.
func (c *Counter) CompareAndSwap(old, next int64) bool {
	if next < 0 {
		Broken("a counter is never below 0", "it becomes %d after %d", next, old)
	}
	return c.v.CompareAndSwap(old, next)
}

// yield lets others run, now and then, where a step has read and not yet
// written.
func yield() {
	if rand.Uint32()%1024 == 0 {
		runtime.Gosched()
	}
}

// What is counted is counted for the whole program, because a cell is one word
// and has no place for it. Only this build has such variables.
var (
	happened [events]atomic.Int64
	lost     [64]struct {
		pc atomic.Uintptr
		n  atomic.Int64
	}
)

// Happened counts an event.
func Happened(e Event) { happened[e].Add(1) }

// swapped counts a compare-and-swap that failed for the function that called
// the method which calls this.
func swapped(done bool) bool {
	if done {
		return true
	}
	var pc [1]uintptr
	runtime.Callers(3, pc[:])
	i := int(pc[0] >> 2)
	for range lost {
		l := &lost[uint(i)%uint(len(lost))]
		if at := l.pc.Load(); at == pc[0] || at == 0 && l.pc.CompareAndSwap(0, pc[0]) || l.pc.Load() == pc[0] {
			l.n.Add(1)
			return false
		}
		i++
	}
	Broken("there is room to count", "%d places lose swaps", len(lost))
	return false
}

// Read returns the counts.
func Read() Counts {
	c := Counts{Lost: make(map[string]int64)}
	for e := range c.Events {
		c.Events[e] = happened[e].Load()
	}
	for i := range lost {
		if pc := lost[i].pc.Load(); pc != 0 {
			f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
			c.Lost[f.Function[strings.LastIndex(f.Function, "/")+1:]] += lost[i].n.Load()
		}
	}
	return c
}
