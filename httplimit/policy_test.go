package httplimit

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// TestNested: each limit has its items, in lines of its own.
func TestNested(t *testing.T) {
	var clk clock.Manual
	all := gatomic.NewLimiter(gcra.PerSecond(100).Burst(3), gatomic.WithClock(&clk))
	clients, _ := perClient(gcra.PerMinute(6).Burst(2))
	h := Func(func(_ *http.Request, n int) (gcra.Decision, error) { return all.Take(n), nil }, WithPolicy("all", nil))(
		New(Local(clients), RemoteAddr, WithPolicy("client", nil))(ok))
	res := ask(h, client)
	both := []string{`"all";q=3;w=1`, `"client";q=2;w=20`}
	same(t, res.Header, "RateLimit-Policy", both...)
	same(t, res.Header, "RateLimit", `"all";r=2;t=1`, `"client";r=1;t=10`)
	ask(h, client)
	res = ask(h, client)
	same(t, res.Header, "RateLimit-Policy", both...)
	same(t, res.Header, "RateLimit", `"client";r=0;t=10`)
	same(t, res.Header, "Retry-After", "10")
	res = ask(h, "192.0.2.2:1")
	same(t, res.Header, "RateLimit-Policy", both[0])
	same(t, res.Header, "RateLimit", `"all";r=0;t=1`)
}

// TestInnerRefusalIsAlone: a refusal by an inner limit has no window but its
// own. The outer one's, which is written when that grants, may end after
// Retry-After, and clients that read both would have to guess.
func TestInnerRefusalIsAlone(t *testing.T) {
	for _, row := range []struct {
		outer, inner gcra.Limit
		granted      string // the outer item of a granted response
		rateLimit    string
		after        string
		why          string
	}{
		{gcra.PerHour(100).Burst(100), gcra.PerSecond(1), `"outer";r=99;t=3564`, `"inner";r=0;t=1`, "1", "the outer window is an hour"},
		{gcra.PerSecond(100).Burst(100), gcra.PerHour(1), `"outer";r=99;t=1`, `"inner";r=0;t=3600`, "3600", "or shorter"},
		{gcra.PerHour(100).Burst(100), gcra.Per(0, s), `"outer";r=99;t=3564`, `"inner";r=0`, "", "no later time is better"},
	} {
		outer, _ := perClient(row.outer)
		inner, _ := perClient(row.inner)
		h := New(Local(outer), RemoteAddr, WithPolicy("outer", nil))(
			New(Local(inner), RemoteAddr, WithPolicy("inner", nil))(ok))
		if got := ask(h, client).Header["Ratelimit"]; len(got) != 2 || got[0] != row.granted {
			t.Errorf("granted by both: %q, want %s first", got, row.granted)
		}
		res := ask(h, client)
		if res.StatusCode != 429 {
			t.Errorf("%s: %s", res.Status, row.why)
		}
		if got := res.Header["Ratelimit"]; len(got) != 1 || got[0] != row.rateLimit || res.Header.Get("Retry-After") != row.after {
			t.Errorf("RateLimit %q, Retry-After %q, want %s, %s: %s", got, res.Header["Retry-After"], row.rateLimit, row.after, row.why)
		}
		if got := res.Header["Ratelimit-Policy"]; len(got) != 2 {
			t.Errorf("both limits are in force, and told: %q: %s", got, row.why)
		}
	}
}

// TestJoint: limits decided together have the names that were given to them.
func TestJoint(t *testing.T) {
	var clk clock.Manual
	all := gatomic.NewLimiter(gcra.PerSecond(1).Burst(3), gatomic.WithClock(&clk))
	clients := shard.New[netip.Prefix](gcra.PerMinute(6).Burst(2), shard.WithClock(&clk))
	h := Func(func(r *http.Request, n int) (gcra.Decision, error) {
		key, err := RemoteAddr(r)
		if err != nil {
			return gcra.Decision{}, err
		}
		return shard.Join(clients.For(key), all).Take(n), nil
	}, WithPolicy("client", clients.Limit), WithPolicy("all", all.Limit), WithProblem())(ok)

	policy := `"client";q=2;w=20, "all";q=3;w=3`
	for i, row := range []struct {
		from      string
		status    int
		rateLimit string
		body      string
		why       string
	}{
		{client, 200, `"client";r=1;t=10`, "served", "the client's limit is nearer"},
		{client, 200, `"client";r=0;t=10`, "served", "and used up"},
		{client, 429, `"client";r=0;t=10`, `["client"]`, "it refuses, and costs the other nothing"},
		{"192.0.2.2:1", 200, `"all";r=0;t=1`, "served", "all had one left"},
		{"192.0.2.3:1", 429, `"all";r=0;t=1`, `["all"]`, "and now has none for anybody"},
		{"@", 400, "", "Bad Request", "without a key there is no bucket"},
	} {
		res := ask(h, row.from)
		if got := text(t, res); res.StatusCode != row.status || !strings.Contains(got, row.body) {
			t.Errorf("row %d: %s %q, want %d: %s", i, res.Status, got, row.status, row.why)
		}
		if row.rateLimit == "" {
			continue
		}
		same(t, res.Header, "RateLimit-Policy", policy)
		same(t, res.Header, "RateLimit", row.rateLimit)
	}

	// Live: the fields follow.
	clients.SetLimit(gcra.PerMinute(12).Burst(4))
	res := ask(h, client)
	same(t, res.Header, "RateLimit-Policy", `"client";q=4;w=20, "all";q=3;w=3`)
	same(t, res.Header, "RateLimit", `"client";r=0;t=5`) // none was left, nor is now
}

// TestUnnamed: no item rather than one with another policy's name.
func TestUnnamed(t *testing.T) {
	clients, _ := perClient(gcra.PerSecond(1))
	h := New(Local(clients), RemoteAddr, WithProblem(),
		WithPolicy("old", func() gcra.Limit { return gcra.PerSecond(2) }))(ok)
	ask(h, client)
	res := ask(h, client)
	same(t, res.Header, "RateLimit")
	same(t, res.Header, "RateLimit-Policy", `"old";q=1;w=1`)
	if got := text(t, res); !strings.Contains(got, `"violated-policies":[]`) {
		t.Error(got)
	}
}

// TestPlans: a limiter for each of many plans, and a text for each limit, that
// allocate no more than one.
func TestPlans(t *testing.T) {
	var plans []*shard.Limiter[netip.Prefix]
	var wants []string
	for i := range 20 {
		l, _ := perClient(gcra.PerSecond(1 + i).Burst(1_000_000 * (1 + i)))
		plans = append(plans, l)
		wants = append(wants, string(appendPolicy(nil, `"default"`, l.Limit())))
	}
	n := 0
	h := Func(func(r *http.Request, cost int) (gcra.Decision, error) {
		n++
		key, err := RemoteAddr(r)
		return plans[n%len(plans)].Take(key, cost), err
	})(nothing)
	w, r := &quiet{http.Header{}}, crowd(1)[0]
	round := func() {
		for range plans {
			clear(w.h)
			h.ServeHTTP(w, r)
			if got := w.h[rateLimitPolicy]; len(got) != 1 || got[0] != wants[n%len(plans)] {
				t.Fatalf("%q, want %s", got, wants[n%len(plans)])
			}
		}
	}
	round()
	if got := testing.AllocsPerRun(100, round) / float64(len(plans)); got > 2 {
		t.Errorf("%v allocations a request", got)
	}
}
