package shard_test

import (
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

func TestSmoke(t *testing.T) {
	var clk clock.Manual
	l := shard.New[string](gcra.PerSecond(1).Burst(2), shard.WithClock(&clk))
	for i, want := range []bool{true, true, false} {
		if got := l.Allow("a"); got != want {
			t.Error(i, got)
		}
	}
	if d := l.Peek("a", 1); d.RetryAfter() != time.Second {
		t.Error(d.RetryAfter())
	}
	clk.Advance(2 * time.Second)
	if n := l.Sweep(); n != 1 || l.Len() != 0 {
		t.Error(n, l.Len())
	}
	if n := testing.AllocsPerRun(100, func() { l.Allow("b") }); n != 0 {
		t.Error(n)
	}
}
