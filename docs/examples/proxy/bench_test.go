package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"testing"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// discard is a ResponseWriter that costs nothing itself.
type discard struct{ h http.Header }

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

// BenchmarkGate measures what the gate adds to a request that is granted, with a
// trusted proxy before it: reading the field, both limits, the response's fields
// and the counts.
func BenchmarkGate(b *testing.B) {
	slow := gcra.PerDay(1).Burst(1 << 30)
	trusted := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	for _, clients := range []int{1, 10_000} {
		b.Run("clients="+strconv.Itoa(clients), func(b *testing.B) {
			g := newGate(limits{slow, slow}, trusted, clock.System())
			served := 0
			h := g.limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
			rs := make([]*http.Request, clients)
			for i := range rs {
				rs[i] = httptest.NewRequest("GET", "/", nil)
				rs[i].RemoteAddr = "127.0.0.1:1234"
				rs[i].Header.Set("X-Forwarded-For", fmt.Sprintf("10.0.%d.%d", i/256, i%256))
			}
			w := &discard{http.Header{}}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				clear(w.h)
				h.ServeHTTP(w, rs[i*7919%clients])
				i++
			}
			if served != i || g.client.Len() != min(clients, i) {
				b.Fatalf("%d of %d served, %d clients", served, i, g.client.Len())
			}
		})
	}
}
