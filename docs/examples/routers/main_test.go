package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDemonstration(t *testing.T) {
	for _, r := range routers {
		var out bytes.Buffer
		if err := demonstrate(&out, r); err != nil {
			t.Fatal(err)
		}
		want := ""
		for _, line := range []string{
			`200 "hello gopher"      "default";r=1;t=10`,
			`200 "hello gopher"      "default";r=0;t=10`,
			`429 "Too Many Requests" "default";r=0;t=10`,
			`200 "hello gopher"      "default";r=0;t=10`,
		} {
			want += fmt.Sprintf("%-8s %s\n", r.name, line)
		}
		if got := out.String(); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	}
}

// TestRouters: a request that is refused reaches no handler, and is answered in
// full; one without a key neither; routes that there are not cost as much as
// others.
func TestRouters(t *testing.T) {
	for _, r := range routers {
		t.Run(r.name, func(t *testing.T) {
			var clk clock.Manual
			clients := shard.New[netip.Prefix](gcra.PerMinute(6).Burst(2), shard.WithClock(&clk))
			key := func(r *http.Request) (netip.Prefix, error) {
				if r.Header.Get("Nobody") != "" {
					return netip.Prefix{}, nil
				}
				return httplimit.RemoteAddr(r)
			}
			srv := httptest.NewServer(r.build(httplimit.New(httplimit.Local(clients), key, httplimit.WithProblem())))
			defer srv.Close()
			const problem = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",` +
				`"title":"Quota Exceeded","status":429,"violated-policies":["default"]}` + "\n"
			for i, row := range []struct {
				path, nobody string
				status       int
				body         string // "" is whatever the router says
				rateLimit    string
			}{
				{"/hello/ann", "", 200, "hello ann", `"default";r=1;t=10`},
				{"/hello/ann", "yes", 400, "Bad Request\n", ""},
				{"/nowhere", "", 404, "", `"default";r=0;t=10`},
				{"/hello/ann", "", 429, problem, `"default";r=0;t=10`},
				{"/nowhere", "", 429, problem, `"default";r=0;t=10`},
			} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+row.path, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Nobody", row.nobody)
				res, err := srv.Client().Do(req)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(res.Body)
				res.Body.Close()
				if err != nil || res.StatusCode != row.status || row.body != "" && string(body) != row.body {
					t.Errorf("request %d: %s %q, %v, want %d %q", i, res.Status, body, err, row.status, row.body)
				}
				if got := res.Header.Get("RateLimit"); got != row.rateLimit {
					t.Errorf("request %d: RateLimit %s, want %s", i, got, row.rateLimit)
				}
				if row.status == 429 && (res.Header.Get("Retry-After") != "10" || res.Header.Get("Cache-Control") != "no-store") {
					t.Errorf("request %d: %v", i, res.Header)
				}
			}
		})
	}
}

// TestStreams: each router's handlers can still flush.
func TestStreams(t *testing.T) {
	for _, r := range routers {
		var clk clock.Manual
		clients := shard.New[netip.Prefix](gcra.PerMinute(6).Burst(2), shard.WithClock(&clk))
		limited := httplimit.New(httplimit.Local(clients), httplimit.RemoteAddr)
		flushed := false
		h := r.build(func(next http.Handler) http.Handler {
			return limited(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(w, r)
				flushed = http.NewResponseController(w).Flush() == nil
			}))
		})
		srv := httptest.NewServer(h)
		res, err := srv.Client().Get(srv.URL + "/hello/ann")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		srv.Close()
		if !flushed || len(res.TransferEncoding) == 0 {
			t.Errorf("%s: flushed: %v, %q", r.name, flushed, res.TransferEncoding)
		}
	}
}
