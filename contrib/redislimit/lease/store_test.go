package lease_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/contrib/redislimit/lease"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A bucket is a store in this process. What stands in its hooks happens while it is
// asked.
type bucket struct {
	of *shard.Limiter[string]

	before, after func()
	fail          func(ctx context.Context) error
	lent          func(key string, tokens int)
	back          func(key string, tokens int)
	asked         int
}

func newBucket(limit gcra.Limit, clk clock.Clock) *bucket {
	return &bucket{of: shard.New[string](limit, shard.WithClock(clk))}
}

func (b *bucket) Limit() gcra.Limit { return b.of.Limit() }

func (b *bucket) Lend(ctx context.Context, key string, least, most int) (lease.Loan, error) {
	b.asked++
	if b.before != nil {
		b.before()
	}
	if b.after != nil {
		defer b.after()
	}
	if b.fail != nil {
		if err := b.fail(ctx); err != nil {
			return lease.Loan{Decision: b.of.Peek(key, b.Limit().Capacity())}, err
		}
	}
	// One after the other in these tests, so nobody takes tokens in between.
	n := max(least, min(most, b.of.Peek(key, 0).Remaining()))
	r := b.of.ReserveWithin(key, 0, n)
	if r.OK() && b.lent != nil {
		b.lent(key, n)
	}
	return lease.Loan{Decision: r.Decision(), Settle: func(_ context.Context, used int) error {
		if b.back != nil {
			b.back(key, n-used)
		}
		r.Settle(used)
		return nil
	}}, nil
}

func newLimiter(t *testing.T, store lease.Store, opts ...lease.Option) *lease.Limiter {
	t.Helper()
	l, err := lease.New(store, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// take takes n tokens where no error can come.
func take(t *testing.T, l *lease.Limiter, key string, n int) gcra.Decision {
	t.Helper()
	d, err := l.Take(t.Context(), key, n)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const second = time.Second

func TestMain(m *testing.M) {
	if socket := os.Getenv(spenderSocket); socket != "" {
		if err := spend(socket); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}
