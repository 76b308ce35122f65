package atomic

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weir-go/weir/gcra"
)

// Whatever moves a cell does it in one step with its reading: were it a load
// and then a store, what another goroutine does in between would be lost. Here
// two goroutines do nothing else than move one cell, for long enough to meet.

// The cell counts ticks of one nanosecond, and a token is a thousand of them.
var perMicrosecond = gcra.Every(1000).Burst(min(1<<40, math.MaxInt))

// contend repeats f(0) in one goroutine and f(1) in another until they have met
// often: until each has seen the other move between two of its own steps, again
// and again. Where only one runs at a time, it ends all the same. It returns how
// many steps they took.
func contend(f func(i int)) (steps [2]int64) {
	const often, most = 1000, 500_000
	var done [2]struct {
		n atomic.Int64
		_ [120]byte
	}
	var met [2]atomic.Int64
	both(func(i int) {
		for last := int64(0); steps[i] < most && (met[0].Load() < often || met[1].Load() < often); {
			f(i)
			steps[i]++
			done[i].n.Store(steps[i])
			if now := done[1-i].n.Load(); now != last {
				last = now
				met[i].Add(1)
			}
		}
	})
	return steps
}

// both runs f in two goroutines that begin together.
func both(f func(i int)) {
	var begin, end sync.WaitGroup
	begin.Add(2)
	for i := range 2 {
		end.Go(func() {
			begin.Done()
			begin.Wait()
			f(i)
		})
	}
	end.Wait()
}

func TestChargesAreNotLost(t *testing.T) {
	g := newEngine(t, perMicrosecond)
	l, at := g.Limit(), g.At(0)
	turn := Turn{longest: gcra.Never, deadline: gcra.Never}
	for _, row := range []struct {
		name   string
		charge func(c *Cell) bool
	}{
		{"Allow", func(c *Cell) bool { ok, alive := c.Allow(l, at, 1); return ok && alive }},
		{"Take", func(c *Cell) bool { d, alive := c.Take(l, at, 1); return d.OK() && alive }},
		{"TakeUpTo", func(c *Cell) bool { d, alive := c.TakeUpTo(l, at, 1); return d.OK() && alive }},
		{"Debit", func(c *Cell) bool { d, alive := c.Debit(l, at, 1, 0); return d.OK() && alive }},
		{"Book", func(c *Cell) bool { _, d, alive := c.Book(g, turn, 1); return d.OK() && alive }},
	} {
		var c Cell
		c.Init(at.Tick)
		steps := contend(func(int) {
			if !row.charge(&c) {
				t.Errorf("%s: refused", row.name)
			}
		})
		if tat, _ := c.State(); tat != at.Tick+1000*(steps[0]+steps[1]) {
			t.Errorf("%s: %d ticks taken, want %d", row.name, tat-at.Tick, 1000*(steps[0]+steps[1]))
		}
	}
}

// TestReturnsLoseNoCharge gives back whatever was booked while the other does
// the same, and raises the cell.
func TestReturnsLoseNoCharge(t *testing.T) {
	g := newEngine(t, perMicrosecond)
	at, turn := g.At(0), Turn{longest: gcra.Never, deadline: gcra.Never}
	var c Cell
	c.Init(at.Tick)
	contend(func(int) {
		b, _, _ := c.Book(g, turn, 1)
		for tat, _ := c.State(); !c.GiveBack(g.Limit(), tat, at, b, 1); {
			tat, _ = c.State()
		}
	})
	if tat, _ := c.State(); tat != at.Tick {
		t.Errorf("%d ticks are missing after all was given back", tat-at.Tick)
	}
	steps := contend(func(i int) {
		if i == 0 {
			c.Take(g.Limit(), at, 1)
		} else if tat, _ := c.State(); !c.Raise(tat + 1) {
			t.Error("a live cell was not raised")
		}
	})
	if tat, _ := c.State(); tat < at.Tick+steps[0]*1000 {
		t.Errorf("%d ticks taken, want at least %d: raising the cell lost a charge", tat-at.Tick, steps[0]*1000)
	}
}

// TestEndsLoseNoCharge lets one goroutine end the cell's life while the other
// charges it: what was granted is in the balance that is carried on, and what
// comes after it meets no live cell.
func TestEndsLoseNoCharge(t *testing.T) {
	const rounds = 20_000
	g := newEngine(t, perMicrosecond)
	l, at := g.Limit(), g.At(0)
	var meets atomic.Int64
	for range rounds {
		var frozen, full, reset Cell
		frozen.Init(at.Tick)
		full.Init(at.Tick)
		reset.Init(at.Tick + 1000)
		taken, carried, forgot, charged := int64(0), int64(0), false, false
		didReset, owes := false, false
		both(func(i int) {
			if i == 0 {
				for range 20 {
					if _, alive := frozen.Take(l, at, 1); !alive {
						break
					}
					taken++
				}
				_, charged = full.Take(l, at, 1)
				_, owes = reset.Freeze()
				return
			}
			carried, _ = frozen.Freeze()
			forgot = full.Forget(g, g, at)
			didReset = reset.Reset(g, at)
		})
		if taken > 0 {
			meets.Add(1)
		}
		if carried != at.Tick+taken*1000 {
			t.Fatalf("%d ticks were carried over, and %d tokens taken", carried-at.Tick, taken)
		}
		if forgot && charged {
			t.Fatal("a cell was forgotten that had just been charged")
		}
		if didReset && owes {
			t.Fatal("a cell was reset whose balance had been carried over")
		}
	}
	if meets.Load() == 0 {
		t.Error("no charge ever came before the end: nothing is proved")
	}
}

// newEngine returns the generation of an engine with that limit.
func newEngine(t *testing.T, limit gcra.Limit) *Generation {
	t.Helper()
	var c Core
	c.Init(limit)
	return c.Current()
}

// The zero Cell is a full bucket, and alive.
func TestZeroCellIsAlive(t *testing.T) {
	g := newEngine(t, perMicrosecond)
	l, at := g.Limit(), g.At(0)
	turn := Turn{longest: gcra.Never, deadline: gcra.Never}
	for _, row := range []struct {
		name  string
		alive func(c *Cell) bool
		tat   int64 // after it
	}{
		{"Allow", func(c *Cell) bool { ok, alive := c.Allow(l, at, 1); return ok && alive }, 1001},
		{"Take", func(c *Cell) bool { _, alive := c.Take(l, at, 1); return alive }, 1001},
		{"TakeUpTo", func(c *Cell) bool { _, alive := c.TakeUpTo(l, at, 1); return alive }, 1001},
		{"Peek", func(c *Cell) bool { _, alive := c.Peek(l, at, 1); return alive }, 0},
		{"Debit", func(c *Cell) bool { _, alive := c.Debit(l, at, 1, 0); return alive }, 1001},
		{"Book", func(c *Cell) bool { _, _, alive := c.Book(g, turn, 1); return alive }, 1001},
		{"Raise", func(c *Cell) bool { return c.Raise(7) }, 7},
		{"Reset", func(c *Cell) bool { return c.Reset(g, at) && c.Alive() }, 0},
		{"Alive", (*Cell).Alive, 0},
	} {
		var c Cell
		if !row.alive(&c) {
			t.Errorf("%s: the zero Cell is not alive", row.name)
		}
		if tat, ok := c.State(); tat != row.tat || !ok || c.Dead() {
			t.Errorf("%s: a TAT of %d, and there: %v; want %d", row.name, tat, ok, row.tat)
		}
	}
	var c Cell
	if tat, ok := c.Freeze(); tat != 0 || !ok || c.Alive() {
		t.Errorf("Freeze = %d, %v, and then alive: %v", tat, ok, c.Alive())
	}
	c = Cell{}
	if !c.Forget(g, g, at) || !c.Dead() {
		t.Error("the zero Cell is not forgotten")
	}
}
