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

// A load of a thousand requests at the server's own rate.
const (
	requests = 1000
	rate     = 2000 // a second
	workers  = 4
)

// TestServerRefusesNone sends requests through a Transport over real sockets, as
// fast as the server permits, and the server refuses none.
//
// That is certain, however late the machine is. A worker's requests reach the
// server between the slot that was booked for one and that for the next, or the
// catch-up later. So what the server sees in a window of length w are at most
// the slots in w and the catch-up, and one more request a worker: its burst.
func TestServerRefusesNone(t *testing.T) {
	const catchUp = 10 * time.Millisecond // package atomic's default
	burst := workers + 1 + rate*int(catchUp/time.Millisecond)/1000
	clk := clock.System()
	enforced := gcra.PerSecond(rate).Burst(burst)
	server := shard.New[netip.Prefix](enforced, shard.WithClock(clk))
	c, url := serve(t, New(Local(server), RemoteAddr)(ok))

	tr := NewTransport(shard.New[string](gcra.PerSecond(rate), shard.WithClock(clk), shard.WithCatchUp(catchUp)), Host)
	tr.Base = c.Transport
	tr.Base.(*http.Transport).MaxIdleConnsPerHost = workers
	began := time.Now()
	if refused := load(t, &http.Client{Transport: tr}, url); refused != 0 {
		t.Errorf("%d of %d refused", refused, requests)
	}
	t.Logf("%.0f requests a second", requests/time.Since(began).Seconds())
}

// TestServerRefusesMany: without the Transport such a server refuses all that its
// burst does not cover. Its clock stands still, as it does for a client that is
// infinitely fast: how fast this machine is must not decide.
func TestServerRefusesMany(t *testing.T) {
	var clk clock.Manual
	server := shard.New[netip.Prefix](gcra.PerSecond(rate).Burst(25), shard.WithClock(&clk))
	c, url := serve(t, New(Local(server), RemoteAddr)(ok))
	c.Transport.(*http.Transport).MaxIdleConnsPerHost = workers
	if refused := load(t, c, url); refused != requests-25 {
		t.Errorf("%d of %d refused, want %d", refused, requests, requests-25)
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

// load returns how many requests were refused.
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
