package httplimit

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ok is the handler behind the middleware.
var ok = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "served") })

// ask lets a handler answer a request from an address.
func ask(h http.Handler, from string, lines ...string) *http.Response {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = from
	for i := 0; i < len(lines); i += 2 {
		r.Header.Add(lines[i], lines[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// perClient is a limiter of clients on a clock that is moved by hand.
func perClient(l gcra.Limit, opts ...shard.Option) (*shard.Limiter[netip.Prefix], *clock.Manual) {
	clk := new(clock.Manual)
	return shard.New[netip.Prefix](l, append(opts, shard.WithClock(clk))...), clk
}

// same fails the test unless the header has exactly these lines under the name.
func same(t *testing.T, h http.Header, name string, want ...string) {
	t.Helper()
	got := h.Values(name)
	if len(got) != len(want) {
		t.Errorf("%s: %q, want %q", name, got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

const (
	client = "192.0.2.1:1234"
	s      = time.Second
)
