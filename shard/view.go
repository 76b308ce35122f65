package shard

import (
	"context"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
)

// A View is one key of a [Limiter] or of a [Table], for code that knows of no
// keys. It is a comparable value: two views are equal if limiter and key are.
type View[K comparable] struct {
	of  keyed[K]
	key K
}

// keyed is what a view needs of its limiter.
type keyed[K comparable] interface {
	Take(key K, n int) gcra.Decision
	Peek(key K, n int) gcra.Decision
	Debit(key K, n int) gcra.Decision
	WaitN(ctx context.Context, key K, n int) error
	Limit() gcra.Limit

	// reserve makes an owner of its own, if it needs one and is given none.
	reserve(owner gatomic.Debtor, key K, within time.Duration, n int) gatomic.Reservation
	maxWait() time.Duration
}

// Allow reports whether one token was there, and takes it.
func (v View[K]) Allow() bool { return v.of.Take(v.key, 1).OK() }

// Take takes n tokens or none.
func (v View[K]) Take(n int) gcra.Decision { return v.of.Take(v.key, n) }

// Peek tells what Take would decide.
func (v View[K]) Peek(n int) gcra.Decision { return v.of.Peek(v.key, n) }

// Debit takes n tokens that were already used.
func (v View[K]) Debit(n int) gcra.Decision { return v.of.Debit(v.key, n) }

// Reserve books n tokens.
func (v View[K]) Reserve(n int) gatomic.Reservation { return v.ReserveWithin(gcra.Never, n) }

// ReserveWithin books n tokens in a slot that is at most d away.
func (v View[K]) ReserveWithin(d time.Duration, n int) gatomic.Reservation {
	return v.of.reserve(nil, v.key, d, n)
}

// Limit returns the limit in force.
func (v View[K]) Limit() gcra.Limit { return v.of.Limit() }

// Wait waits for one token, as WaitN of the limiter does.
func (v View[K]) Wait(ctx context.Context) error { return v.WaitN(ctx, 1) }

// WaitN waits for n tokens, as WaitN of the limiter does.
func (v View[K]) WaitN(ctx context.Context, n int) error { return v.of.WaitN(ctx, v.key, n) }
