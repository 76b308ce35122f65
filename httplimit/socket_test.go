package httplimit

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// get asks a server over a socket.
func get(t *testing.T, c *http.Client, url string) *http.Response {
	t.Helper()
	res, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// serve runs a server for one test.
func serve(t *testing.T, h http.Handler) (c *http.Client, url string) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.Client(), srv.URL
}

// TestRetryAfterIsEnough: a client that waits exactly as long as it is told is
// never refused, over sockets, for limits and costs of all kinds. The limiter's
// clock moves by what the responses say and by nothing else.
func TestRetryAfterIsEnough(t *testing.T) {
	for _, row := range []struct {
		limit gcra.Limit
		cost  int
		began time.Duration
		why   string
	}{
		{gcra.PerSecond(1), 1, 0, "whole seconds"},
		{gcra.PerSecond(3).Burst(2), 2, 0, "a third of a second is no number of nanoseconds"},
		{gcra.PerSecond(1000), 1, 0, "waits much shorter than a second"},
		{gcra.PerMinute(7).Burst(3), 3, 0, "8.57 s a token"},
		{gcra.PerMinute(59).Burst(10), 7, 0, "1.017 s a token"},
		{gcra.Per(6, 3*s).Burst(10).InSteps(3 * s), 5, s, "refills in steps"},
		{gcra.PerHour(7).Burst(2).Start(0), 1, 123456789, "empty from the start"},
		{gcra.Every(s + 1), 1, 0, "one nanosecond more than a second"},
	} {
		var clk clock.Manual
		clk.Set(row.began)
		clients := shard.New[netip.Prefix](row.limit, shard.WithClock(&clk))
		c, url := serve(t, New(Local(clients), RemoteAddr, WithCost(func(*http.Request) int { return row.cost }))(ok))
		waits := 0
		for range 40 {
			res := get(t, c, url)
			if res.StatusCode == 200 {
				continue
			}
			after, err := strconv.Atoi(res.Header.Get("Retry-After"))
			if err != nil || res.StatusCode != 429 {
				t.Fatalf("%v: %s, %v", row.limit, res.Status, res.Header)
			}
			waits++
			clk.Advance(time.Duration(after) * s)
			if res := get(t, c, url); res.StatusCode != 200 {
				t.Errorf("%v cost %d: %s after waiting for %d s: %s", row.limit, row.cost, res.Status, after, row.why)
			}
		}
		if waits < 10 {
			t.Errorf("%v: waited %d times only", row.limit, waits)
		}
	}
}

// TestExactlySoManyPass: a crowd of connections, a standing clock.
func TestExactlySoManyPass(t *testing.T) {
	clients, _ := perClient(gcra.PerSecond(1).Burst(37))
	c, url := serve(t, New(Local(clients), RemoteAddr)(ok))
	var served, refused atomic.Int64
	var crowd sync.WaitGroup
	for range 8 {
		crowd.Go(func() {
			for range 25 {
				res, err := c.Get(url)
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if res.StatusCode == 200 {
					served.Add(1)
				} else {
					refused.Add(1)
				}
			}
		})
	}
	crowd.Wait()
	if served.Load() != 37 || refused.Load() != 200-37 {
		t.Errorf("%d served, %d refused", served.Load(), refused.Load())
	}
}

// TestWriterUntouched: handlers get the server's own ResponseWriter.
func TestWriterUntouched(t *testing.T) {
	clients, _ := perClient(gcra.PerSecond(100).Burst(100))
	limited := New(Local(clients), RemoteAddr)
	w := httptest.NewRecorder()
	r := request(client)
	limited(http.HandlerFunc(func(got http.ResponseWriter, gotR *http.Request) {
		if got != w || gotR != r {
			t.Error("it was wrapped")
		}
	})).ServeHTTP(w, r)

	mux := http.NewServeMux()
	mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "first\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done() // the client has it before the handler ends
	})
	mux.HandleFunc("/deadline", func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("/hijack", func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, "HTTP/1.1 202 Accepted\r\nConnection: close\r\n\r\n")
		conn.Close()
	})
	c, url := serve(t, limited(mux))
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", url+"/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); line != "first\n" {
		t.Errorf("%q, %v", line, err)
	}
	if res.Header.Get("RateLimit") == "" {
		t.Error("a stream without the field")
	}
	cancel()
	res.Body.Close()
	if res := get(t, c, url+"/deadline"); res.StatusCode != 200 {
		t.Error(res.Status)
	}
	if res := get(t, c, url+"/hijack"); res.StatusCode != 202 {
		t.Error(res.Status)
	}
}

// TestOverHTTP2: the fields arrive there too.
func TestOverHTTP2(t *testing.T) {
	clients, _ := perClient(gcra.PerMinute(1))
	srv := httptest.NewUnstartedServer(New(Local(clients), RemoteAddr)(ok))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	get(t, srv.Client(), srv.URL)
	res := get(t, srv.Client(), srv.URL)
	if res.ProtoMajor != 2 || res.StatusCode != 429 {
		t.Error(res.Proto, res.Status)
	}
	same(t, res.Header, "RateLimit", `"default";r=0;t=60`)
	same(t, res.Header, "RateLimit-Policy", `"default";q=1;w=60`)
	same(t, res.Header, "Retry-After", "60")
}
