package httplimit

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A quiet writer keeps nothing, so that it costs nothing itself.
type quiet struct{ h http.Header }

func (q *quiet) Header() http.Header         { return q.h }
func (q *quiet) Write(b []byte) (int, error) { return len(b), nil }
func (q *quiet) WriteHeader(int)             {}

var nothing = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

func crowd(n int) []*http.Request {
	rs := make([]*http.Request, n)
	for i := range rs {
		rs[i] = httptest.NewRequest("GET", "/", nil)
		rs[i].RemoteAddr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1234).String()
	}
	return rs
}

// plenty is so much that no run empties it, and so slow that no key is full again
// between two requests, however slow the machine: then it would be forgotten,
// and the next request would make its cell anew.
var plenty = gcra.PerDay(1 << 20).Burst(1 << 30)

// TestAllocations: a granted request costs two, whatever its policies; without
// fields it costs none.
func TestAllocations(t *testing.T) {
	clients := shard.New[netip.Prefix](plenty)
	other := shard.New[netip.Prefix](gcra.PerHour(1).Burst(1e5))
	cost := WithCost(func(*http.Request) int { return 1 })
	r := crowd(1)[0]
	for _, row := range []struct {
		m    func(http.Handler) http.Handler
		want float64
		why  string
	}{
		{New(Local(clients), RemoteAddr), 2, "the lines, and the text of one"},
		{New(Local(clients), ClientAddr(24, 48, netip.MustParsePrefix("192.168.0.0/16")), cost, WithPolicy("per client", nil)), 2, "whatever the options"},
		{Func(func(r *http.Request, n int) (gcra.Decision, error) {
			k, err := RemoteAddr(r)
			return clients.Take(k, n), err
		}, WithPolicy("a", clients.Limit), WithPolicy("b", other.Limit)), 2, "or the policies"},
		{New(Local(clients), RemoteAddr, WithObserver(func(context.Context, gcra.Decision, bool, error) {})), 2, "whoever observes"},
		{New(Local(clients), RemoteAddr, WithDryRun(func(*http.Request, gcra.Decision, error) {})), 0, "a dry run tells nothing"},
	} {
		h := row.m(nothing)
		w := &quiet{http.Header{}}
		got := testing.AllocsPerRun(1000, func() {
			clear(w.h) // a map that has room, as a server's has for any handler
			h.ServeHTTP(w, r)
		})
		if got > row.want {
			t.Errorf("%v allocations, want %v: %s", got, row.want, row.why)
		}
	}
}

// BenchmarkServe measures what the middleware adds to a request. Without is the
// handler alone.
func BenchmarkServe(b *testing.B) {
	const keys = 1024
	limited := func(l gcra.Limit) func(http.Handler) http.Handler {
		return New(Local(shard.New[netip.Prefix](l)), RemoteAddr)
	}
	for _, row := range []struct {
		name string
		m    func(http.Handler) http.Handler
		want int // status
	}{
		{"granted", limited(plenty), 200},
		{"refused", limited(gcra.PerHour(1)), 429},
		{"older=true", New(Local(shard.New[netip.Prefix](plenty)), RemoteAddr, WithXRateLimit(time.Now)), 200},
		{"without", func(h http.Handler) http.Handler { return h }, 200},
	} {
		b.Run("serve="+row.name+"/keys="+strconv.Itoa(keys), func(b *testing.B) {
			rs := crowd(keys)
			h := row.m(nothing)
			for _, r := range rs {
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, rs[keys-1]); w.Code != row.want {
				b.Fatalf("status %d, want %d", w.Code, row.want)
			}
			out := &quiet{http.Header{}}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				clear(out.h)
				h.ServeHTTP(out, rs[i%keys])
				i++
			}
		})
	}
}

// BenchmarkKey measures key functions.
func BenchmarkKey(b *testing.B) {
	behind := ClientAddr(32, 64, netip.MustParsePrefix("10.0.0.0/8"))
	for _, row := range []struct {
		name string
		key  func(*http.Request) (netip.Prefix, error)
		r    *http.Request
	}{
		{"remote/family=4", RemoteAddr, request("192.0.2.1:1234")},
		{"remote/family=6", RemoteAddr, request("[2001:db8::1]:1234")},
		{"forwarded/family=4", behind, request("10.0.0.1:1234", "198.51.100.7, 192.0.2.1, 10.0.0.2")},
	} {
		b.Run("key="+row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := row.key(row.r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
