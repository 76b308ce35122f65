package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"time"

	"github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/shard"
)

var hello = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })

// show prints what a handler answers to a client.
func show(h http.Handler, from string, lines ...string) {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = from
	for i := 0; i < len(lines); i += 2 {
		r.Header.Add(lines[i], lines[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header()["Ratelimit"], w.Header()["Retry-After"])
}

// Each client gets its share of a server that clients reach directly.
func Example() {
	var clk clock.Manual
	clients := shard.New[netip.Prefix](gcra.PerMinute(6).Burst(2),
		shard.WithMaxKeys(1_000_000, shard.Refuse), shard.WithClock(&clk))
	limited := httplimit.New(httplimit.Local(clients), httplimit.RemoteAddr)

	h := limited(hello)
	show(h, "192.0.2.1:1234")
	show(h, "192.0.2.1:1235")
	show(h, "192.0.2.1:1236")
	show(h, "[2001:db8::1]:1234")
	// Output:
	// 200 ["default";r=1;t=10] []
	// 200 ["default";r=0;t=10] []
	// 429 ["default";r=0;t=10] [10]
	// 200 ["default";r=1;t=10] []
}

// Behind a proxy the client is who the proxy says it is, and not who the client
// says.
func ExampleClientAddr() {
	var clk clock.Manual
	clients := shard.New[netip.Prefix](gcra.PerMinute(6), shard.WithClock(&clk))
	proxy := netip.MustParsePrefix("10.0.0.7/32")
	h := httplimit.New(httplimit.Local(clients), httplimit.ClientAddr(32, 64, proxy))(hello)

	show(h, "10.0.0.7:80", "X-Forwarded-For", "192.0.2.1")
	show(h, "10.0.0.7:80", "X-Forwarded-For", "198.51.100.1, 192.0.2.1")
	show(h, "10.0.0.7:80", "X-Forwarded-For", "unknown")
	// Output:
	// 200 ["default";r=0;t=10] []
	// 429 ["default";r=0;t=10] [10]
	// 400 [] []
}

// A key can be anything that the request shows. Here it is who was logged in,
// and whoever was not is sent away, instead of sharing a bucket.
func ExampleNew() {
	var clk clock.Manual
	users := shard.New[string](gcra.PerHour(100).Burst(20), shard.WithClock(&clk))
	user := func(r *http.Request) (string, error) { return r.Header.Get("User"), nil }
	h := httplimit.New(httplimit.Local(users), user,
		httplimit.WithPolicy("hourly", nil),
		httplimit.WithCost(func(r *http.Request) int { return 1 + len(r.URL.RawQuery) }),
		httplimit.WithErrorHandler(func(w http.ResponseWriter, r *http.Request, err error) bool {
			if errors.Is(err, httplimit.ErrKey) {
				w.WriteHeader(http.StatusUnauthorized)
				return false
			}
			return true // a limiter that is down closes nothing
		}))(hello)

	show(h, "192.0.2.1:1234", "User", "ann")
	show(h, "192.0.2.1:1234")
	// Output:
	// 200 ["hourly";r=19;t=684] []
	// 401 [] []
}

// Two limits decide together: a client's request that the server has no room for
// costs the client nothing, and the fields name the limit that is nearer.
func ExampleFunc() {
	var clk clock.Manual
	all := atomic.NewLimiter(gcra.PerSecond(1).Burst(3), atomic.WithClock(&clk))
	clients := shard.New[netip.Prefix](gcra.PerMinute(6).Burst(2), shard.WithClock(&clk))
	h := httplimit.Func(func(r *http.Request, n int) (gcra.Decision, error) {
		client, err := httplimit.RemoteAddr(r)
		if err != nil {
			return gcra.Decision{}, err
		}
		return shard.Join(clients.For(client), all).Take(n), nil
	}, httplimit.WithPolicy("client", clients.Limit), httplimit.WithPolicy("all", all.Limit))(hello)

	show(h, "192.0.2.1:1")
	show(h, "192.0.2.1:1")
	show(h, "192.0.2.1:1")
	show(h, "192.0.2.2:1")
	show(h, "192.0.2.2:1")
	// Output:
	// 200 ["client";r=1;t=10] []
	// 200 ["client";r=0;t=10] []
	// 429 ["client";r=0;t=10] [10]
	// 200 ["all";r=0;t=1] []
	// 429 ["all";r=0;t=1] [1]
}

// A limit is tried before it bites.
func ExampleWithDryRun() {
	var clk clock.Manual
	clients := shard.New[netip.Prefix](gcra.PerMinute(6), shard.WithClock(&clk))
	h := httplimit.New(httplimit.Local(clients), httplimit.RemoteAddr,
		httplimit.WithDryRun(func(r *http.Request, d gcra.Decision, err error) {
			fmt.Println(r.RemoteAddr, err, "for", d.RetryAfter())
		}))(hello)

	show(h, "192.0.2.1:1234")
	show(h, "192.0.2.1:1235")
	// Output:
	// 200 [] []
	// 192.0.2.1:1235 weir: limited for 10s
	// 200 [] []
}

// A client keeps to a limit for each host, and to what the hosts say.
func ExampleTransport() {
	var clk clock.Manual
	clients := shard.New[netip.Prefix](gcra.PerMinute(1), shard.WithClock(&clk))
	busy := httptest.NewServer(httplimit.New(httplimit.Local(clients), httplimit.RemoteAddr)(hello))
	defer busy.Close()

	hosts := shard.New[string](gcra.PerSecond(100).Burst(10), shard.WithMaxKeys(10_000, shard.Refuse))
	client := &http.Client{Transport: httplimit.NewTransport(hosts, httplimit.Host)}
	defer client.CloseIdleConnections()
	get := func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "GET", busy.URL, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		res, err := client.Do(r)
		if err != nil {
			fmt.Println("not sent:", errors.Is(err, context.DeadlineExceeded))
			return
		}
		res.Body.Close()
		fmt.Println(res.StatusCode, res.Header["Retry-After"])
	}
	get()
	get() // the host asks for a minute, which is longer than the next one has
	get()
	// Output:
	// 200 []
	// 429 [60]
	// not sent: true
}
