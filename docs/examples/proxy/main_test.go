package main

import (
	"bytes"
	"context"
	"io"
	"math"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDemonstration(t *testing.T) {
	var clk clock.Manual
	var out bytes.Buffer
	p := proxy{limit: gcra.PerSecond(2).Burst(3), clock: &clk, pause: clk.Advance}
	if err := p.run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	want := `each client gets 2/s burst 3
request 1: 200 OK, hello from /1
request 2: 200 OK, hello from /2
request 3: 200 OK, hello from /3
request 4: 429 Too Many Requests, retry after 1s
request 5: 429 Too Many Requests, retry after 1s
waiting 1s
request 6: 200 OK, hello from /6
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestServing asks the proxy from outside, with a header that claims to be
// somebody else, and interrupts it.
func TestServing(t *testing.T) {
	var clk clock.Manual
	upstream, err := start("127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Header.Get("X-Forwarded-For"))
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer upstream.stop()

	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		p := proxy{listen: "127.0.0.1:0", upstream: "http://" + upstream.addr, limit: gcra.Per(0, time.Second), clock: &clk}
		done <- p.run(ctx, w)
		w.Close()
	}()
	front := address(t, r)
	go io.Copy(io.Discard, r)
	for i, want := range []struct {
		status    int
		forwarded string
	}{
		{http.StatusOK, "127.0.0.1"},
		{http.StatusTooManyRequests, "too many requests\n"}, // another claim is no other client
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+front, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", []string{"192.0.2.1", "192.0.2.2"}[i])
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != want.status || string(body) != want.forwarded {
			t.Errorf("request %d: %s, %q, %v, want %d, %q", i, res.Status, body, err, want.status, want.forwarded)
		}
		// What never refills has no time to come back at.
		if after, ok := res.Header["Retry-After"]; ok {
			t.Errorf("request %d: Retry-After %q", i, after)
		}
	}
	interrupt()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// address reads where the proxy serves from what it prints.
func address(t *testing.T, r io.Reader) string {
	t.Helper()
	for text, buf := "", make([]byte, 1024); ; {
		n, err := r.Read(buf)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		text += string(buf[:n])
		if _, addr, ok := strings.Cut(text, "serving on "); ok && strings.HasSuffix(addr, "\n") {
			return strings.TrimSpace(addr)
		}
	}
}

func TestRunFails(t *testing.T) {
	taken, err := start("127.0.0.1:0", http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	defer taken.stop()
	for _, p := range []proxy{
		{listen: taken.addr, limit: gcra.PerSecond(1), clock: clock.System()},
		{upstream: "http://%", limit: gcra.PerSecond(1), clock: clock.System()},
	} {
		if err := p.run(t.Context(), io.Discard); err == nil {
			t.Errorf("listen %q, upstream %q: no error", p.listen, p.upstream)
		}
	}
}

func TestClient(t *testing.T) {
	for _, row := range []struct{ remote, want, why string }{
		{"192.0.2.1:1234", "192.0.2.1/32", "IPv4 is its address, whatever the port"},
		{"[::ffff:192.0.2.1]:80", "192.0.2.1/32", "the same client on a socket that takes both"},
		{"[2001:db8:1:2:3:4:5:6]:80", "2001:db8:1:2::/64", "IPv6 is its /64"},
		{"[fe80::1%eth0]:80", "fe80::/64", "without the zone"},
		{"@", "invalid Prefix", "a Unix socket has no address"},
		{"", "invalid Prefix", "nor has nothing"},
	} {
		if got := client(row.remote).String(); got != row.want {
			t.Errorf("client(%q) = %s, want %s: %s", row.remote, got, row.want, row.why)
		}
	}
	if client("@") != (netip.Prefix{}) {
		t.Error("peers without an address do not share a bucket")
	}
}

func TestSeconds(t *testing.T) {
	for _, row := range []struct {
		d    time.Duration
		want int64
	}{
		{0, 1}, {1, 1}, {time.Second, 1}, {time.Second + 1, 2}, {90 * time.Second, 90},
		{math.MaxInt64, math.MaxInt64/int64(time.Second) + 1},
	} {
		if got := seconds(row.d); got != row.want {
			t.Errorf("seconds(%d) = %d, want %d", row.d, got, row.want)
		}
	}
}
