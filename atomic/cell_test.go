package atomic

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// generation returns the first generation of an engine with that limit.
func generation(l gcra.Limit) *Generation { return new(Core).first(l) }

func TestOverIsOver(t *testing.T) {
	l := gcra.PerSecond(1).Burst(3)
	g := generation(l)
	at := g.At(time.Second)
	owing := at.Tick + int64(time.Second)
	turn := Turn{now: time.Second, longest: gcra.Never, deadline: gcra.Never}
	b := gcra.Booking{Cost: 1, From: 1, Slot: 1 << 40, End: owing}
	for _, row := range []struct {
		what string
		do   func(c *Cell) (done bool)
	}{
		{"Allow", func(c *Cell) bool { _, alive := c.Allow(&l, at, 1); return alive }},
		{"Take", func(c *Cell) bool { _, alive := c.Take(&l, at, 1); return alive }},
		{"TakeUpTo", func(c *Cell) bool { _, alive := c.TakeUpTo(&l, at, 1); return alive }},
		{"Peek", func(c *Cell) bool { _, alive := c.Peek(&l, at, 1); return alive }},
		{"Debit", func(c *Cell) bool { _, alive := c.Debit(&l, at, 1, 3); return alive }},
		{"Book", func(c *Cell) bool { _, _, alive := c.Book(g, turn, 1); return alive }},
		{"GiveBack", func(c *Cell) bool { return c.GiveBack(&l, owing, at, b, 1) }},
		{"Raise", func(c *Cell) bool { return c.Raise(owing + 1) }},
		{"Alive", (*Cell).Alive},
		{"Freeze", func(c *Cell) bool { c.Freeze(); return false }},
		{"Reset", func(c *Cell) bool { return c.Reset(g, at) != c.Dead() }},
		{"Forget", func(c *Cell) bool { return c.Forget(g, g, at) != c.Dead() }},
	} {
		var gone, frozen Cell
		if gone.Init(at.Tick); !gone.Forget(g, g, at) || !gone.Dead() {
			t.Fatal("a full cell was not forgotten")
		}
		frozen.Init(owing)
		if tat, ok := frozen.Freeze(); tat != owing || !ok || frozen.Dead() {
			t.Fatalf("frozen at %d, want %d", tat, owing)
		}
		if row.do(&gone) || gone.word.Load() != dead {
			t.Errorf("%s on a dead cell did something, or the cell came back", row.what)
		}
		if row.do(&frozen) || frozen.word.Load() != owing|dead {
			t.Errorf("%s on a frozen cell did something, or the balance changed", row.what)
		}
	}
}

// A key must read the same after it was forgotten, and not be worse off after a
// reset.
func TestForgetAndResetRows(t *testing.T) {
	for _, row := range []struct {
		tat, fresh, now int64
		forget, reset   bool
		why             string
	}{
		{5, 1, 5, true, false, "full now"},
		{6, 1, 5, false, true, "owes a tick"},
		{5, 6, 5, false, false, "full, but a new key is not: forgetting would take its tokens"},
		{4, 8, 5, false, false, "nor does a reset raise it"},
		{7, 8, 5, false, false, "owes less than a new key would: a reset does not raise it"},
		{9, 8, 5, false, true, "owes more than a new key"},
	} {
		g := generation(gcra.PerSecond(1))
		g.fresh.Store(row.fresh)
		at := gcra.Instant{Tick: row.now, Elapsed: time.Duration(row.now - 1)}
		var a, b Cell
		a.Init(row.tat)
		b.Init(row.tat)
		if got := a.Forget(g, g, at); got != row.forget || a.Dead() != got {
			t.Errorf("TAT %d, fresh %d, now %d: forgotten %v, dead %v: %s", row.tat, row.fresh, row.now, got, a.Dead(), row.why)
		}
		if !b.Reset(g, at) || b.Dead() != row.reset {
			t.Errorf("TAT %d, fresh %d, now %d: reset %v: %s", row.tat, row.fresh, row.now, b.Dead(), row.why)
		}
	}
}

// A cell ends while it is charged: the charge either is in the balance that was
// kept and holds off the sweeper, or did not happen.
func TestChargesMeetTheEnd(t *testing.T) {
	const rounds = 20_000
	l := gcra.PerSecond(1)
	g := generation(l)
	at := g.At(0)
	charged := at.Tick + int64(time.Second)
	for _, row := range []struct {
		what string
		end  func(c *Cell) (sawCharge bool)
	}{
		{"Forget", func(c *Cell) bool { return !c.Forget(g, g, at) }},
		{"Freeze", func(c *Cell) bool { tat, _ := c.Freeze(); return tat == charged }},
	} {
		cells := make([]Cell, rounds)
		granted, saw := make([]bool, rounds), make([]bool, rounds)
		var turn [2]atomic.Int64 // the two keep step, so that they meet in the same cells
		step := func(me int, f func(i int)) {
			for i := range rounds {
				turn[me].Store(int64(i + 1))
				for spin := 0; turn[1-me].Load() < int64(i+1); spin++ {
					if spin > 50 {
						runtime.Gosched()
					}
				}
				f(i)
			}
		}
		for i := range cells {
			cells[i].Init(at.Tick)
		}
		var wg sync.WaitGroup
		wg.Go(func() { step(0, func(i int) { granted[i], _ = cells[i].Allow(&l, at, 1) }) })
		wg.Go(func() { step(1, func(i int) { saw[i] = row.end(&cells[i]) }) })
		wg.Wait()
		first := 0
		for i := range cells {
			if granted[i] != saw[i] {
				t.Fatalf("%s, cell %d: charged %v, and the charge was seen %v", row.what, i, granted[i], saw[i])
			}
			if granted[i] {
				first++
			}
		}
		if first == 0 || first == rounds {
			t.Errorf("%s: the charge came first %d times of %d, so nothing is proved", row.what, first, rounds)
		}
	}
}
