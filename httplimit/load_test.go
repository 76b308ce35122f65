package httplimit

import (
	"io"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A load of a thousand requests, sent by workers at once.
const (
	requests = 1000
	workers  = 4
)

// TestServerRefuses sends the same load to a server that enforces its limit, by
// a clock that runs, over real sockets: once as fast as it goes, which the server
// refuses for the most part, and once through a Transport at the server's own
// rate, of which it refuses none.
//
// That it refuses none is certain, however late the machine is. A worker's
// requests reach the server between the slot that was booked for one and that
// for the next, or the catch-up later. So what the server sees in a window of
// length w are at most the slots in w and the catch-up, and one more request a
// worker: its burst.
//
// That it refuses the others is certain, too, as far as the machine is faster
// than the limit: what passes is what the limit gives in the time that it took.
func TestServerRefuses(t *testing.T) {
	const (
		rate    = 600                   // a second
		catchUp = 10 * time.Millisecond // package atomic's default
		burst   = workers + 1 + rate*int(catchUp/time.Millisecond)/1000
	)
	clk := clock.System()
	enforced := gcra.PerSecond(rate).Burst(burst)
	// run returns how many were refused, and the time it took as the server's clock
	// has it.
	run := func(through func(http.RoundTripper) http.RoundTripper) (refused int64, took time.Duration) {
		server := shard.New[netip.Prefix](enforced, shard.WithClock(clk))
		c, url := serve(t, New(Local(server), RemoteAddr)(ok))
		c.Transport.(*http.Transport).MaxIdleConnsPerHost = workers
		c.Transport = through(c.Transport)
		began := clk.Now()
		refused = load(t, c, url)
		return refused, clk.Now() - began
	}

	refused, took := run(func(base http.RoundTripper) http.RoundTripper { return base })
	t.Logf("without the Transport %d of %d are refused in %v", refused, requests, took)
	if least := int64(requests - enforced.Within(took)); refused < least {
		t.Errorf("%d refused in %v, want %d at least", refused, took, least)
	}
	if refused < requests/10 {
		t.Errorf("%d refused in %v: this machine is not faster than the limit, which shows nothing", refused, took)
	}

	refused, took = run(func(base http.RoundTripper) http.RoundTripper {
		tr := NewTransport(shard.New[string](gcra.PerSecond(rate), shard.WithClock(clk), shard.WithCatchUp(catchUp)), Host)
		tr.Base = base
		return tr
	})
	t.Logf("with it %d of %d, in %v", refused, requests, took)
	if refused != 0 {
		t.Errorf("%d of %d refused through the Transport", refused, requests)
	}
}

// TestUnderRetries: a client that retries at once, and knows nothing of limits,
// is held by the Transport below it until the server grants. In a bubble, and so
// without sockets, it takes exactly as long as the limit does.
func TestUnderRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := shard.New[netip.Prefix](gcra.PerSecond(1))
		h := New(Local(server), RemoteAddr)(ok)
		sent := 0
		tr := NewTransport[string](nil, Host)
		tr.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
			sent++
			return ask(h, client), nil
		})
		began := time.Now()
		for i := range 5 {
			for tries := 1; ; tries++ {
				r, err := http.NewRequestWithContext(t.Context(), "GET", here, nil)
				if err != nil {
					t.Fatal(err)
				}
				res, err := tr.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				if res.StatusCode == 200 {
					break
				}
				if tries == 2 {
					t.Fatalf("request %d was refused twice", i)
				}
			}
		}
		if took := time.Since(began); took != 4*s || sent != 9 {
			t.Errorf("5 requests were sent %d times in %v", sent, took)
		}
	})
}

// load sends the requests and returns how many were refused.
func load(t *testing.T, c *http.Client, url string) int64 {
	var next, refused atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for next.Add(1) <= requests {
				res, err := c.Get(url)
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if res.StatusCode == http.StatusTooManyRequests {
					refused.Add(1)
				} else if res.StatusCode != 200 {
					t.Error(res.Status)
				}
			}
		})
	}
	all.Wait()
	return refused.Load()
}
