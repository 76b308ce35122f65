package grpclimit_test

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/ratelimit"
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

var _ ratelimit.Limiter = grpclimit.MiddlewareLimiter(nil)

// The interceptors of go-grpc-middleware ask weir, by method.
func TestMiddleware(t *testing.T) {
	var clk clock.Manual
	l := shard.New[string](gcra.PerSecond(10).Burst(2), shard.WithClock(&clk))
	limiter := grpclimit.Middleware(grpclimit.Local(l), func(_ context.Context, method string) (string, error) { return method, nil })
	s := new(service)
	client := serve(t, s, []grpc.ServerOption{
		grpc.UnaryInterceptor(ratelimit.UnaryServerInterceptor(limiter)),
		grpc.StreamInterceptor(ratelimit.StreamServerInterceptor(limiter)),
	})
	var trailer metadata.MD
	check := func(i int, err error) {
		t.Helper()
		switch {
		case i < 2 && err != nil:
			t.Error(err)
		case i == 2 && (status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "retry after 100ms")):
			t.Error(err)
		case i == 2 && strings.Join(trailer.Get("grpc-retry-pushback-ms"), " ") != "100":
			t.Errorf("trailer %v", trailer)
		}
	}
	for i := range 3 {
		_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{}, grpc.Trailer(&trailer))
		check(i, err)
	}
	for i := range 3 {
		stream, err := client.StreamingOutputCall(t.Context(), &testpb.StreamingOutputCallRequest{}, grpc.Trailer(&trailer))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = stream.Recv(); err == io.EOF {
			err = nil
		}
		check(i, err)
	}
	if s.calls.Load() != 2 || l.Len() != 2 {
		t.Errorf("%d calls served, %d methods limited", s.calls.Load(), l.Len())
	}
}

// The stock client obeys the pushback that goes through that middleware, too.
func TestMiddlewareRetry(t *testing.T) {
	l := shard.New[string](gcra.Per(1, 30*time.Millisecond), shard.WithStats())
	var attempts atomic.Int64
	client := serve(t, new(service), []grpc.ServerOption{grpc.ChainUnaryInterceptor(
		tries(&attempts), ratelimit.UnaryServerInterceptor(grpclimit.Middleware(grpclimit.Local(l), fixed)))}, grpc.WithDefaultServiceConfig(patient))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for range 2 {
		if _, err := client.UnaryCall(ctx, &testpb.SimpleRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.Stats(); got.Granted != 2 || got.Refused == 0 || attempts.Load() != got.Granted+got.Refused {
		t.Errorf("%+v in %d attempts", got, attempts.Load())
	}
}
