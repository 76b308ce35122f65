package grpclimit

import (
	"context"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// UnaryClient returns an interceptor that charges each unary call, before it is
// sent, to the key that the function returns for its context and full method. A
// call that is refused is not sent, and its error is a [*Refusal].
func UnaryClient[K comparable](l Limiter[K], key func(ctx context.Context, method string) (K, error), opts ...Option) grpc.UnaryClientInterceptor {
	g := newGate(l, key, opts)
	return func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if err := g.send(ctx, method, req); err != nil {
			return err
		}
		return invoke(ctx, method, req, reply, conn, opts...)
	}
}

// send charges a whole call of a client.
func (g *gate[K]) send(ctx context.Context, method string, req any) error {
	key, ok, err := g.whom(ctx, method)
	if !ok {
		return err
	}
	_, err = g.take(ctx, method, key, req)
	return err
}

// StreamClient returns an interceptor that charges each opening of a stream, or
// with [WithMessages] each message that the client sends. The key is asked for
// once a stream.
func StreamClient[K comparable](l Limiter[K], key func(ctx context.Context, method string) (K, error), opts ...Option) grpc.StreamClientInterceptor {
	g := newGate(l, key, opts)
	return func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		if !g.messages {
			if err := g.send(ctx, method, nil); err != nil {
				return nil, err
			}
			return open(ctx, desc, conn, method, opts...)
		}
		key, ok, err := g.whom(ctx, method)
		if err != nil {
			return nil, err
		}
		if !ok {
			return open(ctx, desc, conn, method, opts...)
		}
		// A caller whose SendMsg failed may go away, so the stream has to end
		// with a refusal; and the context with the stream.
		caller := ctx
		ctx, cancel := context.WithCancel(ctx)
		ended := grpc.OnFinish(func(error) { cancel() })
		stream, err := open(ctx, desc, conn, method, append(opts[:len(opts):len(opts)], ended)...)
		if err != nil {
			cancel()
			return nil, err
		}
		return &clientStream[K]{ClientStream: stream, gate: g, caller: caller, ctx: ctx, method: method, key: key, cancel: cancel}, nil
	}
}

// A clientStream charges what it sends. One goroutine at a time may send, and
// another receive.
type clientStream[K comparable] struct {
	grpc.ClientStream
	gate   *gate[K]
	caller context.Context // the one that the stream was opened with
	ctx    context.Context // the stream's own, when asked for, ends its retries
	method string
	key    K
	cancel context.CancelFunc

	mu  sync.Mutex
	err error // of the message that was refused
}

// SendMsg charges a message and sends it.
func (s *clientStream[K]) SendMsg(m any) error {
	if err := s.refused(); err != nil {
		return err
	}
	d, err := s.gate.ask(s.ctx, s.method, s.key, m)
	if (err != nil || !d.OK()) && s.ctx.Err() != nil && s.caller.Err() == nil {
		return io.EOF // the stream ended meanwhile, which is nobody's failure; RecvMsg tells how
	}
	if _, err := s.gate.answer(s.ctx, s.method, d, err); err != nil {
		s.mu.Lock()
		s.err = err
		s.mu.Unlock()
		s.cancel()
		return err
	}
	return s.ClientStream.SendMsg(m)
}

// RecvMsg receives a message. After a refusal it tells that, and not that the
// stream was cancelled for it.
func (s *clientStream[K]) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if status.Code(err) == codes.Canceled {
		if refused := s.refused(); refused != nil {
			return refused
		}
	}
	return err
}

func (s *clientStream[K]) refused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
