package main

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A patient clock ends the test of whoever reads it too often: in a bubble, where
// time stands while somebody runs, that would go on for good.
type patient struct {
	clock.Clock
	t     *testing.T
	reads int
}

func (p *patient) Now() time.Duration {
	if p.reads++; p.reads > 10_000 {
		p.t.Fatal("it does not sleep")
	}
	return p.Clock.Now()
}

// A limiter at its cap has no room for the key until another is forgotten: who
// has to wait for that sleeps, though Peek says that a token is there.
func TestNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := &patient{Clock: clock.System(), t: t}
		limiter := shard.New[string](gcra.PerSecond(1), shard.WithMaxKeys(1, shard.Refuse), shard.WithClock(clk))
		if !limiter.Allow("b") {
			t.Fatal("the first key has no room")
		}
		var requests flowcontrol.RateLimiter = throttle{limiter.For("a")}
		if wait := limiter.Peek("a", 1).RetryAfter(); wait != 0 {
			t.Fatalf("Peek says %v: there is nothing to be tested", wait)
		}
		start := time.Now()
		requests.Accept()
		if took := time.Since(start); took != time.Second {
			t.Errorf("Accept took %v, want 1s, when b is forgotten", took)
		}
		if requests.TryAccept() {
			t.Error("nothing was taken")
		}
		var items workqueue.TypedRateLimiter[string] = requeue[string]{limiter}
		if again := items.When("c"); again < time.Millisecond {
			t.Errorf("an item that has no room is to be tried again in %v", again)
		}
	})
}
