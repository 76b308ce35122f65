// Command adapters puts weir where programs have a limiter of another kind: in
// Go kit's endpoints, and in the requests and the work queues of Kubernetes'
// client-go. The adapters are in adapters.go, a few lines each; copy what you
// need.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/go-kit/kit/endpoint"
	"github.com/go-kit/kit/ratelimit"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run shows each of them. Decisions are by a clock that stands, so that it prints
// the same every time; a program leaves WithClock out.
func run(ctx context.Context, out io.Writer) error {
	clk := shard.WithClock(new(clock.Manual))

	users := shard.New[string](gcra.PerSecond(10).Burst(2), clk)
	answer := func(context.Context, any) (any, error) { return "answered", nil }
	refusing := endpoint.Chain(ratelimit.NewErroringLimiter(users.For("ann")))(answer)
	for range 3 {
		said, err := refusing(ctx, nil)
		fmt.Fprintln(out, "go-kit, refusing:", said, err)
	}
	paced := endpoint.Chain(ratelimit.NewDelayingLimiter(users.For("bob")))(answer)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	for range 3 {
		said, err := paced(short, nil)
		fmt.Fprintln(out, "go-kit, pacing:", said, err)
	}

	var requests flowcontrol.RateLimiter = throttle{users.For("10.0.0.1:6443")} // rest.Config.RateLimiter
	requests.Accept()
	fmt.Fprintln(out, "client-go requests:", requests.TryAccept(), requests.TryAccept(), requests.QPS(), "a second")

	pods := shard.New[string](gcra.Every(5*time.Second).Burst(2), clk)
	var items workqueue.TypedRateLimiter[string] = workqueue.NewTypedMaxOfRateLimiter[string](
		requeue[string]{pods},
		bucket[string]{gatomic.NewLimiter(gcra.PerSecond(10).Burst(3), gatomic.WithClock(new(clock.Manual)))})
	for _, item := range []string{"pod-a", "pod-a", "pod-a", "pod-b", "pod-c"} {
		fmt.Fprintln(out, "client-go queue:", item, "again in", items.When(item))
	}
	return nil
}
