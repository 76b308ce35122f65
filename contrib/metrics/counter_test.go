package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/contrib/metrics"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/shard"
)

// Whatever middleware says of a request is one result.
func TestCounterResults(t *testing.T) {
	var clk clock.Manual
	decided := func(n int) gcra.Decision {
		l := gatomic.NewLimiter(gcra.PerHour(1), gatomic.WithClock(&clk))
		if n == 1 {
			l.Take(1)
		}
		return l.Take(n)
	}
	granted, limited, large, negative := decided(0), decided(1), decided(2), decided(-1)
	late := &gatomic.WaitError{Delay: 1, Err: context.DeadlineExceeded}
	for _, row := range []struct {
		d      gcra.Decision
		served bool
		err    error
		want   string
		why    string
	}{
		{granted, true, nil, "allowed", "granted"},
		{limited, false, nil, "denied", "refused"},
		{limited, true, nil, "would_deny", "let pass by a dry run of the middleware"},
		{limited.DryRun(), true, nil, "would_deny", "or of the engine"},
		{large, false, nil, "error", "a cost that can never pass"},
		{large, true, nil, "would_deny", "which a dry run lets pass"},
		{negative, false, nil, "error", "a wrong cost"},
		{negative, true, nil, "error", "is one in a dry run too"},
		{negative, false, gcra.ErrCost, "error", "as httplimit tells it"},
		{gcra.Decision{}, false, httplimit.ErrKey, "error", "no key"},
		{gcra.Decision{}, true, httplimit.ErrKey, "error", "served all the same"},
		{gcra.Decision{}, false, errors.New("down"), "error", "no decision"},
		{gcra.Decision{}, false, context.DeadlineExceeded, "error", "in time"},
		{gcra.Decision{}, false, fmt.Errorf("joint: %w", gcra.ErrLimited), "denied", "a Waiter refused"},
		{gcra.Decision{}, true, gcra.ErrLimited, "would_deny", "in a dry run"},
		{gcra.Decision{}, false, gcra.ErrExceedsBurst, "error", "or for good"},
		{gcra.Decision{}, false, fmt.Errorf("here: %w", late), "denied", "its slot was too late"},
		{gcra.Decision{}, false, context.Canceled, "denied", "the caller went away"},
	} {
		var c metrics.Counter
		c.Count(t.Context(), row.d, row.served, row.err)
		var p metrics.Policies
		p.Set("a", &c)
		for _, counts := range p.All() {
			for result, n := range counts.Results() {
				if want := map[bool]int64{true: 1}[result == row.want]; n != want {
					t.Errorf("%d are %s, want one that is %s: %s", n, result, row.want, row.why)
				}
			}
		}
	}
}

// Each of many requests at once is counted.
func TestCounterConcurrent(t *testing.T) {
	var c metrics.Counter
	const each = 1000
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range each {
				c.Count(t.Context(), gcra.Decision{}, true, nil)
				c.Count(t.Context(), gcra.Decision{}, false, httplimit.ErrKey)
			}
		})
	}
	all.Wait()
	if got, want := c.Stats(), (shard.Stats{Granted: 4 * each, Refused: 4 * each, Invalid: 4 * each}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A limit that is tried in the middleware, and requests without a key, which the
// limiter never hears of.
func ExampleCounter() {
	accounts := shard.New[string](gcra.PerHour(2).Burst(2), shard.WithClock(new(clock.Manual)))
	count := &metrics.Counter{Limiter: accounts}
	var policies metrics.Policies
	policies.Set("accounts", count)

	tried := httplimit.New(httplimit.Local(accounts),
		func(r *http.Request) (string, error) { return r.Header.Get("Account"), nil },
		httplimit.WithDryRun(func(*http.Request, gcra.Decision, error) {}), // or one that logs
		httplimit.WithObserver(count.Count))(http.NotFoundHandler())

	for _, account := range []string{"ann", "ann", "ann", ""} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Account", account)
		tried.ServeHTTP(httptest.NewRecorder(), r)
	}
	for name, c := range policies.All() {
		fmt.Println(name, "allowed", c.Allowed, "would deny", c.WouldDeny, "errors", c.Errors, "keys", c.Keys)
	}
	// Output: accounts allowed 2 would deny 1 errors 1 keys 1
}
