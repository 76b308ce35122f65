package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	goredisstore "github.com/throttled/throttled/v2/store/goredisstore.v9"

	"github.com/weir-go/weir/contrib/redislimit"
)

// timed is the limit of all cases: it refills a token in 36 seconds, so that what
// is granted depends on the requests alone. Every key has half of its burst left
// when it is first timed.
var timed = limit{100, time.Hour, 1_000_000}

// A mix is what becomes of the requests of a case.
type mix string

const (
	granted mix = "granted" // each asks for one token
	refused mix = "refused" // each asks for the whole burst, which is not there
	half    mix = "half"    // by turns
)

// cost is that of a goroutine's n-th request.
func (m mix) cost(n int) int {
	if m == refused || m == half && n%2 == 1 {
		return timed.burst
	}
	return 1
}

// A subject asks for cost tokens of the key with that number.
type subject struct {
	name string
	of   string // whose keys it shares
	open func(c *redis.Client, keys []string) (asker, error)

	mixes []mix
	floor bool // it decides nothing
}

type asker func(ctx context.Context, key, cost int) (granted bool, err error)

const (
	remembers = "weir, remembers"
	ping      = "PING"
	incr      = "INCR"
)

// errGaveUp is of throttled when ten others in a row were faster.
var errGaveUp = errors.New("gave up")

func subjects() []subject {
	all := []mix{granted, refused, half}
	return []subject{
		{weir, weir, asksWeir, all, false},
		{remembers, weir, remembersWeir, []mix{refused, half}, false},
		{redisRate, redisRate, asksRedisRate, all, false},
		{throttle, throttle, asksThrottled, all, false},
		{ping, ping, asksPing, []mix{granted}, true},
		{incr, incr, asksIncr, []mix{granted}, true},
	}
}

// asksWeir asks Redis each time, also where it would remember a refusal.
func asksWeir(c *redis.Client, keys []string) (asker, error) {
	return weirAsker(c, keys, redislimit.WithMemory(0))
}

// remembersWeir is the limiter as it is.
func remembersWeir(c *redis.Client, keys []string) (asker, error) { return weirAsker(c, keys) }

func weirAsker(c *redis.Client, keys []string, more ...redislimit.Option) (asker, error) {
	l, err := redislimit.New(c, timed.weir(), redislimit.Closed(), append(more, redislimit.WithTimeout(patience))...)
	return func(ctx context.Context, key, cost int) (bool, error) {
		d, err := l.Take(ctx, keys[key], cost)
		return d.OK(), err
	}, err
}

func asksRedisRate(c *redis.Client, keys []string) (asker, error) {
	l, of := redis_rate.NewLimiter(c), redis_rate.Limit{Rate: timed.n, Burst: timed.burst, Period: timed.period}
	return func(ctx context.Context, key, cost int) (bool, error) {
		r, err := l.AllowN(ctx, keys[key], of, cost)
		return err == nil && r.Allowed > 0, err
	}, nil
}

func asksThrottled(c *redis.Client, keys []string) (asker, error) {
	store, err := goredisstore.NewCtx(c, "throttled:")
	if err != nil {
		return nil, err
	}
	l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{
		MaxRate: throttled.PerDuration(timed.n, timed.period), MaxBurst: timed.burst - 1})
	return func(ctx context.Context, key, cost int) (bool, error) {
		limited, _, err := l.RateLimitCtx(ctx, keys[key], cost)
		if err != nil && casFailed(err) {
			err = errGaveUp
		}
		return !limited, err
	}, err
}

// asksPing is the floor: a round trip that does nothing.
func asksPing(c *redis.Client, _ []string) (asker, error) {
	return func(ctx context.Context, _, _ int) (bool, error) { return true, c.Ping(ctx).Err() }, nil
}

// asksIncr is the floor of one that writes.
func asksIncr(c *redis.Client, keys []string) (asker, error) {
	return func(ctx context.Context, key, _ int) (bool, error) {
		return true, c.Incr(ctx, "incr:"+keys[key]).Err()
	}, nil
}

// A keyset is keys that the cases ask about, and who asks.
type keyset struct {
	name   string
	keys   []string
	askers map[string]asker // by subject
	filled map[string]bool  // by whose keys they are
}

func newKeyset(c *redis.Client, name string, n int, subjects []subject) (*keyset, error) {
	k := &keyset{name, make([]string, n), make(map[string]asker), make(map[string]bool)}
	for i := range k.keys {
		k.keys[i] = name + "/user-" + strconv.Itoa(i)
	}
	for _, s := range subjects {
		var err error
		if k.askers[s.name], err = s.open(c, k.keys); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return k, nil
}

// fill asks once about every key of the subject, for half of what it has: then all
// are there, and nobody is ever full.
func (k *keyset) fill(ctx context.Context, s subject) error {
	if k.filled[s.of] {
		return nil
	}
	k.filled[s.of] = true
	const goroutines = 32
	var next atomic.Int64
	return together(goroutines, func(int) error {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(k.keys) {
				return nil
			}
			ok, err := k.askers[s.name](ctx, i, timed.burst/2)
			if err == nil && !ok {
				err = errors.New("a key never seen refused")
			}
			if err != nil {
				return fmt.Errorf("%s: filling: %w", s.name, err)
			}
		}
	})
}
