package httplimit

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

func TestGrantAndRefuse(t *testing.T) {
	clients, clk := perClient(gcra.PerMinute(100).Burst(100))
	h := New(Local(clients), RemoteAddr)(ok)

	for range 49 {
		ask(h, client)
	}
	res := ask(h, client)
	if res.StatusCode != 200 || text(t, res) != "served" {
		t.Errorf("a grant: %s", res.Status)
	}
	same(t, res.Header, "RateLimit-Policy", `"default";q=100;w=60`)
	same(t, res.Header, "RateLimit", `"default";r=50;t=30`)
	same(t, res.Header, "Retry-After")
	same(t, res.Header, "Cache-Control")
	same(t, res.Header, "X-RateLimit-Reset")

	for range 50 {
		ask(h, client)
	}
	res = ask(h, client)
	if got := text(t, res); res.StatusCode != 429 || got != "Too Many Requests\n" {
		t.Errorf("a refusal: %s, %q", res.Status, got)
	}
	same(t, res.Header, "RateLimit-Policy", `"default";q=100;w=60`)
	same(t, res.Header, "RateLimit", `"default";r=0;t=1`)
	same(t, res.Header, "Retry-After", "1")
	same(t, res.Header, "Cache-Control", "no-store")

	if res := ask(h, "192.0.2.2:1234"); res.StatusCode != 200 {
		t.Errorf("another client: %s", res.Status)
	}
	clk.Advance(s)
	if res := ask(h, "[::ffff:192.0.2.1]:99"); res.StatusCode != 200 {
		t.Errorf("after Retry-After: %s", res.Status)
	}
}

// TestNeverPasses tells what cannot pass from what cannot pass now.
func TestNeverPasses(t *testing.T) {
	for _, row := range []struct {
		limit     gcra.Limit
		before, n int
		status    int
		retry     []string
		rateLimit []string
		why       string
	}{
		{gcra.PerSecond(1).Burst(5), 5, 2, 429, []string{"2"}, []string{`"default";r=0;t=2`}, "two tokens come in two seconds"},
		{gcra.PerSecond(1).Burst(5), 2, 4, 429, []string{"1"}, []string{`"default";r=1;t=1`}, "3 are left, of which a client at the rate uses 1 in 1 s"},
		{gcra.PerSecond(1).Burst(5), 0, 6, 413, nil, []string{`"default";r=5;t=5`}, "above the burst: only a smaller one can pass"},
		{gcra.Per(0, s).Burst(2), 2, 1, 429, nil, []string{`"default";r=0`}, "used up for ever"},
		{gcra.Per(0, s).Burst(2), 0, 3, 413, nil, []string{`"default";r=2`}, "too large for ever"},
		{gcra.Limit{}, 0, 1, 429, nil, []string{`"default";r=0`}, "nobody gets anything, of whatever size"},
	} {
		clients, _ := perClient(row.limit)
		cost := row.before
		h := New(Local(clients), RemoteAddr, WithCost(func(*http.Request) int { return cost }))(ok)
		if res := ask(h, client); res.StatusCode != 200 {
			t.Fatalf("%v: cost %d is refused at first", row.limit, cost)
		}
		cost = row.n
		res := ask(h, client)
		if res.StatusCode != row.status {
			t.Errorf("%v, %d after %d: %s, want %d: %s", row.limit, row.n, row.before, res.Status, row.status, row.why)
		}
		same(t, res.Header, "Retry-After", row.retry...)
		same(t, res.Header, "RateLimit", row.rateLimit...)
		same(t, res.Header, "Cache-Control", "no-store")
	}
}

// TestUnlimited is told nothing about a limit that there is not.
func TestUnlimited(t *testing.T) {
	clients, _ := perClient(gcra.Unlimited())
	res := ask(New(Local(clients), RemoteAddr, WithXRateLimit(nil))(ok), client)
	if len(res.Header) != 1 || res.Header.Get("Content-Type") == "" {
		t.Error(res.Header)
	}
}

// asked notes what a limiter was asked.
type asked struct {
	keys []string
	ns   []int
	ctx  context.Context
	d    gcra.Decision
	err  error
}

func (a *asked) Decide(ctx context.Context, key string, n int) (gcra.Decision, error) {
	a.ctx, a.keys, a.ns = ctx, append(a.keys, key), append(a.ns, n)
	return a.d, a.err
}

// TestNoSharedBucket: whatever has no key never reaches the limiter.
func TestNoSharedBucket(t *testing.T) {
	odd, down := errors.New("odd"), errors.New("down")
	for _, row := range []struct {
		key    string
		err    error // of the key function
		limit  error // of the limiter
		status int
		is     error
		why    string
	}{
		{"", nil, nil, 400, ErrKey, "an empty key"},
		{"", odd, nil, 400, odd, "an error of the key function is kept"},
		{"ann", odd, nil, 400, ErrKey, "a key beside an error is no key"},
		{"ann", ErrKey, nil, 400, ErrKey, "not wrapped twice"},
		{"ann", nil, down, 503, down, "nothing passes for free while the limiter is down"},
	} {
		a := &asked{err: row.limit}
		key := func(*http.Request) (string, error) { return row.key, row.err }
		res := ask(New[string](a, key)(ok), client)
		if got := text(t, res); res.StatusCode != row.status || got != http.StatusText(row.status)+"\n" {
			t.Errorf("key %q, %v: %s %q, want %d: %s", row.key, row.err, res.Status, got, row.status, row.why)
		}
		same(t, res.Header, "Cache-Control", "no-store")
		same(t, res.Header, "RateLimit")
		same(t, res.Header, "RateLimit-Policy")
		if len(a.keys) > 0 && row.limit == nil {
			t.Errorf("the limiter was asked about %q: %s", a.keys, row.why)
		}

		var told error
		for _, serve := range []bool{false, true} {
			res = ask(New[string](a, key, WithErrorHandler(func(w http.ResponseWriter, r *http.Request, err error) bool {
				told = err
				if !serve {
					w.WriteHeader(http.StatusTeapot)
				}
				return serve
			}))(ok), client)
			if want := map[bool]int{false: http.StatusTeapot, true: 200}[serve]; res.StatusCode != want {
				t.Errorf("an error handler that returns %v: %s", serve, res.Status)
			}
			if !errors.Is(told, row.is) || row.limit == nil && !errors.Is(told, ErrKey) {
				t.Errorf("the error handler got %v, want %v", told, row.is)
			}
		}
		if row.err == ErrKey && told != ErrKey {
			t.Errorf("wrapped twice: %v", told)
		}
	}
}

func TestCostAndSkip(t *testing.T) {
	a := &asked{}
	h := New[string](a, func(r *http.Request) (string, error) { return "ann", nil },
		WithSkip(func(r *http.Request) bool { return r.Header.Get("Health") != "" }),
		WithCost(func(r *http.Request) int { return len(r.Header.Get("Cost")) }))(ok)
	ask(h, client, "Cost", "xxx")
	ask(h, client)
	if res := ask(h, client, "Health", "?"); res.StatusCode != 200 || len(res.Header) != 1 {
		t.Errorf("skipped: %v", res.Header)
	}
	if len(a.ns) != 2 || a.ns[0] != 3 || a.ns[1] != 0 || a.keys[0] != "ann" {
		t.Errorf("asked for %d of %q", a.ns, a.keys)
	}

	clients, _ := perClient(gcra.PerSecond(1))
	negative := WithCost(func(*http.Request) int { return -1 })
	if res := ask(New(Local(clients), RemoteAddr, negative)(ok), client); res.StatusCode != 400 {
		t.Errorf("a negative cost: %s", res.Status)
	}
	var told error
	ask(New(Local(clients), RemoteAddr, negative, WithErrorHandler(func(_ http.ResponseWriter, _ *http.Request, err error) bool {
		told = err
		return false
	}))(ok), client)
	if told != gcra.ErrCost {
		t.Errorf("a negative cost is told as %v", told)
	}
}

// TestContext: the limiter gets the request's own.
func TestContext(t *testing.T) {
	a := &asked{}
	type name struct{}
	r := httptest.NewRequest("GET", "/", nil)
	r = r.WithContext(context.WithValue(r.Context(), name{}, 1))
	h := New[string](a, func(*http.Request) (string, error) { return "ann", nil })(ok)
	h.ServeHTTP(httptest.NewRecorder(), r)
	if a.ctx != r.Context() {
		t.Error("another context")
	}
}

func TestDryRun(t *testing.T) {
	clients, _ := perClient(gcra.PerSecond(1).Burst(2))
	var reports []error
	n := 1
	h := New(Local(clients), RemoteAddr, WithCost(func(*http.Request) int { return n }),
		WithDryRun(func(r *http.Request, d gcra.Decision, err error) {
			if r.RemoteAddr == client && err != gcra.ErrCost && (d.OK() || d.RetryAfter() == 0) {
				t.Errorf("%v with the decision %v", err, d)
			}
			reports = append(reports, err)
		}))(ok)
	for i, row := range []struct {
		from string
		n    int
		want error
		why  string
	}{
		{client, 1, nil, "within the limit"},
		{client, 1, nil, "within the limit"},
		{client, 1, gcra.ErrLimited, "grants were charged, as without the dry run"},
		{client, 3, gcra.ErrExceedsBurst, "and what cannot pass is reported as that"},
		{client, -1, gcra.ErrCost, "and a wrong cost"},
		{"@", 1, ErrKey, "and no key"},
	} {
		reports, n = nil, row.n
		res := ask(h, row.from)
		if res.StatusCode != 200 || len(res.Header) != 1 {
			t.Errorf("row %d: %s, %v", i, res.Status, res.Header)
		}
		if len(reports) > 1 || len(reports) == 1 && !errors.Is(reports[0], row.want) || row.want != nil && reports == nil {
			t.Errorf("row %d: %v, want %v: %s", i, reports, row.want, row.why)
		}
	}
}

// TestEngineDryRun serves what an engine only tries to refuse, and says what
// the engine says.
func TestEngineDryRun(t *testing.T) {
	clients, _ := perClient(gcra.PerSecond(1), shard.WithDryRun())
	h := New(Local(clients), RemoteAddr)(ok)
	for range 3 {
		res := ask(h, client)
		if res.StatusCode != 200 {
			t.Error(res.Status)
		}
		same(t, res.Header, "RateLimit", `"default";r=0;t=1`)
		same(t, res.Header, "Retry-After")
	}
}

// TestNegativeCostIsNoRefusal: an engine that only tries its limit would let it
// pass, but it is a mistake, or the cost function's way to say no, and has its
// answer whatever the limit.
func TestNegativeCostIsNoRefusal(t *testing.T) {
	real, _ := perClient(gcra.PerSecond(1))
	tried, _ := perClient(gcra.PerSecond(1), shard.WithDryRun())
	report := WithDryRun(func(*http.Request, gcra.Decision, error) {})
	open := WithErrorHandler(func(http.ResponseWriter, *http.Request, error) bool { return true })
	for _, row := range []struct {
		by     *shard.Limiter[netip.Prefix]
		opts   []Option
		status int
		why    string
	}{
		{real, nil, 400, "a limit in force"},
		{tried, nil, 400, "the engine's dry run"},
		{tried, []Option{open}, 200, "the error handler decides"},
		{tried, []Option{report}, 200, "the middleware's own dry run serves all"},
	} {
		negative := WithCost(func(*http.Request) int { return -1 })
		res := ask(New(Local(row.by), RemoteAddr, append(row.opts, negative)...)(ok), client)
		if res.StatusCode != row.status {
			t.Errorf("%s, want %d: %s", res.Status, row.status, row.why)
		}
		same(t, res.Header, "RateLimit")
		same(t, res.Header, "RateLimit-Policy")
	}
}

func TestPanics(t *testing.T) {
	clients, _ := perClient(gcra.PerSecond(1))
	limit := func() gcra.Limit { return gcra.PerSecond(1) }
	for name, f := range map[string]func(){
		"no limiter":             func() { New(nil, RemoteAddr) },
		"no key":                 func() { New(Local(clients), nil) },
		"no decide":              func() { Func(nil) },
		"no engine":              func() { Local[string](nil) },
		"no handler":             func() { New(Local(clients), RemoteAddr)(nil) },
		"an empty name":          func() { WithPolicy("", nil) },
		"a name beyond ASCII":    func() { WithPolicy("é", nil) },
		"a name with a newline":  func() { WithPolicy("a\nb", nil) },
		"one of two unlimited":   func() { New(Local(clients), RemoteAddr, WithPolicy("a", limit), WithPolicy("b", nil)) },
		"two of a name":          func() { New(Local(clients), RemoteAddr, WithPolicy("a", limit), WithPolicy("a", limit)) },
		"a dry run unreported":   func() { WithDryRun(nil) },
		"an observer of nothing": func() { WithObserver(nil) },
		"a transport without":    func() { NewTransport[string](nil, nil) },
		"a prefix of no bits":    func() { ClientAddr(0, 64) },
		"of 33 bits":             func() { ClientAddr(33, 64) },
		"of 129 bits":            func() { ClientAddr(32, 129) },
		"an invalid trusted one": func() { ClientAddr(32, 64, netip.Prefix{}) },
		"all are trusted":        func() { ClientAddr(32, 64, netip.MustParsePrefix("0.0.0.0/0")) },
		"all are, mapped":        func() { ClientAddr(32, 64, netip.MustParsePrefix("::ffff:0.0.0.0/96")) },
	} {
		if !panics(f) {
			t.Errorf("%s: no panic", name)
		}
	}
}
