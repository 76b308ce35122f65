package grpclimit_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/contrib/grpclimit"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A client that refuses sends nothing.
func TestClientRefuses(t *testing.T) {
	var clk clock.Manual
	l := shard.New[string](gcra.PerSecond(4).Burst(2), shard.WithClock(&clk))
	byMethod := func(_ context.Context, method string) (string, error) { return method, nil }
	s := new(service)
	client := serve(t, s, nil,
		grpc.WithUnaryInterceptor(grpclimit.UnaryClient(grpclimit.Local(l), byMethod)),
		grpc.WithStreamInterceptor(grpclimit.StreamClient(grpclimit.Local(l), byMethod)))
	for i := range 4 {
		_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
		_, err2 := client.StreamingOutputCall(t.Context(), &testpb.StreamingOutputCallRequest{})
		for _, err := range []error{err, err2} {
			r := new(grpclimit.Refusal)
			switch {
			case i < 2 && err != nil:
				t.Fatal(err)
			case i >= 2 && (!errors.As(err, &r) || !errors.Is(err, gcra.ErrLimited) || r.After != 250*time.Millisecond || status.Code(err) != codes.ResourceExhausted):
				t.Errorf("call %d: %v", i, err)
			}
		}
	}
	if s.calls.Load() != 2 {
		t.Errorf("%d calls were sent, want 2", s.calls.Load())
	}
}

// A client that waits sends at the rate, exactly, and fails at once if the slot
// is too far away.
func TestClientWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := shard.New[string](gcra.PerSecond(10), shard.WithMaxWait(time.Second))
		call := grpclimit.UnaryClient(grpclimit.Waiting(l), fixed, grpclimit.WithCost(func(_ context.Context, _ string, req any) int {
			return int(req.(*testpb.SimpleRequest).ResponseSize)
		}))
		var sent atomic.Int64
		ask := func(ctx context.Context, cost int32) error {
			return call(ctx, "/m", &testpb.SimpleRequest{ResponseSize: cost}, nil, nil,
				func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
					sent.Add(1)
					return nil
				})
		}
		start := time.Now()
		for range 11 {
			if err := ask(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != time.Second || sent.Load() != 11 {
			t.Errorf("%d calls took %v", sent.Load(), took)
		}
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		done, cancel := context.WithCancel(t.Context())
		cancel()
		for _, row := range []struct {
			ctx   context.Context
			cost  int32
			is    error
			code  codes.Code
			retry time.Duration
			why   string
		}{
			{short, 1, context.DeadlineExceeded, codes.ResourceExhausted, 100 * time.Millisecond, "the slot is after the deadline"},
			{t.Context(), 2, gcra.ErrExceedsBurst, codes.ResourceExhausted, -1, "the cost can never pass"},
			{t.Context(), -1, gcra.ErrCost, codes.ResourceExhausted, -1, "nor can this"},
			{done, 1, context.Canceled, codes.Canceled, -1, "the call has ended"},
		} {
			err := ask(row.ctx, row.cost)
			d, ok := grpclimit.RetryAfter(err)
			if !errors.Is(err, row.is) || status.Code(err) != row.code || ok != (row.retry >= 0) || ok && d != row.retry {
				t.Errorf("%v, code %v, retry after %v %v: %s", err, status.Code(err), d, ok, row.why)
			}
		}
		for range 10 {
			go func() { _ = ask(t.Context(), 1) }()
		}
		synctest.Wait()
		err := ask(t.Context(), 1)
		if d, ok := grpclimit.RetryAfter(err); !errors.Is(err, gcra.ErrLimited) || !ok || d != 1100*time.Millisecond {
			t.Errorf("a slot further away than WithMaxWait: %v, %v", err, d)
		}
		time.Sleep(time.Second) // in the bubble: those that wait get their slots
		synctest.Wait()
		if took := time.Since(start); took != 2*time.Second || sent.Load() != 21 {
			t.Errorf("%d calls, %v", sent.Load(), took)
		}
	})
}

// The messages of a stream are paced, too, and a server that waits holds the
// handler back.
func TestStreamsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := shard.New[string](gcra.PerSecond(10))
		open := grpclimit.StreamClient(grpclimit.Waiting(l), fixed, grpclimit.WithMessages())
		stream, err := open(t.Context(), &grpc.StreamDesc{}, nil, "/m",
			func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
				return idle{ctx: ctx}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for range 6 {
			if err := stream.SendMsg(nil); err != nil {
				t.Fatal(err)
			}
		}
		err = grpclimit.StreamServer(grpclimit.Waiting(l), fixed, grpclimit.WithMessages())(nil, idleServer{ctx: t.Context()},
			&grpc.StreamServerInfo{}, func(_ any, s grpc.ServerStream) error {
				for range 5 {
					if err := s.RecvMsg(nil); err != nil {
						return err
					}
				}
				return nil
			})
		if took := time.Since(start); err != nil || took != time.Second {
			t.Errorf("11 messages took %v: %v", took, err)
		}
	})
}

// An idle stream sends and receives nothing, at once.
type idle struct {
	grpc.ClientStream
	ctx context.Context
}

func (idle) SendMsg(any) error { return nil }

type idleServer struct {
	grpc.ServerStream
	ctx context.Context
}

func (s idleServer) Context() context.Context { return s.ctx }
func (idleServer) RecvMsg(any) error          { return nil }

// A mute stream takes trailers.
type mute struct{ idleServer }

func (mute) SetTrailer(metadata.MD) {}
