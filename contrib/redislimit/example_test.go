package redislimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/contrib/redislimit"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/httplimit"
)

// Redis runs in this process here, so that the examples need none.
func newRedis() (client *redis.Client, end func()) {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	client = redis.NewClient(&redis.Options{Addr: server.Addr()})
	return client, func() {
		client.Close()
		server.Close()
	}
}

func Example() {
	client, end := newRedis()
	defer end()
	limiter, err := redislimit.New(client, gcra.PerHour(6).Burst(3), redislimit.Closed())
	if err != nil {
		panic(err)
	}
	for range 4 {
		d, err := limiter.Take(context.Background(), "alice", 1)
		if err != nil {
			panic(err)
		}
		fmt.Println(d.OK(), d.Remaining(), d.RetryAfter().Round(1e9))
	}
	// Output:
	// true 2 0s
	// true 1 0s
	// true 0 0s
	// false 0 10m0s
}

// Middleware that limits all processes of a service together.
func Example_http() {
	client, end := newRedis()
	defer end()
	limiter, err := redislimit.New(client, gcra.PerHour(1).Burst(2), redislimit.Local(1, 4))
	if err != nil {
		panic(err)
	}
	account := func(r *http.Request) (string, error) { return r.Header.Get("Account"), nil }
	handler := httplimit.New(limiter, account)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "served")
	}))
	for range 3 {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Account", "alice")
		handler.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 200
	// 429
}

// Two limits of one user, decided together: all or none.
func ExampleJoin() {
	client, end := newRedis()
	defer end()
	second, err := redislimit.New(client, gcra.PerSecond(10).Burst(10), redislimit.Closed(), redislimit.WithPrefix("second:"))
	if err != nil {
		panic(err)
	}
	day, err := redislimit.New(client, gcra.PerDay(3).Burst(3), redislimit.Closed(), redislimit.WithPrefix("day:"))
	if err != nil {
		panic(err)
	}
	joint, err := redislimit.Join(second.For("{alice}"), day.For("{alice}")) // braces: one hash slot
	if err != nil {
		panic(err)
	}
	for range 4 {
		d, err := joint.Take(context.Background(), 1)
		if err != nil {
			panic(err)
		}
		fmt.Println(d.OK(), d.Limit())
	}
	// Output:
	// true 3/d burst 3
	// true 3/d burst 3
	// true 3/d burst 3
	// false 3/d burst 3
}

// What is used is known only when the work is done.
func ExampleLimiter_Reserve() {
	client, end := newRedis()
	defer end()
	limiter, err := redislimit.New(client, gcra.PerHour(10).Burst(100), redislimit.Closed())
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	r, err := limiter.Reserve(ctx, "alice", 60)
	if err != nil || !r.OK() {
		panic(errors.Join(err, r.Err()))
	}
	if err := r.Settle(ctx, 25); err != nil {
		panic(err)
	}
	d, err := limiter.Peek(ctx, "alice", 0)
	fmt.Println(d.Remaining(), err)
	// Output: 75 <nil>
}
