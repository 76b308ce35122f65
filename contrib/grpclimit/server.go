package grpclimit

import (
	"context"

	"google.golang.org/grpc"
)

// UnaryServer returns an interceptor that charges each unary call to the key
// that the function returns for its context and full method. It allocates
// nothing for a call that passes.
func UnaryServer[K comparable](l Limiter[K], key func(ctx context.Context, method string) (K, error), opts ...Option) grpc.UnaryServerInterceptor {
	g := newGate(l, key, opts)
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if err := g.serve(ctx, info.FullMethod, req); err != nil {
			return nil, err
		}
		return handler(ctx, req)
	}
}

// serve charges a whole call to a server.
func (g *gate[K]) serve(ctx context.Context, method string, req any) error {
	key, ok, err := g.whom(ctx, method)
	if !ok {
		return err
	}
	r, err := g.take(ctx, method, key, req)
	if r != nil {
		// It fails where there is no stream: in a test that calls the
		// interceptor itself.
		_ = grpc.SetTrailer(ctx, g.pushback(ctx, r, true))
	}
	return err
}

// StreamServer returns an interceptor that charges each opening of a stream, or
// with [WithMessages] each message that the server receives. The key is asked
// for once a stream.
func StreamServer[K comparable](l Limiter[K], key func(ctx context.Context, method string) (K, error), opts ...Option) grpc.StreamServerInterceptor {
	g := newGate(l, key, opts)
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		ctx := stream.Context()
		if !g.messages {
			if err := g.serve(ctx, info.FullMethod, nil); err != nil {
				return err
			}
			return handler(srv, stream)
		}
		key, ok, err := g.whom(ctx, info.FullMethod)
		if err != nil {
			return err
		}
		if ok {
			stream = &serverStream[K]{ServerStream: stream, gate: g, method: info.FullMethod, key: key}
		}
		return handler(srv, stream)
	}
}

// A serverStream charges what it receives. Only one goroutine at a time may
// receive, so what belongs to that needs no lock.
type serverStream[K comparable] struct {
	grpc.ServerStream
	gate    *gate[K]
	method  string
	key     K
	charged bool
	err     error // of the message that was refused
}

// RecvMsg receives a message and charges it.
func (s *serverStream[K]) RecvMsg(m any) error {
	if s.err != nil {
		return s.err
	}
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	ctx := s.Context()
	r, err := s.gate.take(ctx, s.method, s.key, m)
	if r != nil {
		s.SetTrailer(s.gate.pushback(ctx, r, !s.charged))
	}
	s.charged, s.err = true, err
	return err
}
