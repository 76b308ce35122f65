package atomic

import (
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// What is set for keys without a cell goes through the changes of limit that
// came meanwhile, and nobody who was slow to work it out undoes it.
func TestSetFresh(t *testing.T) {
	const k = int64(time.Second) // of 1/s
	var clk clock.Manual
	var c Core
	c.Init(gcra.PerSecond(1).Burst(10), WithClock(&clk))
	clk.Advance(time.Hour)
	g := c.Current()
	seven := g.At(c.Now()).Tick + 7*k
	c.SetFresh(g, seven)
	if g.Fresh() != seven {
		t.Errorf("fresh is %d, want %d", g.Fresh(), seven)
	}
	// 3 tokens were there, now 5, and then of 20; each has half the ticks.
	clk.Advance(2 * time.Second)
	next := c.SetLimit(gcra.PerSecond(2).Burst(20), nil)
	half := next.At(c.Now()).Tick
	if lacks := next.Fresh() - half; lacks != 15*k/2 {
		t.Errorf("after the change new keys lack %d ticks, want %d", lacks, 15*k/2)
	}
	c.SetFresh(g, seven+k)
	if lacks := next.Fresh() - half; lacks != 16*k/2 {
		t.Errorf("set under the limit before they lack %d ticks, want %d", lacks, 16*k/2)
	}
	c.settle(next)
	if lacks := next.Fresh() - half; lacks != 16*k/2 {
		t.Errorf("after a late settle they lack %d ticks, want %d", lacks, 16*k/2)
	}
}
