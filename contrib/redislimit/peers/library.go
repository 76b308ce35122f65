package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	goredisstore "github.com/throttled/throttled/v2/store/goredisstore.v9"

	"github.com/weir-go/weir/contrib/redislimit"
	"github.com/weir-go/weir/gcra"
)

// A limit is one that every library can be told: so many tokens a period, and a
// burst.
type limit struct {
	n      int
	period time.Duration
	burst  int
}

func (l limit) String() string { return l.weir().String() }

func (l limit) weir() gcra.Limit { return gcra.Per(l.n, l.period).Burst(l.burst) }

// An answer is what a library says to one request.
type answer struct {
	granted   bool
	remaining int
	retry     time.Duration // of a refusal
}

// A taker asks for cost tokens of a key, and asks Redis each time.
type taker func(ctx context.Context, key string, cost int) (answer, error)

// A library is one of those that are compared.
type library struct {
	name string
	open func(*redis.Client, limit) (taker, error)
}

const (
	weir      = "weir"
	redisRate = "redis_rate"
	throttle  = "throttled"
)

// patience is the time-out of weir and of the client: on a machine that other work
// shares no request is to fail for being late.
const patience = time.Minute

func libraries() []library {
	return []library{{weir, openWeir}, {redisRate, openRedisRate}, {throttle, openThrottled}}
}

// openWeir makes a limiter that remembers no refusal: one that does would answer
// some by itself, by this process' clock.
func openWeir(c *redis.Client, l limit) (taker, error) {
	limiter, err := redislimit.New(c, l.weir(), redislimit.Closed(), redislimit.WithTimeout(patience), redislimit.WithMemory(0))
	return func(ctx context.Context, key string, cost int) (answer, error) {
		d, err := limiter.Take(ctx, key, cost)
		return answer{d.OK(), d.Remaining(), d.RetryAfter()}, err
	}, err
}

func openRedisRate(c *redis.Client, l limit) (taker, error) {
	limiter, of := redis_rate.NewLimiter(c), redis_rate.Limit{Rate: l.n, Burst: l.burst, Period: l.period}
	return func(ctx context.Context, key string, cost int) (answer, error) {
		r, err := limiter.AllowN(ctx, key, of, cost)
		if err != nil {
			return answer{}, err
		}
		if r.Allowed != 0 && r.Allowed != cost {
			return answer{}, fmt.Errorf("%d of %d tokens were allowed", r.Allowed, cost)
		}
		return answer{r.Allowed > 0, r.Remaining, r.RetryAfter}, nil
	}, nil
}

// openThrottled tells it a burst less one: its MaxBurst is what may come beyond
// the first.
func openThrottled(c *redis.Client, l limit) (taker, error) {
	store, err := goredisstore.NewCtx(c, "throttled:")
	if err != nil {
		return nil, err
	}
	limiter, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{
		MaxRate: throttled.PerDuration(l.n, l.period), MaxBurst: l.burst - 1})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, key string, cost int) (answer, error) {
		limited, r, err := limiter.RateLimitCtx(ctx, key, cost)
		return answer{!limited, r.Remaining, r.RetryAfter}, err
	}, nil
}
