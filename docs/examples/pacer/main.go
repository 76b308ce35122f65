// Command pacer makes calls to several hosts, as fast as a limit for each host
// permits.
//
// The limit is a http.RoundTripper, so that an http.Client and all that is
// made of one keep to it. The hosts of this demonstration answer by themselves
// instead of over a network.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// A paced sends no host more requests than its limit permits. Requests that
// come too early wait for their slots, in the order in which they came.
type paced struct {
	hosts *shard.Limiter[string]
	next  http.RoundTripper
}

func (p paced) RoundTrip(r *http.Request) (*http.Response, error) {
	// A deadline of the request that is before its slot fails at once.
	if err := p.hosts.Wait(r.Context(), r.URL.Host); err != nil {
		if r.Body != nil {
			r.Body.Close() // a RoundTripper does, whatever happens
		}
		return nil, err
	}
	return p.next.RoundTrip(r)
}

// hosts stand for a network: they note when each request arrived.
type hosts struct {
	mu       sync.Mutex
	start    time.Time
	arrivals []arrival
}

type arrival struct {
	host  string
	after time.Duration
}

func (h *hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.arrivals = append(h.arrivals, arrival{r.URL.Host, time.Since(h.start)})
	return &http.Response{Status: "204 No Content", StatusCode: http.StatusNoContent, Body: http.NoBody, Request: r}, nil
}

// run calls two hosts eight times each, from one goroutine a call, and then one
// of them with too little time.
func run(ctx context.Context, out io.Writer) error {
	limit := gcra.PerSecond(10).Burst(3)
	fmt.Fprintf(out, "each host gets %v\n", limit)
	network := &hosts{start: time.Now()}
	client := &http.Client{Transport: paced{
		// A call that would have to wait for longer is refused, and so is one
		// to yet another host while 10000 are busy.
		hosts: shard.New[string](limit, shard.WithMaxWait(time.Minute), shard.WithMaxKeys(10_000, shard.Refuse)),
		next:  network,
	}}

	var calls sync.WaitGroup
	failed := make(chan error, 16)
	for range 8 {
		for _, host := range []string{"alpha.test", "beta.test"} {
			calls.Go(func() {
				if err := get(ctx, client, host); err != nil {
					failed <- err
				}
			})
		}
	}
	calls.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	slices.SortStableFunc(network.arrivals, func(a, b arrival) int { return cmp.Compare(a.host, b.host) })
	for _, a := range network.arrivals {
		fmt.Fprintf(out, "%-10s after %3d ms\n", a.host, a.after.Milliseconds())
	}

	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := get(short, client, "alpha.test"); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("a deadline before the slot: got %v", err)
	}
	fmt.Fprintln(out, "alpha.test within 50 ms: the slot is too far away, and nothing was sent")
	return nil
}

func get(ctx context.Context, client *http.Client, host string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	return res.Body.Close()
}
