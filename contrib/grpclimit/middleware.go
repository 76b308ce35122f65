package grpclimit

import (
	"context"

	"google.golang.org/grpc"
)

// A MiddlewareLimiter is what the interceptors of go-grpc-middleware's package
// ratelimit ask.
type MiddlewareLimiter interface {
	Limit(ctx context.Context) error
}

// Middleware returns a limiter for those interceptors, for servers that have
// them already:
//
//	ratelimit.UnaryServerInterceptor(grpclimit.Middleware(limit, grpclimit.PeerPrefix))
//
// They make ResourceExhausted of every error, with its text and without
// details, and do not tell the limiter the message: the message that WithCost
// is given is nil. The pushback is sent. It is not for their client interceptors,
// in which it does not know the method and would, in a handler, send a pushback
// to the caller of that. It panics if given [WithMessages].
func Middleware[K comparable](l Limiter[K], key func(ctx context.Context, method string) (K, error), opts ...Option) MiddlewareLimiter {
	g := newGate(l, key, opts)
	if g.messages {
		panic("weir: grpclimit: Middleware sees no messages")
	}
	return middleware[K]{g}
}

type middleware[K comparable] struct{ *gate[K] }

func (m middleware[K]) Limit(ctx context.Context) error {
	method, _ := grpc.Method(ctx)
	return m.serve(ctx, method, nil)
}
