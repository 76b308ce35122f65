package shard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
)

// A waiter is what all five that wait have in common.
type waiter interface {
	WaitN(ctx context.Context, n int) error
	Take(n int) gcra.Decision
	Peek(n int) gcra.Decision
}

// waiterOf makes a limiter's or table's key one.
type waiterOf struct {
	wait       func(context.Context, string, int) error
	take, peek func(string, int) gcra.Decision
}

func (w waiterOf) WaitN(ctx context.Context, n int) error { return w.wait(ctx, "key", n) }
func (w waiterOf) Take(n int) gcra.Decision               { return w.take("key", n) }
func (w waiterOf) Peek(n int) gcra.Decision               { return w.peek("key", n) }

func waiters() map[string]func(gcra.Limit) waiter {
	return map[string]func(gcra.Limit) waiter{
		"atomic.Limiter": func(limit gcra.Limit) waiter { return gatomic.NewLimiter(limit) },
		"Limiter": func(limit gcra.Limit) waiter {
			l := New[string](limit)
			return waiterOf{l.WaitN, l.Take, l.Peek}
		},
		"Table": func(limit gcra.Limit) waiter {
			l := NewTable[string](limit, 10)
			return waiterOf{l.WaitN, l.Take, l.Peek}
		},
		"View of a Limiter": func(limit gcra.Limit) waiter { return New[string](limit).For("key") },
		"View of a Table":   func(limit gcra.Limit) waiter { return NewTable[string](limit, 10).For("key") },
		"Joint": func(limit gcra.Limit) waiter {
			return Join(gatomic.NewLimiter(limit), New[string](limit).For("key"), NewTable[string](limit, 10).For("key"))
		},
	}
}

var errCause = errors.New("a cause")

// endings are contexts. Where nothing is granted, the wait ends after that long.
var endings = []struct {
	text    string
	context func(parent context.Context) (context.Context, func())
	want    error
	after   time.Duration
}{
	{"done already", func(p context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancel(p)
		cancel()
		return ctx, cancel
	}, context.Canceled, 0},
	{"done already, with a cause", func(p context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(p)
		cancel(errCause)
		return ctx, func() {}
	}, context.Canceled, 0},
	{"the deadline has passed", deadline(-1), context.DeadlineExceeded, 0},
	{"the deadline is now", deadline(0), context.DeadlineExceeded, 0},
	{"the deadline is a nanosecond before the slot", deadline(time.Second - 1), context.DeadlineExceeded, 0},
	{"the deadline is the slot", deadline(time.Second), nil, time.Second},
	{"the deadline is a nanosecond after it", deadline(time.Second + 1), nil, time.Second},
	{"cancelled half way", cancelled(time.Second / 2), context.Canceled, time.Second / 2},
	{"cancelled at once", cancelled(1), context.Canceled, 1},
	{"cancelled a nanosecond before the slot", cancelled(time.Second - 1), context.Canceled, time.Second - 1},
	{"cancelled at the slot", cancelled(time.Second), nil, time.Second},
	{"cancelled after it", cancelled(time.Second + 1), nil, time.Second},
	{"never ends", func(p context.Context) (context.Context, func()) { return p, func() {} }, nil, time.Second},
}

func deadline(after time.Duration) func(context.Context) (context.Context, func()) {
	return func(p context.Context) (context.Context, func()) {
		ctx, cancel := context.WithDeadline(p, time.Now().Add(after))
		return ctx, cancel
	}
}

func cancelled(after time.Duration) func(context.Context) (context.Context, func()) {
	return func(p context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(p)
		timer := time.AfterFunc(after, func() { cancel(errCause) })
		return ctx, func() { timer.Stop(); cancel(nil) }
	}
}

// TestContexts waits for a token that comes in a second, with every context, of
// keys that are there and of new ones. Nothing is taken where nothing is granted:
// the next token is there as soon as if nobody had waited.
func TestContexts(t *testing.T) {
	const burst = 3
	limit := gcra.PerSecond(1).Burst(burst)
	for name, open := range waiters() {
		for _, row := range endings {
			for _, start := range []string{"new", "drained"} {
				synctest.Test(t, func(t *testing.T) {
					var w waiter
					if start == "new" {
						w = open(limit.Start(0))
					} else if w = open(limit); !w.Take(burst).OK() {
						t.Fatal("it is not full")
					}
					ctx, stop := row.context(t.Context())
					defer stop()
					begin := time.Now()
					err := w.WaitN(ctx, 1)
					took := time.Since(begin)
					if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) || took != row.after || errors.Is(err, errCause) {
						t.Errorf("%s, %s, %s: %v after %v, want %v after %v", name, start, row.text, err, took, row.want, row.after)
					}
					// What is left, now and when the next token comes.
					next := time.Second - took
					if err == nil {
						next = time.Second
					}
					if d := w.Peek(1); d.RetryAfter() != next || d.Remaining() != 0 {
						t.Errorf("%s, %s, %s: then %d tokens are left, and one comes in %v, want none and %v", name, start, row.text, d.Remaining(), d.RetryAfter(), next)
					}
				})
			}
		}
	}
}

// TestContextsThatAreDone: they take no token that is there, nor one of no cost,
// and are told before what is wrong with the cost.
func TestContextsThatAreDone(t *testing.T) {
	const burst = 3
	for name, open := range waiters() {
		for _, row := range endings[:4] {
			for _, n := range []int{1, burst, 0, burst + 1, -1} {
				synctest.Test(t, func(t *testing.T) {
					w := open(gcra.PerSecond(1).Burst(burst))
					ctx, stop := row.context(t.Context())
					defer stop()
					begin := time.Now()
					if err := w.WaitN(ctx, n); !errors.Is(err, row.want) || time.Since(begin) != 0 {
						t.Errorf("%s, %s, %d tokens: %v after %v, want %v at once", name, row.text, n, err, time.Since(begin), row.want)
					}
					if left := w.Peek(0).Remaining(); left != burst {
						t.Errorf("%s, %s: %d of %d tokens are left", name, row.text, left, burst)
					}
				})
			}
		}
	}
}
