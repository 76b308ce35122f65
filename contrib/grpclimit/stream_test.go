package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"testing"
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

func streamServer(l *shard.Limiter[string], opts ...grpclimit.Option) []grpc.ServerOption {
	return []grpc.ServerOption{grpc.StreamInterceptor(grpclimit.StreamServer(grpclimit.Local(l), fixed, opts...))}
}

// A server's stream ends with the first message that is refused: the handler
// gets no other one, and the client is told not to send all again by itself.
func TestServerRefusesInMidStream(t *testing.T) {
	var clk clock.Manual
	l := shard.New[string](gcra.PerSecond(10).Burst(3), shard.WithClock(&clk), shard.WithStats())
	s := new(service)
	client := serve(t, s, streamServer(l, grpclimit.WithMessages()), grpc.WithDefaultServiceConfig(hasty))
	var trailer metadata.MD
	stream, err := client.StreamingInputCall(t.Context(), grpc.Trailer(&trailer))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := stream.Send(&testpb.StreamingInputCallRequest{}); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	_, err = stream.CloseAndRecv()
	d, ok := grpclimit.RetryAfter(err)
	if status.Code(err) != codes.ResourceExhausted || !ok || d != 100*time.Millisecond {
		t.Errorf("%v, retry after %v, %v", err, d, ok)
	}
	if got := trailer.Get("grpc-retry-pushback-ms"); len(got) != 1 || got[0] != "-1" {
		t.Errorf("pushback %q, want -1: three messages would be charged again", got)
	}
	if s.messages.Load() != 3 || s.opened.Load() != 1 {
		t.Errorf("the service got %d messages in %d streams, want 3 in 1", s.messages.Load(), s.opened.Load())
	}
	if len(s.ends) != 2 || !errors.Is(s.ends[0], gcra.ErrLimited) || s.ends[1] != s.ends[0] {
		t.Errorf("the handler got %v, want one refusal twice", s.ends)
	}
	if got := l.Stats(); got.Granted != 3 || got.Refused != 1 {
		t.Errorf("%+v: what comes after a refusal is not asked for", got)
	}
}

// A stream whose first message is refused has cost nothing and can be retried.
func TestServerRefusesTheFirstMessage(t *testing.T) {
	l := shard.New[string](gcra.Per(1, 30*time.Millisecond), shard.WithStats())
	s := new(service)
	client := serve(t, s, streamServer(l, grpclimit.WithMessages()), grpc.WithDefaultServiceConfig(patient))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for range 3 {
		stream, err := client.StreamingInputCall(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&testpb.StreamingInputCallRequest{}); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if r, err := stream.CloseAndRecv(); err != nil || r.AggregatedPayloadSize != 1 {
			t.Fatal(r, err)
		}
	}
	if got := l.Stats(); got.Granted != 3 || got.Refused == 0 {
		t.Errorf("%+v, want 3 granted and some retries", got)
	}
}

// Openings are charged, or messages, or by two interceptors both.
func TestWhatAStreamCosts(t *testing.T) {
	var clk clock.Manual
	size := grpclimit.WithCost(func(_ context.Context, _ string, msg any) int {
		if r, ok := msg.(*testpb.StreamingInputCallRequest); ok {
			return len(r.GetPayload().GetBody())
		}
		if msg == nil {
			return 7
		}
		return -1
	})
	for _, row := range []struct {
		opts []grpclimit.Option
		want int
		why  string
	}{
		{nil, 1, "an opening"},
		{[]grpclimit.Option{grpclimit.WithMessages()}, 3, "three messages and no opening"},
		{[]grpclimit.Option{size}, 7, "an opening has no message"},
		{[]grpclimit.Option{size, grpclimit.WithMessages()}, 30, "three messages by their size"},
		{[]grpclimit.Option{grpclimit.WithMessages(), grpclimit.WithSkip(func(_ context.Context, method string) bool {
			return method == testpb.TestService_StreamingInputCall_FullMethodName
		})}, 0, "a method that is let pass"},
	} {
		server := shard.New[string](gcra.PerSecond(1).Burst(100), shard.WithClock(&clk))
		mine := shard.New[string](gcra.PerSecond(1).Burst(100), shard.WithClock(&clk))
		client := serve(t, new(service), streamServer(server, row.opts...),
			grpc.WithStreamInterceptor(grpclimit.StreamClient(grpclimit.Local(mine), fixed, row.opts...)))
		stream, err := client.StreamingInputCall(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := stream.Send(&testpb.StreamingInputCallRequest{Payload: &testpb.Payload{Body: make([]byte, 10)}}); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := stream.CloseAndRecv(); err != nil || r.AggregatedPayloadSize != 3 {
			t.Error(r, err, row.why)
		}
		for side, l := range map[string]*shard.Limiter[string]{"server": server, "client": mine} {
			if got := 100 - l.Peek("a", 1).Remaining(); got != row.want {
				t.Errorf("%s charged %d, want %d: %s", side, got, row.want, row.why)
			}
		}
	}
}

// A client's message that is refused is not sent, and ends the stream on both
// sides, though the caller's context goes on and nobody receives.
func TestClientRefusesInMidStream(t *testing.T) {
	var clk clock.Manual
	l := shard.New[string](gcra.PerSecond(10).Burst(3), shard.WithClock(&clk))
	s := new(service)
	client := serve(t, s, nil, grpc.WithStreamInterceptor(grpclimit.StreamClient(grpclimit.Local(l), fixed, grpclimit.WithMessages())))
	stream, err := client.FullDuplexCall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := stream.Send(&testpb.StreamingOutputCallRequest{}); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		err := stream.Send(&testpb.StreamingOutputCallRequest{})
		if d, ok := grpclimit.RetryAfter(err); !errors.Is(err, gcra.ErrLimited) || status.Code(err) != codes.ResourceExhausted || d != 100*time.Millisecond || !ok {
			t.Errorf("%v, retry after %v", err, d)
		}
	}
	if _, err := stream.Recv(); !errors.Is(err, gcra.ErrLimited) {
		t.Errorf("Recv after a refusal: %v", err)
	}
	select {
	case <-stream.Context().Done():
	case <-time.After(time.Minute): // that is, never
		t.Error("the stream goes on")
	}
	if s.messages.Load() != 3 {
		t.Errorf("the service got %d messages, want 3", s.messages.Load())
	}
	// Later streams are refused at their first message, which is the request.
	if _, err := client.StreamingOutputCall(t.Context(), &testpb.StreamingOutputCallRequest{}); !errors.Is(err, gcra.ErrLimited) {
		t.Errorf("a stream whose request is refused: %v", err)
	}
}

// The context that the interceptor makes ends with the stream, whatever the end.
func TestClientStreamsLeaveNothing(t *testing.T) {
	l := shard.New[string](gcra.Unlimited())
	var made []context.Context
	note := func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		made = append(made, ctx)
		return open(ctx, desc, cc, method, opts...)
	}
	client := serve(t, new(service), nil, grpc.WithChainStreamInterceptor(
		grpclimit.StreamClient(grpclimit.Local(l), fixed, grpclimit.WithMessages()), note))
	in, err := client.StreamingInputCall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.CloseAndRecv(); err != nil {
		t.Fatal(err)
	}
	out, err := client.StreamingOutputCall(t.Context(), &testpb.StreamingOutputCallRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Recv(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.FullDuplexCall(done); status.Code(err) != codes.Canceled {
		t.Errorf("a stream that could not be opened: %v", err)
	}
	for i, ctx := range made {
		if i < 2 && ctx.Err() == nil {
			t.Errorf("the context of stream %d goes on after it", i)
		}
	}
	if len(made) != 3 || t.Context().Err() != nil {
		t.Errorf("%d streams; the caller's context: %v", len(made), t.Context().Err())
	}
}

// leaver is a service that ends each stream after its first message.
type leaver struct{ service }

func (*leaver) FullDuplexCall(stream grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error {
	_, err := stream.Recv()
	return err
}

// A Send that waits for its slot when the server ends the stream says io.EOF, as
// any other does, and RecvMsg tells how it ended. No handler hears of a failure.
func TestEndWhileSendWaits(t *testing.T) {
	l := shard.New[string](gcra.PerHour(1))
	client := serve(t, new(leaver), nil, grpc.WithStreamInterceptor(
		grpclimit.StreamClient(grpclimit.Waiting(l), fixed, grpclimit.WithMessages(),
			grpclimit.WithError(func(_ context.Context, _ string, err error) error {
				t.Errorf("the stream ended, and WithError heard %v", err)
				return err
			}),
			grpclimit.WithDenied(func(_ context.Context, r *grpclimit.Refusal) error {
				t.Errorf("the stream ended, and WithDenied heard %v", r)
				return nil
			}),
			grpclimit.WithObserver(func(_ context.Context, _ gcra.Decision, served bool, err error) {
				if !served || err != nil {
					t.Errorf("the stream ended, and the observer heard %v", err)
				}
			}))))
	stream, err := client.FullDuplexCall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan error)
	go func() {
		stream.Send(&testpb.StreamingOutputCallRequest{})
		sent <- stream.Send(&testpb.StreamingOutputCallRequest{}) // which has to wait for an hour
	}()
	if _, err := stream.Recv(); err != io.EOF {
		t.Errorf("Recv said %v, want EOF", err)
	}
	if err := <-sent; err != io.EOF {
		t.Errorf("Send said %v, want EOF", err)
	}
}
