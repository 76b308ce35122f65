package main

import (
	"fmt"
	"math"
	"time"

	"github.com/weir-go/weir/internal/console"
)

// The audit holds what was counted against what the laws permit. No bound has a tolerance; a time enters it by two readings
// of the limiter's clock, the one before and the one after, each where it is in the limiter's favour.

// checkPresence is called when every key has made its first request and no other.
func (j *job) checkPresence() {
	now := j.clk.Now()
	j.kept = j.limiter.Len()
	for _, w := range j.workers {
		j.refused0 += w.refused0
	}
	if j.Unlimited || j.Start == 0 {
		return // the first request had nothing to take
	}
	if j.refused0 > 0 {
		j.fault("presence: %s of %s keys were refused their first request", console.Grouped(j.refused0), console.Grouped(int64(j.keys)))
	}
	// A key lacks cost tokens at least. If even the first one has not got them back, then all are still there.
	if _, most := j.Refill(now - j.made.from); most < int64(j.cost) && j.kept != j.keys {
		j.fault("presence: %s keys owe time and %s are remembered", console.Grouped(int64(j.keys)), console.Grouped(int64(j.kept)))
	}
}

// An anchor is an instant at which a key's balance was between low and high, and what it was granted since.
type anchor struct {
	between
	low, high int64
}

// bounds returns what the key may have been granted since the anchor plus what it has left at an instant in now.
func (j *job) bounds(a anchor, now between) (low, high int64) {
	in, _ := j.Refill(now.from - a.to)
	_, most := j.Refill(now.to - a.from)
	// From the day that its bucket was full on, a key has had the burst, whatever was lost over its brim.
	return min(j.Burst, add(a.low, in)), add(a.high, most)
}

// add does not wrap; neither number is negative.
func add(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }

// audit looks at every key when the workers have stopped.
func (j *job) audit() {
	permitted := int64(j.limit.Within(j.window()))
	var above, invented, lost trouble
	var tokens, left [block]int64
	anchored := j.Start > 0 && j.refused0 == 0 // by its first request
	for i, filled := range j.filled {
		if j.Unlimited {
			break
		}
		first := i * block
		last := min(first+block, j.keys)
		now := between{from: j.clk.Now()}
		for key := first; key < last; key++ {
			left[key-first] = int64(j.limiter.Peek(uint64(key), 0).Remaining())
		}
		now.to = j.clk.Now()

		clear(tokens[:])
		for _, w := range j.workers {
			for key := first; key < last; key++ {
				tokens[key-first] += w.tokens[key]
			}
		}
		// Two anchors: the birth, when the balance was known exactly, and the first request, since which much less has come
		// in, so that a single token shows.
		low, high := j.bounds(anchor{j.made, j.Start, j.Start}, now)
		low1, high1 := int64(math.MinInt64), int64(math.MaxInt64)
		cost := int64(j.cost)
		if anchored {
			low1, high1 = j.bounds(anchor{filled, j.Start - cost, j.Burst - cost}, now)
		}
		for key := first; key < last; key++ {
			granted, rest := tokens[key-first], left[key-first]
			if granted > permitted {
				above.add("key %d was granted %s tokens, but at most %s are permitted", key, console.Grouped(granted), console.Grouped(permitted))
			}
			switch sum, since := granted+rest, granted-cost+rest; {
			case sum > high:
				invented.add("key %d was granted %s and has %s left, but at most %s came in",
					key, console.Grouped(granted), console.Grouped(rest), console.Grouped(high))
			case since > high1:
				invented.add("key %d was granted %s after its first request and has %s left, but had at most %s",
					key, console.Grouped(granted-cost), console.Grouped(rest), console.Grouped(high1))
			case sum < low:
				lost.add("key %d was granted %s and has %s left, but at least %s came in",
					key, console.Grouped(granted), console.Grouped(rest), console.Grouped(low))
			case since < low1:
				lost.add("key %d was granted %s after its first request and has %s left, but had at least %s",
					key, console.Grouped(granted-cost), console.Grouped(rest), console.Grouped(low1))
			}
		}
	}
	j.report("L1 window", above)
	j.report("conservation, tokens invented", invented)
	j.report("conservation, tokens lost", lost)
	if refused := j.sum(func(w *worker) int64 { return w.refused }) + j.refused0; j.Unlimited && refused > 0 {
		j.fault("unlimited: %s requests were refused", console.Grouped(refused))
	}
}

// window is the time in which all decisions fell.
func (j *job) window() time.Duration { return j.decided.to - j.made.from }

func (j *job) sum(of func(*worker) int64) (n int64) {
	for _, w := range j.workers {
		n = add(n, of(w))
	}
	return n
}

// trouble counts keys and keeps the first.
type trouble struct {
	keys  int
	first string
}

func (t *trouble) add(format string, args ...any) {
	if t.keys++; t.keys == 1 {
		t.first = fmt.Sprintf(format, args...)
	}
}

func (j *job) report(law string, t trouble) {
	if t.keys > 0 {
		j.fault("%s: broken for %s of %s keys: %s", law, console.Grouped(int64(t.keys)), console.Grouped(int64(j.keys)), t.first)
	}
}

func (j *job) fault(format string, args ...any) {
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}
