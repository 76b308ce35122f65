package atomic

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// What the engines that are made of a Core rely on, step by step.

// TestPublication: an engine that keeps its generation elsewhere publishes it
// there after the link to it, and before it is in force.
func TestPublication(t *testing.T) {
	var c Core
	var clk clock.Manual
	c.Init(gcra.PerSecond(1), WithClock(&clk))
	first := c.Current()
	for i, limit := range []gcra.Limit{gcra.PerSecond(2), gcra.PerSecond(3), gcra.PerSecond(4)} {
		before, told := c.Current(), false
		clk.Advance(time.Second)
		now := c.SetLimit(limit, func(g *Generation) {
			told = true
			if c.set.TryLock() {
				c.set.Unlock()
				t.Error("two changes may run at once")
			}
			switch {
			case *g.Limit() != limit:
				t.Errorf("ready is told of %v, want %v", g.Limit(), limit)
			case before.next.Load() != g:
				t.Error("ready before the link: who finds the new generation cannot convert")
			case c.gen.Load() != before:
				t.Error("the generation is in force before ready was called")
			case g.since.Load() != 0 || g.Fresh() != 0:
				t.Error("the instant of the change was read before its publication")
			}
		})
		if !told || now != c.Current() || now == before || *now.Limit() != limit {
			t.Errorf("SetLimit returned %v, %v is in force; ready was called: %v", now.Limit(), c.Current().Limit(), told)
		}
		if now.Chain() != i+1 || first.Chain() != 0 {
			t.Errorf("%d changes before the generation, want %d", now.Chain(), i+1)
		}
		if want := int64(clk.Now()) + 1; now.since.Load() != want {
			t.Errorf("the change is dated %d, want %d", now.since.Load(), want)
		}
		if c.SetLimit(limit, func(*Generation) { t.Error("ready for an equal limit") }) != now {
			t.Error("SetLimit with an equal limit returned another generation")
		}
	}
	c.SetLimit(gcra.PerSecond(5), nil)
	if c.Current().Chain() != 4 {
		t.Error("SetLimit without ready published nothing")
	}
}

// TestPublicationReadsTheClockOnce: whoever comes first dates a generation, and
// what it says of keys without a cell stays as it is from then on.
func TestPublicationReadsTheClockOnce(t *testing.T) {
	var c Core
	var clk clock.Manual
	c.Init(gcra.PerSecond(1).Burst(10).Start(0), WithClock(&clk))
	clk.Advance(2 * time.Second)
	g := c.SetLimit(gcra.PerSecond(1).Burst(10).InSteps(time.Second), nil)
	since, fresh := g.since.Load(), g.Fresh()
	clk.Advance(time.Second)
	c.SetFresh(g, fresh+5)
	c.settle(g) // by somebody who was late
	if g.since.Load() != since || g.Fresh() != fresh+5 {
		t.Errorf("dated %d and fresh at %d, then %d and %d", since, fresh+5, g.since.Load(), g.Fresh())
	}
}

func TestCoreReadsFromItsBirth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Core
		c.Init(gcra.PerSecond(1))
		if c.Now() != 0 {
			t.Errorf("a core reads %v when it is made", c.Now())
		}
		if time.Sleep(time.Second); c.Now() != time.Second {
			t.Errorf("a core reads %v after a second", c.Now())
		}
	})
	var clk clock.Manual
	clk.Set(time.Hour)
	var c Core
	c.Init(gcra.PerSecond(1), WithClock(&clk))
	for _, row := range []struct{ at, want time.Duration }{
		{time.Hour, 0}, {time.Hour + 1, 1}, {2 * time.Hour, time.Hour}, {gcra.Never, gcra.Never - time.Hour},
	} {
		if clk.Set(row.at); c.Now() != row.want {
			t.Errorf("at %v a core of an hour reads %v, want %v", row.at, c.Now(), row.want)
		}
	}
	back := &backClock{1}
	c = Core{}
	if c.Init(gcra.PerSecond(1), WithClock(back)); c.Now() != 0 {
		t.Errorf("a reading from before the first one counts as %v", c.Now())
	}
	far := &backClock{-gcra.Never}
	c = Core{}
	if c.Init(gcra.PerSecond(1), WithClock(far)); c.Now() != gcra.Never {
		t.Errorf("a reading further away than a Duration reaches counts as %v", c.Now())
	}
}

// backClock shows its number, and then the same with the other sign.
type backClock struct{ now time.Duration }

func (c *backClock) Now() time.Duration {
	c.now = -c.now
	return -c.now
}

func TestMaxDebtPanicsOnNonsense(t *testing.T) {
	WithMaxDebt(0)
	defer func() {
		if recover() == nil {
			t.Error("no panic: a negative debt")
		}
	}()
	WithMaxDebt(-1)
}

// afterClock runs a hook after a reading.
type afterClock struct {
	clock.Manual
	hook func()
}

func (c *afterClock) Now() time.Duration {
	now := c.Manual.Now()
	if h := c.hook; h != nil {
		c.hook = nil
		h()
	}
	return now
}

// TestInstantOfAChange: it is dated once, by whoever is first, and nobody
// decides under it at an earlier instant.
func TestInstantOfAChange(t *testing.T) {
	var c Core
	clk := new(afterClock)
	c.Init(gcra.PerSecond(1), WithClock(clk))
	clk.Advance(time.Second)
	clk.hook = func() { // somebody else finds the generation and dates it first
		clk.Advance(time.Second)
		c.Current()
	}
	g := c.SetLimit(gcra.PerSecond(2), nil)
	if want := int64(2*time.Second) + 1; g.since.Load() != want {
		t.Errorf("dated %d by who came second, want %d", g.since.Load(), want)
	}
	for _, early := range []time.Duration{0, time.Second, 2*time.Second - 1} {
		if got, want := g.At(early), g.At(2*time.Second); got != want {
			t.Errorf("a reading of %v is %v there, want %v", early, got, want)
		}
	}
	// Fresh is set under the lock that a change takes.
	next := c.newGeneration(gcra.PerSecond(3))
	next.old.limit, next.old.fresh = g.limit, g.Fresh()
	g.next.Store(next)
	c.gen.Store(next)
	held := false
	clk.hook = func() { held = !c.set.TryLock() }
	if c.SetFresh(next, 5); !held {
		t.Error("a change may come while fresh is set")
	}
}

// TestForwardOfAFullKey: a key that is full while keys never seen are not yet
// keeps what it has.
func TestForwardOfAFullKey(t *testing.T) {
	var c Core
	var clk clock.Manual
	c.Init(gcra.PerSecond(1).Burst(10).Start(0), WithClock(&clk))
	g := c.Current()
	clk.Advance(2 * time.Second)
	next := c.SetLimit(gcra.PerSecond(1).Burst(5), nil)
	since := next.At(0).Tick
	if next.Fresh() != since+int64(3*time.Second) {
		t.Fatalf("keys never seen are at %d after %d", next.Fresh(), since)
	}
	for _, behind := range []int64{-1, 0, 1} {
		if got := g.Forward(g.At(2*time.Second).Tick+behind, next); got != since {
			t.Errorf("a key that is %d ticks from full became %d, want %d", behind, got, since)
		}
	}
}
