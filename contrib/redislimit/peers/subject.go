package main

import (
	"context"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	goredisstore "github.com/throttled/throttled/v2/store/goredisstore.v9"

	"github.com/weir-go/weir/contrib/redislimit"
	"github.com/weir-go/weir/gcra"
)

// A take asks for n tokens of a key.
type take func(ctx context.Context, key string, n int) (ok bool, err error)

// A subject is one library. Its take is made for a limit of n tokens per period,
// and a burst.
type subject struct {
	name string
	make func(client *redis.Client, n int, period time.Duration, burst int) (take, error)
	// asking, if it is not nil, is make for a take that asks the server each time.
	asking func(client *redis.Client, n int, period time.Duration, burst int) (take, error)
}

func newWeir(client *redis.Client, n int, period time.Duration, burst int) (*redislimit.Limiter, error) {
	return redislimit.New(client, gcra.Per(n, period).Burst(burst), redislimit.Closed(), redislimit.WithTimeout(10*time.Second))
}

var subjects = []subject{
	{"weir redislimit", func(client *redis.Client, n int, period time.Duration, burst int) (take, error) {
		l, err := newWeir(client, n, period, burst)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, key string, n int) (bool, error) {
			d, err := l.Take(ctx, key, n)
			return d.OK(), err
		}, nil
	}, func(client *redis.Client, n int, period time.Duration, burst int) (take, error) {
		// A refusal is remembered by this process' clock, which knows nothing of
		// a time that is set. Who may give back always asks.
		l, err := newWeir(client, n, period, burst)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, key string, n int) (bool, error) {
			r, err := l.ReserveWithin(ctx, key, 0, n)
			return r.OK(), err
		}, nil
	}},
	{"redis_rate v10.0.1", func(client *redis.Client, n int, period time.Duration, burst int) (take, error) {
		l, limit := redis_rate.NewLimiter(client), redis_rate.Limit{Rate: n, Period: period, Burst: burst}
		return func(ctx context.Context, key string, n int) (bool, error) {
			r, err := l.AllowN(ctx, key, limit, n)
			return err == nil && r.Allowed > 0, err
		}, nil
	}, nil},
	{"throttled v2.15.0", func(client *redis.Client, n int, period time.Duration, burst int) (take, error) {
		store, err := goredisstore.NewCtx(client, "throttled:")
		if err != nil {
			return nil, err
		}
		l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerDuration(n, period), MaxBurst: burst - 1})
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, key string, n int) (bool, error) {
			limited, _, err := l.RateLimitCtx(ctx, key, n)
			return err == nil && !limited, err
		}, nil
	}, nil},
}
