package main

import (
	"context"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/shard"
)

// Go kit needs no adapter: its ratelimit.Allower and Waiter have methods that the
// view of a key has, limiter.For(key).

// A throttle is a flowcontrol.RateLimiter of client-go, for a rest.Config: the
// bucket of one key, such as an API server's address. Wait is the view's.
type throttle struct{ shard.View[string] }

func (t throttle) TryAccept() bool { return t.Allow() }

// Accept has no context and returns no error, so it has to wait for as long as
// it takes: also where a Wait is refused, as WithMaxWait does, and WithMaxKeys
// for want of room. When there will be room nobody knows, and Peek, which does
// not look for it, says at once: so it looks again every few milliseconds.
func (t throttle) Accept() {
	for t.Wait(context.Background()) != nil {
		time.Sleep(min(max(t.Peek(1).RetryAfter(), 5*time.Millisecond), time.Minute))
	}
}

func (t throttle) QPS() float32 {
	n, period := t.Limit().Rate()
	return float32(float64(n) / period.Seconds())
}

// Stop does nothing: a limiter has nothing that runs.
func (throttle) Stop() {}

// A requeue is a workqueue.TypedRateLimiter of client-go: a bucket for each item,
// so that one that fails all the time does not hold the others up. Combine it
// with a backoff by workqueue.NewTypedMaxOfRateLimiter.
type requeue[T comparable] struct{ items *shard.Limiter[T] }

// When books the item's next slot.
func (q requeue[T]) When(item T) time.Duration {
	r := q.items.Reserve(item, 1)
	return when(&r)
}

// when is the time until the slot. A queue cannot be told no: an item that was
// refused one, as where nothing refills, comes back in an hour at the latest.
func when(r *gatomic.Reservation) time.Duration {
	if !r.OK() {
		return min(r.Delay(), time.Hour)
	}
	return r.Delay()
}

// Forget does nothing. The limiter forgets the item when its bucket is full;
// until then it has used what it has used, whether it succeeded or not.
func (requeue[T]) Forget(T) {}

// NumRequeues is 0: failures are not counted here.
func (requeue[T]) NumRequeues(T) int { return 0 }

// A bucket is requeue for all items together, as TypedBucketRateLimiter of
// client-go is over a limiter of golang.org/x/time/rate.
type bucket[T comparable] struct{ all *gatomic.Limiter }

func (b bucket[T]) When(T) time.Duration {
	r := b.all.Reserve(1)
	return when(&r)
}

func (bucket[T]) Forget(T) {}

func (bucket[T]) NumRequeues(T) int { return 0 }
