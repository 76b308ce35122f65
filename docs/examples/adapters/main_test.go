package main

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/kit/ratelimit"
	"go.uber.org/goleak"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Whatever is made of a limiter fits where it is to go.
var (
	_ ratelimit.Allower                  = shard.View[string]{}
	_ ratelimit.Waiter                   = shard.View[string]{}
	_ ratelimit.Allower                  = (*gatomic.Limiter)(nil)
	_ ratelimit.Waiter                   = (*gatomic.Limiter)(nil)
	_ flowcontrol.RateLimiter            = throttle{}
	_ workqueue.TypedRateLimiter[string] = requeue[string]{}
	_ workqueue.TypedRateLimiter[string] = bucket[string]{}
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	want := `go-kit, refusing: answered <nil>
go-kit, refusing: answered <nil>
go-kit, refusing: <nil> rate limit exceeded
go-kit, pacing: answered <nil>
go-kit, pacing: answered <nil>
go-kit, pacing: <nil> weir: the slot is 100ms away: context deadline exceeded
client-go requests: true false 10 a second
client-go queue: pod-a again in 0s
client-go queue: pod-a again in 0s
client-go queue: pod-a again in 5s
client-go queue: pod-b again in 100ms
client-go queue: pod-c again in 200ms
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// Accept waits as client-go's own limiter does, and through a refusal.
func TestAcceptWaits(t *testing.T) {
	for _, row := range []struct {
		opts []shard.Option
		why  string
	}{
		{nil, "each Accept has its slot"},
		{[]shard.Option{shard.WithMaxWait(time.Millisecond)}, "a slot too far away is asked for again"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ours := throttle{shard.New[string](gcra.PerSecond(4).Burst(2), row.opts...).For("a")}
			theirs := flowcontrol.NewTokenBucketRateLimiter(4, 2)
			defer theirs.Stop()
			var took []time.Duration
			for _, l := range []flowcontrol.RateLimiter{ours, theirs} {
				start := time.Now()
				for range 6 {
					l.Accept()
				}
				took = append(took, time.Since(start))
				if l.TryAccept() {
					t.Errorf("%T has a token left", l)
				}
			}
			if took[0] != time.Second || took[1] != time.Second {
				t.Errorf("6 Accepts took %v, those of client-go %v: %s", took[0], took[1], row.why)
			}
			if ours.QPS() != theirs.QPS() {
				t.Errorf("%v and %v a second", ours.QPS(), theirs.QPS())
			}
			short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			for ours.TryAccept() { // what came meanwhile
			}
			if err := ours.Wait(short); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, gcra.ErrLimited) {
				t.Error(err)
			}
		})
	}
}

// A work queue gives items back at the rate, each at its own.
func TestWorkQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := requeue[string]{shard.New[string](gcra.PerSecond(1))}
		queue := workqueue.NewTypedRateLimitingQueue[string](limiter)
		start := time.Now()
		for range 3 {
			for _, item := range []string{"a", "b"} {
				queue.AddRateLimited(item)
				item, _ = queue.Get()
				queue.Forget(item)
				queue.Done(item)
			}
		}
		if took := time.Since(start); took != 2*time.Second || limiter.NumRequeues("a") != 0 {
			t.Errorf("three rounds took %v", took)
		}
		queue.ShutDown()
		time.Sleep(time.Minute) // its goroutines end at their next tick
	})
}

// What never comes is not asked for at once, again and again, nor put off for
// centuries.
func TestNever(t *testing.T) {
	limiter := requeue[string]{shard.New[string](gcra.Per(0, time.Second))}
	all := bucket[string]{gatomic.NewLimiter(gcra.Per(0, time.Second))}
	for _, l := range []workqueue.TypedRateLimiter[string]{limiter, all} {
		if first, second := l.When("a"), l.When("a"); first != 0 || second != time.Hour {
			t.Errorf("%T: %v, then %v", l, first, second)
		}
	}
	daily := requeue[string]{shard.New[string](gcra.PerDay(1), shard.WithClock(new(clock.Manual)))}
	if first, second := daily.When("a"), daily.When("a"); first != 0 || second != 24*time.Hour {
		t.Errorf("a slot that was booked: %v, then %v", first, second)
	}
}
