package httplimit

import (
	"net/http"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

func TestDenied(t *testing.T) {
	clients, _ := perClient(gcra.PerMinute(1))
	h := New(Local(clients), RemoteAddr, WithProblem(), WithDenied(func(w http.ResponseWriter, r *http.Request, d gcra.Decision) {
		if d.RetryAfter() != time.Minute {
			t.Errorf("a decision that says %v", d.RetryAfter())
		}
		w.WriteHeader(http.StatusTeapot)
	}))(ok)
	ask(h, client)
	res := ask(h, client)
	if res.StatusCode != http.StatusTeapot || text(t, res) != "" {
		t.Error(res.Status)
	}
	same(t, res.Header, "Retry-After", "60")
	same(t, res.Header, "Cache-Control", "no-store")
	same(t, res.Header, "RateLimit", `"default";r=0;t=60`)
	same(t, res.Header, "Content-Type")
}

func TestProblem(t *testing.T) {
	clients, _ := perClient(gcra.PerMinute(1))
	n := 1
	h := New(Local(clients), RemoteAddr, WithProblem(), WithPolicy(`per "min"`, nil),
		WithCost(func(*http.Request) int { return n }))(ok)
	ask(h, client)
	const kind = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",`
	for _, row := range []struct {
		n, status int
		body      string
	}{
		{1, 429, kind + `"title":"Quota Exceeded","status":429,"violated-policies":["per \"min\""]}` + "\n"},
		{2, 413, kind + `"title":"Request Exceeds Quota","status":413,"violated-policies":["per \"min\""]}` + "\n"},
	} {
		n = row.n
		res := ask(h, client)
		if got := text(t, res); res.StatusCode != row.status || got != row.body {
			t.Errorf("%s: %q, want %q", res.Status, got, row.body)
		}
		same(t, res.Header, "Content-Type", "application/problem+json")
		same(t, res.Header, "X-Content-Type-Options", "nosniff")
	}
}

func TestXRateLimit(t *testing.T) {
	wall := time.Unix(1_800_000_000, 1)
	for _, row := range []struct {
		limit  gcra.Limit
		epoch  func() time.Time
		limits string
		reset  []string
		why    string
	}{
		{gcra.Per(2, 3*s).Burst(10), nil, "10", []string{"3"}, "two tokens are missing, and come in 3 s"},
		{gcra.Per(2, 3*s).Burst(10), func() time.Time { return wall }, "10", []string{"1800000004"}, "rounded up from 3.000000001"},
		{gcra.Per(0, s).Burst(10), nil, "10", nil, "it never is full again"},
	} {
		clients, _ := perClient(row.limit)
		h := New(Local(clients), RemoteAddr, WithXRateLimit(row.epoch))(ok)
		ask(h, client)
		res := ask(h, client)
		same(t, res.Header, "X-RateLimit-Limit", row.limits)
		same(t, res.Header, "X-RateLimit-Remaining", "8")
		same(t, res.Header, "X-RateLimit-Reset", row.reset...)
		same(t, res.Header, "RateLimit-Policy", string(appendPolicy(nil, `"default"`, row.limit)))
	}
	clients, _ := perClient(gcra.PerSecond(1))
	res := ask(New(Local(clients), RemoteAddr, WithXRateLimit(nil), WithCost(func(*http.Request) int { return 0 }))(ok), client)
	same(t, res.Header, "X-RateLimit-Reset", "0")
}
