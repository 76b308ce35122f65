package grpclimit

import (
	"context"

	"github.com/weir-go/weir/gcra"
)

// A Limiter decides on a request of n tokens by the key. An error says that it
// could not decide, as when a server that holds the balances does not answer.
// It has to be safe for concurrent use.
type Limiter[K comparable] interface {
	Decide(ctx context.Context, key K, n int) (gcra.Decision, error)
}

// A Func is a Limiter. It can make what decides from the key, such as a joint of
// several limits:
//
//	grpclimit.Func[user](func(ctx context.Context, u user, n int) (gcra.Decision, error) {
//		return shard.Join(plans[u.plan].For(u.id), everyone).Take(n), nil
//	})
type Func[K comparable] func(ctx context.Context, key K, n int) (gcra.Decision, error)

// Decide calls f.
func (f Func[K]) Decide(ctx context.Context, key K, n int) (gcra.Decision, error) {
	return f(ctx, key, n)
}

// A Taker decides at once: a Limiter or a Table of package shard.
type Taker[K comparable] interface {
	Take(key K, n int) gcra.Decision
}

// Local returns the Limiter of a Taker. It allocates nothing for a decision.
func Local[K comparable](t Taker[K]) Limiter[K] {
	if t == nil {
		panic("weir: grpclimit: Local of nil")
	}
	return local[K]{t}
}

type local[K comparable] struct{ t Taker[K] }

func (l local[K]) Decide(_ context.Context, key K, n int) (gcra.Decision, error) {
	return l.t.Take(key, n), nil
}

// A Waiter waits until n tokens are there: a Limiter or a Table of package
// shard.
type Waiter[K comparable] interface {
	WaitN(ctx context.Context, key K, n int) error
}

// Waiting returns a Limiter that refuses a request only when its Waiter does:
// because the slot is after the deadline of the call or further away than
// WithMaxWait, or because the cost can never pass. It paces a client, and holds
// the callers of a server back. In a server bound it by WithMaxWait: each call
// that waits has a goroutine and its message in memory.
func Waiting[K comparable](w Waiter[K]) Limiter[K] {
	if w == nil {
		panic("weir: grpclimit: Waiting of nil")
	}
	return waiting[K]{w}
}

type waiting[K comparable] struct{ w Waiter[K] }

func (l waiting[K]) Decide(ctx context.Context, key K, n int) (gcra.Decision, error) {
	return gcra.Decision{}, l.w.WaitN(ctx, key, n)
}
