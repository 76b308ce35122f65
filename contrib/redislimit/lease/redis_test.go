package lease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/contrib/redislimit"
	"github.com/weir-go/weir/contrib/redislimit/lease"
	"github.com/weir-go/weir/gcra"
)

// TestRedis takes leases of an embedded server.
func TestRedis(t *testing.T) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	limit := gcra.PerDay(1).Burst(100)
	of, err := redislimit.New(client, limit, redislimit.Closed(), redislimit.WithTimeout(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	left := func(key string) int {
		t.Helper()
		d, err := of.Peek(t.Context(), key, 0)
		if err != nil {
			t.Fatal(err)
		}
		return d.Remaining()
	}
	var clk clock.Manual
	l := newLimiter(t, lease.Redis(of), lease.WithClock(&clk), lease.WithFirstBlock(10))
	for i, row := range []struct {
		n, left   int
		remaining int
		err       error
		why       string
	}{
		{1, 90, 99, nil, "a block"},
		{9, 90, 90, nil, "all that is left of it"},
		{3, 78, 87, nil, "three, and nine: a block of twelve is the most"},
		{30, 57, 57, nil, "nine that are left, and 21"},
		{57, 0, 0, nil, "all"},
		{1, 0, 0, gcra.ErrLimited, "none"},
		{0, 0, 0, nil, "nothing"},
		{-1, 0, 0, gcra.ErrCost, "less"},
		{101, 0, 0, gcra.ErrExceedsBurst, "too many"},
	} {
		d := take(t, l, "k", row.n)
		if d.Err() != row.err || d.Remaining() != row.remaining || left("k") != row.left {
			t.Errorf("row %d (%s): %v, remaining %d, %d left at the server; want %v, %d, %d", i, row.why, d.Err(), d.Remaining(), left("k"), row.err, row.remaining, row.left)
		}
	}

	// Not a block, but what is asked for.
	if _, err := of.Take(t.Context(), "few", 95); err != nil {
		t.Fatal(err)
	}
	if d := take(t, l, "few", 2); !d.OK() || left("few") != 3 {
		t.Errorf("two of five: %v, %d left", d.Err(), left("few"))
	}
	if d := take(t, l, "few", 4); d.Err() != gcra.ErrLimited || left("few") != 3 {
		t.Errorf("four of three: %v, %d left", d.Err(), left("few"))
	}

	// What is leased outlives the server, and comes back when it does.
	take(t, l, "held", 1)
	server.Close()
	if d := take(t, l, "held", 1); !d.OK() {
		t.Error("what is leased is refused while the server is away")
	}
	if d, err := l.Take(t.Context(), "new", 1); d.OK() || !errors.Is(err, redislimit.ErrUnavailable) {
		t.Errorf("without a server: %v, %v", d.OK(), err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.Now().Add(30 * time.Second)
	for client.Ping(t.Context()).Err() != nil || func() bool { _, err := of.Peek(t.Context(), "held", 0); return err != nil }() {
		if time.Now().After(watchdog) {
			t.Fatal("the server does not answer again")
		}
	}
	if left("held") != 90 {
		t.Errorf("%d left at the server, want 90", left("held"))
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left("held") != 98 {
		t.Errorf("%d left at the server after Close, want 98: eight came back", left("held"))
	}
}

func Example() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()

	shared, err := redislimit.New(client, gcra.PerHour(100).Burst(1000), redislimit.Closed(), redislimit.WithTimeout(10*time.Second))
	if err != nil {
		panic(err)
	}
	limiter, err := lease.New(lease.Redis(shared), lease.WithLifetime(time.Minute))
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	granted := 0
	for range 900 {
		if limiter.Allow(ctx, "tenant") {
			granted++
		}
	}
	fmt.Println(granted, "granted by", limiter.Stats().Asked, "questions")

	left, _ := shared.Peek(ctx, "tenant", 0)
	fmt.Println(left.Remaining(), "left at the server")
	if err := limiter.Close(ctx); err != nil {
		panic(err)
	}
	left, _ = shared.Peek(ctx, "tenant", 0)
	fmt.Println(left.Remaining(), "left after Close")
	// Output:
	// 900 granted by 14 questions
	// 0 left at the server
	// 100 left after Close
}
