// Package did has limiters that have done what is known, for the tests of all
// that tells what limiters did.
package did

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/contrib/metrics"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/shard"
)

// Keys returns all keys that were used. None of them is to be seen anywhere.
func Keys() []string { return []string{"alice", "bob", "carol", "dave", "erin"} }

// Policies returns a limiter, a table that tries its limit, what middleware has
// counted in force and in a dry run, and what each has done.
func Policies(t *testing.T) (*metrics.Policies, map[string]metrics.Counts) {
	p := new(metrics.Policies)
	p.Set("calls", limiter(t))
	p.Set("front", served(t))
	p.Set("rehearsal", served(t, httplimit.WithDryRun(func(*http.Request, gcra.Decision, error) {})))
	p.Set("trial", table(t))
	return p, map[string]metrics.Counts{
		"calls":     {Allowed: 6, Denied: 3, Errors: 2, Waits: 2, WaitSeconds: 1.2, Keys: 1, Forgotten: 3, Capped: 1},
		"front":     {Allowed: 3, Denied: 2, Errors: 4, Keys: 1, Capped: 1},
		"rehearsal": {Allowed: 3, WouldDeny: 3, Errors: 3, Keys: 1, Capped: 1},
		"trial":     {Allowed: 1, WouldDeny: 3, Keys: 1},
	}
}

// A Series is what both systems tell of a policy, under names of their own.
type Series struct {
	Prom, Otel, Unit string // the unit is told by the second one
	Result           string // "" if that is no label of it
	Falls            bool   // a gauge, and no counter
	Value            float64
}

// All returns all that is told of a policy that has done that.
func All(c metrics.Counts) []Series {
	requests := func(result string, n int64) Series {
		return Series{"weir_requests_total", "weir.requests", "{request}", result, false, float64(n)}
	}
	return []Series{
		requests("allowed", c.Allowed),
		requests("denied", c.Denied),
		requests("would_deny", c.WouldDeny),
		requests("error", c.Errors),
		{"weir_waits_total", "weir.waits", "{wait}", "", false, float64(c.Waits)},
		{"weir_wait_seconds_total", "weir.wait.time", "s", "", false, c.WaitSeconds},
		{"weir_keys", "weir.keys", "{key}", "", true, float64(c.Keys)},
		{"weir_forgotten_total", "weir.keys.forgotten", "{key}", "", false, float64(c.Forgotten)},
		{"weir_capped_total", "weir.requests.capped", "{request}", "", false, float64(c.Capped)},
	}
}

func limiter(t *testing.T) (l *shard.Limiter[string]) {
	synctest.Test(t, func(t *testing.T) {
		l = shard.New[string](gcra.PerSecond(2).Burst(5), shard.WithStats(), shard.WithMaxKeys(3, shard.Refuse))
		l.Take("alice", 5)  // allowed
		l.Take("alice", 1)  // denied
		l.Take("alice", 6)  // error: above the burst
		l.Take("alice", -1) // error
		for range 2 {       // allowed, after half a second each
			if err := l.Wait(t.Context(), "alice"); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		time.AfterFunc(200*time.Millisecond, cancel)
		if err := l.Wait(ctx, "alice"); err == nil { // denied, after 200 ms
			t.Fatal("a wait outlived its context")
		}
		l.Take("bob", 1)   // allowed
		l.Take("carol", 1) // allowed
		l.Take("dave", 1)  // denied, for want of room
		time.Sleep(time.Minute)
		l.Sweep() // alice, bob and carol are forgotten
		l.Take("erin", 1)
	})
	return l
}

func table(t *testing.T) (l *shard.Table[string]) {
	synctest.Test(t, func(*testing.T) {
		l = shard.NewTable[string](gcra.PerSecond(1), 10, shard.WithStats(), shard.WithDryRun())
		for _, n := range []int{1, 1, 2, -1} {
			l.Take("bob", n)
		}
	})
	return l
}

// A store is a limiter that may be out of reach.
type store struct {
	httplimit.Limiter[string]
	down bool
}

func (s *store) Decide(ctx context.Context, key string, n int) (gcra.Decision, error) {
	if s.down {
		return gcra.Decision{}, errors.New("no answer")
	}
	return s.Limiter.Decide(ctx, key, n)
}

// served returns what middleware has counted of requests to a server.
func served(t *testing.T, opts ...httplimit.Option) *metrics.Counter {
	clients := shard.New[string](gcra.PerHour(1).Burst(3), shard.WithMaxKeys(1, shard.Refuse), shard.WithClock(new(clock.Manual)))
	count := &metrics.Counter{Limiter: clients}
	by := &store{Limiter: httplimit.Local(clients)}
	who := func(r *http.Request) (string, error) { return r.Header.Get("Who"), nil }
	cost := func(r *http.Request) int {
		n, err := strconv.Atoi(r.Header.Get("Cost"))
		if err != nil {
			t.Error(err)
		}
		return n
	}
	h := httplimit.New(by, who, append(opts, httplimit.WithCost(cost), httplimit.WithObserver(count.Count))...)(http.NotFoundHandler())
	for _, row := range []struct {
		who, cost string
		down      bool
	}{
		{"alice", "2", false}, // allowed
		{"alice", "1", false}, // allowed
		{"alice", "0", false}, // allowed
		{"alice", "1", false}, // denied
		{"bob", "1", false},   // denied, for want of room
		{"alice", "4", false}, // error: above the burst
		{"alice", "-1", false},
		{"", "1", false},     // error: no key
		{"carol", "1", true}, // error: no decision
	} {
		by.down = row.down
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Who", row.who)
		r.Header.Set("Cost", row.cost)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	return count
}
