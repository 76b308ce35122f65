package main

import (
	"context"
	"sync/atomic"
	"time"

	tollbooth "github.com/didip/tollbooth/v7/limiter"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"go.uber.org/ratelimit"
)

// must is for errors of configurations that stand in this file.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// openMemorystore refills at whole intervals of the time in which a bucket
// fills. The map starts at its default size.
func openMemorystore(l limit, _ int) instance[string] {
	store := must(memorystore.New(&memorystore.Config{Tokens: uint64(l.burst), Interval: l.fillTime()}))
	ctx := context.Background()
	return instance[string]{
		allow: func(key string) bool {
			_, _, _, ok, err := store.Take(ctx, key)
			return ok && err == nil
		},
		drain: func(key string) { store.Set(ctx, key, 0, l.fillTime()) },
		close: func() { store.Close(ctx) },
	}
}

// openThrottled uses the store without a bound, and lets a request try as
// often as it has to: by default it fails after ten lost races.
func openThrottled(l limit, _ int) instance[string] {
	store := must(memstore.NewCtx(0))
	limiter := must(throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{
		MaxRate:  throttled.PerDuration(l.n, l.per),
		MaxBurst: l.burst - 1, // beside the first
	}))
	limiter.SetMaxCASAttemptsLimit(1 << 30)
	ctx := context.Background()
	return instance[string]{
		allow: func(key string) bool {
			limited, _, err := limiter.RateLimitCtx(ctx, key, 1)
			return !limited && err == nil
		},
		drain: func(key string) {
			_, peek, _ := limiter.RateLimitCtx(ctx, key, 0)
			limiter.RateLimitCtx(ctx, key, peek.Remaining)
		},
	}
}

// openUlule counts in windows of the time in which a bucket fills. It is not
// made to clean up, which is in its favour: that looks at every key every 30
// seconds.
func openUlule(l limit, _ int) instance[string] {
	store := memory.NewStoreWithOptions(ulule.StoreOptions{Prefix: ulule.DefaultPrefix})
	limiter := ulule.New(store, ulule.Rate{Period: l.fillTime(), Limit: int64(l.burst)})
	ctx := context.Background()
	return instance[string]{
		allow: func(key string) bool {
			c, err := limiter.Get(ctx, key)
			return !c.Reached && err == nil
		},
		drain: func(key string) { limiter.Increment(ctx, key, int64(l.burst)) },
	}
}

// openTollbooth asks the part of it that is behind its HTTP handler.
func openTollbooth(l limit, _ int) instance[string] {
	limiter := tollbooth.New(nil).SetMax(float64(l.n) / l.per.Seconds()).SetBurst(l.burst)
	return instance[string]{allow: func(key string) bool { return !limiter.LimitReached(key) }}
}

// openUber times Take, all that the library has. It knows no burst, so it gets
// the highest rate that it can express, a token a nanosecond, with a second's
// worth of slack: with the default of ten tokens a goroutine that was held up
// for as many nanoseconds sleeps. From then on it counts as refused.
func openUber(limit, int) instance[string] {
	var clk sleepless
	limiter := ratelimit.New(int(time.Second), ratelimit.WithSlack(int(time.Second)), ratelimit.WithClock(&clk))
	return instance[string]{allow: func(string) bool {
		limiter.Take()
		return !clk.slept.Load()
	}}
}

// A sleepless is the library's own clock that remembers if it was slept on.
type sleepless struct{ slept atomic.Bool }

func (*sleepless) Now() time.Time { return time.Now() }

func (s *sleepless) Sleep(d time.Duration) {
	s.slept.Store(true)
	time.Sleep(d)
}
