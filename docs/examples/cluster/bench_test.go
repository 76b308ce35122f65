package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// BenchmarkAsk times a request over the loopback interface to the owner of its key,
// and to another process, which forwards it; both forward it to the upstream. The
// processes are servers of this one. p50 and p99 are of the client's time.
func BenchmarkAsk(b *testing.B) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer up.Close()
	to := newTransport(peerAnswers)
	defer to.CloseIdleConnections()
	addr, members := map[string]string{}, map[string]*members{}
	for _, name := range []string{"a", "b", "c"} {
		m := newMembers(name, clock.System())
		n, err := newNode(config{name: name, upstream: up.URL, secret: "secret", limit: gcra.PerSecond(1_000_000).Burst(1_000_000)}, m, clock.System(), to, to)
		if err != nil {
			b.Fatal(err)
		}
		s := httptest.NewServer(n)
		defer s.Close()
		addr[name], members[name] = s.Listener.Addr().String(), m
	}
	for _, m := range members {
		if err := m.set(addr); err != nil {
			b.Fatal(err)
		}
	}
	for _, row := range []struct{ name, at, by string }{
		{"none", "", ""}, {"owner", "b", "b"}, {"other", "a", "b"},
	} {
		b.Run("at="+row.name, func(b *testing.B) {
			url := up.URL
			if row.at != "" {
				url = "http://" + addr[row.at]
			}
			client := &http.Client{Transport: to}
			var times []time.Duration
			for b.Loop() {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
				if err != nil {
					b.Fatal(err)
				}
				req.Header.Set(keyField, "alice")
				start := time.Now()
				res, err := client.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				_, err = io.Copy(io.Discard, res.Body)
				times = append(times, time.Since(start))
				res.Body.Close()
				if by := res.Header.Get(nodeField); err != nil || res.StatusCode != http.StatusOK || by != row.by {
					b.Fatal(fmt.Errorf("%s by %q: %w", res.Status, by, err))
				}
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Nanoseconds()), "p50-ns")
			b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds()), "p99-ns")
		})
	}
}
