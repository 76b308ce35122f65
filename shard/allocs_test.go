package shard

import (
	"context"
	"fmt"
	"testing"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// A decider is what both engines offer for one key type.
type decider interface {
	Allow(key string) bool
	AllowN(key string, n int) bool
	Take(key string, n int) gcra.Decision
	TakeUpTo(key string, n int) gcra.Decision
	Peek(key string, n int) gcra.Decision
	Debit(key string, n int) gcra.Decision
	Wait(ctx context.Context, key string) error
	WaitN(ctx context.Context, key string, n int) error
	For(key string) View[string]
	SetLimit(gcra.Limit)
	Reset(key string)
}

// TestDecisionsDoNotAllocate asks every deciding method about a key that is
// present, where it grants and where it refuses. A WaitN that would have to
// sleep returns an error of its own, which is not a decision; one that is refused
// for its cost does not.
func TestDecisionsDoNotAllocate(t *testing.T) {
	if raceSlow > 0 {
		t.Skip("the race detector allocates")
	}
	var clk clock.Manual
	ctx := t.Context()
	much, none := gcra.PerSecond(1).Burst(1<<20), gcra.Per(1, 1<<50).Burst(1<<20)
	for _, options := range []struct {
		text string
		opts []Option
	}{
		{"plain", nil}, {"WithStats", []Option{WithStats()}}, {"WithDryRun", []Option{WithDryRun()}},
		{"all of them", []Option{WithStats(), WithDryRun(), WithTopRefused(3), WithMaxWait(0)}},
	} {
		opts := append(options.opts, WithClock(&clk))
		l, tab := New[string](much, opts...), NewTable[string](much, 100, opts...)
		for _, e := range []decider{l, tab} {
			view := e.For("view")
			refusedCost := 1<<20 + 1
			rows := map[string]func(){
				"Allow":    func() { e.Allow("a") },
				"AllowN":   func() { e.AllowN("a", 2) },
				"Take":     func() { e.Take("a", 2) },
				"TakeUpTo": func() { e.TakeUpTo("a", 2) },
				"Peek":     func() { e.Peek("a", 2) },
				"Debit":    func() { e.Debit("a", 2) },
				"Wait":     func() { _ = e.Wait(ctx, "waiter") },
				"WaitN":    func() { _ = e.WaitN(ctx, "waiter", 2) },
				"Reset":    func() { e.Reset("never charged") },

				"AllowN above the burst": func() { e.AllowN("a", refusedCost) },
				"Take of less than none": func() { e.Take("a", -1) },
				"WaitN above the burst":  func() { _ = e.WaitN(ctx, "waiter", refusedCost) },

				"view.Allow": func() { view.Allow() },
				"view.Take":  func() { view.Take(2) },
				"view.Peek":  func() { view.Peek(2) },
				"view.Debit": func() { view.Debit(2) },
				"view.Wait":  func() { _ = e.For("waiter").Wait(ctx) },
			}
			if tab, ok := e.(*Table[string]); ok {
				keys, oks := []string{"a", "view", "empty", "waiter"}, make([]bool, 4)
				costs, decisions := []int{1, 0, refusedCost, -1}, make([]gcra.Decision, 4)
				rows["AllowBatch"] = func() { tab.AllowBatch(keys, oks) }
				rows["TakeBatch"] = func() { tab.TakeBatch(keys, costs, decisions) }
				rows["Reserve"] = func() { r := tab.Reserve("a", 1); r.Cancel() }
			}
			joint := Join(view, e.For("a"))
			rows["joint.Take"] = func() { joint.Take(1) }
			rows["joint.Peek"] = func() { joint.Peek(1) }
			rows["joint refused"] = func() { joint.Take(refusedCost) }

			check := func(state string) {
				t.Helper()
				for name, run := range rows {
					if n := testing.AllocsPerRun(20, run); n != 0 {
						t.Errorf("%T %s, %s, %s: %v allocations", e, options.text, state, name, n)
					}
				}
			}
			for _, key := range []string{"a", "view", "waiter", "empty"} {
				e.Take(key, 1)
			}
			check("granted")
			e.SetLimit(none)
			for _, key := range []string{"a", "view", "waiter", "empty"} {
				e.Take(key, 1) // the first grant brings a key over
			}
			check("after SetLimit")
			for _, key := range []string{"a", "view"} {
				if e.Debit(key, 1<<20); e.Peek(key, 1).Err() == nil {
					t.Fatal(fmt.Sprint(key, " has tokens left"))
				}
			}
			check("refused")
		}
	}
}

// TestRefusedWaitsAllocateTheirError: a wait that is refused allocates the error
// that says how far away the slot was, and nothing else; a Reserve that is
// refused what a Limiter's Settle may need.
func TestRefusedWaitsAllocateTheirError(t *testing.T) {
	if raceSlow > 0 {
		t.Skip("the race detector allocates")
	}
	var clk clock.Manual
	limit := gcra.PerHour(1).Burst(2)
	l, tab := New[string](limit, WithClock(&clk), WithMaxWait(0)), NewTable[string](limit, 100, WithClock(&clk), WithMaxWait(0))
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, e := range []decider{l, tab} {
		e.Take("a", 2)
		j := Join(e.For("a"), e.For("b"))
		for name, row := range map[string]struct {
			most float64
			run  func() error
		}{
			"Wait":                   {1, func() error { return e.Wait(t.Context(), "a") }},
			"WaitN":                  {1, func() error { return e.WaitN(t.Context(), "a", 2) }},
			"WaitN above the burst":  {0, func() error { return e.WaitN(t.Context(), "a", 3) }},
			"WaitN of less":          {0, func() error { return e.WaitN(t.Context(), "a", -1) }},
			"Wait, done":             {0, func() error { return e.Wait(done, "a") }},
			"Wait of a new key":      {0, func() error { return e.Wait(done, "never") }},
			"joint, above the burst": {0, func() error { return j.Take(3).Err() }},
			"joint":                  {0, func() error { return j.Take(1).Err() }},
		} {
			if n := testing.AllocsPerRun(20, func() {
				if row.run() == nil {
					t.Errorf("%T, %s: it is not refused", e, name)
				}
			}); n > row.most {
				t.Errorf("%T, %s: %v allocations, want at most %v", e, name, n, row.most)
			}
		}
	}
	if n := testing.AllocsPerRun(20, func() { r := l.ReserveWithin("a", 0, 1); _ = r.OK() }); n > 1 {
		t.Errorf("Limiter, Reserve: %v allocations, want 1 at the most", n)
	}
	if n := testing.AllocsPerRun(20, func() { r := tab.ReserveWithin("a", 0, 1); _ = r.OK() }); n != 0 {
		t.Errorf("Table, Reserve: %v allocations", n)
	}
}
