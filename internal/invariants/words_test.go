//go:build invariants

package invariants_test

import (
	"math"
	"testing"

	"github.com/weir-go/weir/internal/invariants"
)

const (
	dead   = math.MinInt64
	frozen = dead | 7
	gone   = dead + 1
)

func wordAt(tat int64) *invariants.Word {
	w := new(invariants.Word)
	w.Store(tat)
	return w
}

func slotAt(tat int64) *invariants.Slot {
	s := new(invariants.Slot)
	if tat != 0 {
		s.Store(tat)
	}
	return s
}

// The words refuse the steps that no life has.
func TestWords(t *testing.T) {
	swap := func(old, next int64) func() { return func() { wordAt(old).CompareAndSwap(old, next) } }
	slot := func(old, next int64) func() { return func() { slotAt(old).CompareAndSwap(old, next) } }
	const (
		ended = "dead stays dead and frozen stays frozen"
		lower = "a give-back lowers the word of a living cell"
		claim = "a claim is never undone, and what has moved does not come back"
		inUse = "what lowers a slot's TAT finds it in use"
		count = "a counter is never below 0"
	)
	check(t, []row{
		{"", swap(5, 7)},
		{"", swap(7, dead)},
		{"", swap(7, frozen)},
		{ended, swap(dead, 7)},
		{ended, swap(frozen, 7)},
		{ended, swap(frozen, dead)},
		{"a word goes back only in a give-back", swap(7, 5)},
		{"a frozen word keeps its value", swap(9, frozen)},
		{"a cell begins once", func() { wordAt(5).Store(6) }},
		{"", func() { invariants.Lower(wordAt(7), 7, 5) }},
		{lower, func() { invariants.Lower(wordAt(7), 7, 7) }},
		{lower, func() { invariants.Lower(wordAt(dead), dead, 7) }},
		{lower, func() { invariants.Lower(wordAt(7), 7, dead) }},

		{"", slot(5, 7)},
		{"", slot(5, 5)},
		{"", slot(0, dead)},
		{"", slot(7, gone)},
		{claim, slot(dead, 7)},
		{claim, slot(gone, 7)},
		{"a slot never becomes unused again", slot(7, 0)},
		{"a slot never becomes unused again", func() { slotAt(7).Store(0) }},
		{"a slot that was never used is claimed first", slot(0, 7)},
		{"a slot's TAT goes back only under its mark", slot(7, 5)},
		{"", func() { invariants.LowerSlot(slotAt(7), 7, 5) }},
		{inUse, func() { invariants.LowerSlot(slotAt(7), 7, 7) }},
		{inUse, func() { invariants.LowerSlot(slotAt(gone), gone, 7) }},
		{inUse, func() { invariants.LowerSlot(slotAt(7), 7, 0) }},

		{"", func() { new(invariants.Mark).CompareAndSwap(0, 7) }},
		{"a mark never falls", func() { new(invariants.Mark).CompareAndSwap(7, 5) }},
		{"", func() { c := new(invariants.Counter); c.Add(1); c.Add(-1) }},
		{count, func() { new(invariants.Counter).Add(-1) }},
		{count, func() { new(invariants.Counter).CompareAndSwap(0, -1) }},
	})
}

// What is lost is counted, by the function that lost it.
func TestLostSwaps(t *testing.T) {
	before := invariants.Read()
	w, s := wordAt(5), slotAt(5)
	for range 3 {
		w.CompareAndSwap(6, 7)
		s.CompareAndSwap(6, 7)
	}
	invariants.Lower(w, 6, 1)
	lost := invariants.Read().Since(before)
	if lost.LostInAll() != 7 || len(lost.Lost) != 1 || lost.Lost["invariants_test.TestLostSwaps"] != 7 {
		t.Errorf("lost %v, want 7 by this test", lost.Lost)
	}
}
