package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/didip/tollbooth/v7"
	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// newThrottled is a limiter by a clock that stands.
func newThrottled(t *testing.T, keys int, quota throttled.RateQuota) *throttled.GCRARateLimiterCtx {
	t.Helper()
	store, err := memstore.New(keys)
	if err != nil {
		t.Fatal(err)
	}
	store.SetTimeNow(func() time.Time { return epoch })
	l, err := throttled.NewGCRARateLimiterCtx(throttled.WrapStoreWithContext(store), quota)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// granted asks for n tokens.
func granted(t *testing.T, l *throttled.GCRARateLimiterCtx, key string, n int) (bool, throttled.RateLimitResult) {
	t.Helper()
	limited, result, err := l.RateLimitCtx(t.Context(), key, n)
	if err != nil {
		t.Fatal(err)
	}
	return !limited, result
}

func TestThrottledBurst(t *testing.T) {
	theirs := newThrottled(t, 0, throttled.RateQuota{MaxRate: throttled.PerSec(10), MaxBurst: 4})
	ours := shard.New[string](gcra.PerSecond(10).Burst(5), shard.WithClock(new(clock.Manual)))
	for i := range 6 {
		ok, _ := granted(t, theirs, "a", 1)
		if want := i < 5; ok != want || ours.Allow("a") != want {
			t.Errorf("request %d: %v", i, ok)
		}
	}
}

func TestThrottledNegativeCost(t *testing.T) {
	theirs := newThrottled(t, 0, throttled.RateQuota{MaxRate: throttled.PerSec(10), MaxBurst: 4})
	granted(t, theirs, "a", 5)
	granted(t, theirs, "a", -5)
	if ok, _ := granted(t, theirs, "a", 5); !ok {
		t.Error("throttled: a negative quantity paid nothing in")
	}
	ours := shard.New[string](gcra.PerSecond(10).Burst(5), shard.WithClock(new(clock.Manual)))
	ours.Take("a", 5)
	if ours.AllowN("a", -5) || ours.Allow("a") {
		t.Error("weir: a negative cost paid in")
	}
}

func TestThrottledEvicts(t *testing.T) {
	quota := throttled.RateQuota{MaxRate: throttled.PerDay(1), MaxBurst: 4}
	for n, why := range []string{"a look at another key", "another key"} {
		theirs := newThrottled(t, 1, quota)
		granted(t, theirs, "a", 5)
		granted(t, theirs, "b", n)
		if ok, _ := granted(t, theirs, "a", 5); !ok {
			t.Errorf("throttled remembers who used all up in spite of %s", why)
		}
	}
	ours := shard.New[string](gcra.PerDay(1).Burst(5), shard.WithMaxKeys(1, shard.Refuse))
	ours.Take("a", 5)
	ours.Peek("b", 1)
	if ours.Allow("b") || ours.Allow("a") {
		t.Error("weir forgot who used all up, or had room for another")
	}
}

func TestThrottledRetryAfter(t *testing.T) {
	theirs := newThrottled(t, 0, throttled.RateQuota{MaxRate: throttled.PerSec(10), MaxBurst: 4})
	_, passed := granted(t, theirs, "a", 1)
	_, never := granted(t, theirs, "a", 6)
	ours := shard.New[string](gcra.PerSecond(10).Burst(5))
	if passed.RetryAfter != -1 || never.RetryAfter != -1 || ours.Take("a", 1).RetryAfter() != 0 || ours.Take("a", 6).RetryAfter() != gcra.Never {
		t.Errorf("throttled: %v and %v", passed.RetryAfter, never.RetryAfter)
	}
}

func TestThrottledRounding(t *testing.T) {
	theirs := newThrottled(t, 0, throttled.RateQuota{MaxRate: throttled.PerSec(600_000_000), MaxBurst: 999})
	granted(t, theirs, "a", 1000)
	_, result := granted(t, theirs, "a", 1000)
	ours := shard.New[string](gcra.PerSecond(600_000_000).Burst(1000), shard.WithClock(new(clock.Manual)))
	ours.Take("a", 1000)
	if got := ours.Take("a", 1000).RetryAfter(); result.RetryAfter != 1000 || got != 1667 {
		t.Errorf("1000 tokens come back in %v, in weir in %v", result.RetryAfter, got)
	}
}

func TestTollbooth(t *testing.T) {
	served := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	ask := func(h http.Handler, from, forwarded, path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.RemoteAddr = from
		if forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	const ok, limited = http.StatusOK, http.StatusTooManyRequests
	for _, row := range []struct {
		from, forwarded, path string
		code                  int // after one request from 192.0.2.1:1 to /a used all up
		why                   string
	}{
		{"192.0.2.1:1", "", "/a", limited, "the same client"},
		{"192.0.2.1:1", "", "/b", ok, "another path has another bucket"},
		{"192.0.2.1:1", "198.51.100.9", "/a", ok, "whoever sets X-Forwarded-For is another client"},
		{"", "", "/a", ok, "no address is no limit"},
	} {
		h := tollbooth.LimitHandler(tollbooth.NewLimiter(0.001, nil), served)
		ask(h, "192.0.2.1:1", "", "/a")
		w := ask(h, row.from, row.forwarded, row.path)
		if w.Code != row.code {
			t.Errorf("%d, want %d: %s", w.Code, row.code, row.why)
		}
		if reset, retry := w.Header().Get("RateLimit-Reset"), w.Header().Get("Retry-After"); w.Code == limited && (reset != "1" || retry != "") {
			t.Errorf("a token comes in 1000 s, and it says RateLimit-Reset %q, Retry-After %q", reset, retry)
		}
	}
	h := tollbooth.LimitHandler(tollbooth.NewLimiter(0.001, nil), served)
	ask(h, "[::ffff:192.0.2.1]:1", "", "/a")
	if w := ask(h, "[::ffff:198.51.100.9]:1", "", "/a"); w.Code != limited {
		t.Error("IPv4 clients within IPv6 are told apart")
	}
}

func TestRedisRate(t *testing.T) {
	server := miniredis.RunT(t)
	server.SetTime(epoch.AddDate(20, 0, 0))
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	theirs := redis_rate.NewLimiter(client)
	ask := func(key string, n int) *redis_rate.Result {
		t.Helper()
		r, err := theirs.AllowN(t.Context(), key, redis_rate.PerSecond(10), n)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := ask("a", 10); r.Allowed != 10 || r.RetryAfter != -1 {
		t.Errorf("a burst of ten: %+v", r)
	}
	if r := ask("b", 20); r.Allowed != 0 || r.RetryAfter != time.Second {
		t.Errorf("what can never pass: %+v", r)
	}
	ask("a", -9)
	if r := ask("a", 9); r.Allowed != 9 {
		t.Errorf("a negative cost paid nothing in: %+v", r)
	}
	ours := shard.New[string](gcra.PerSecond(10), shard.WithClock(new(clock.Manual)))
	if ours.AllowN("a", 2) || ours.Take("a", 2).RetryAfter() != gcra.Never || !ours.Allow("a") {
		t.Error("weir: a limit without Burst has a burst of 1")
	}
}
