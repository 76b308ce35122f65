package grpclimit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
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

// What a refused caller gets, read where it arrives.
func TestRefusalOverTheWire(t *testing.T) {
	third := gcra.PerSecond(3)
	daily := gcra.PerDay(1)
	for _, row := range []struct {
		limit    gcra.Limit
		cost     int
		deadline time.Duration // 0 for none
		opts     []grpclimit.Option
		retry    time.Duration // 0 for no RetryInfo
		pushback string
		policy   string
		what     string
		why      string
	}{
		{gcra.PerSecond(10), 1, 0, nil, 100 * time.Millisecond, "100", "default", "10/s burst 1: weir: limited", "the limit's own pause"},
		{third, 1, 0, nil, 333333334, "334", "default", "3/s burst 1: weir: limited", "milliseconds are rounded up, so that the retry passes"},
		{third, 1, 0, []grpclimit.Option{grpclimit.WithPolicy("calls")}, 333333334, "334", "calls", "3/s burst 1: weir: limited", "the policy's name"},
		{third, 2, 0, nil, 0, "-1", "default", "3/s burst 1: weir: cost exceeds the burst", "it never passes"},
		{third, -1, 0, nil, 0, "-1", "default", "3/s burst 1: weir: negative cost", "it never passes"},
		{gcra.Per(0, time.Second), 1, 0, nil, 0, "-1", "default", "0/s burst 1: weir: limited", "nothing refills it"},
		{daily, 1, 0, nil, 24 * time.Hour, "-1", "default", "1/d burst 1: weir: limited", "no client should sleep for a day"},
		{daily, 1, 0, []grpclimit.Option{grpclimit.WithMaxPushback(24 * time.Hour)}, 24 * time.Hour, "86400000", "default", "1/d burst 1: weir: limited", "unless it is said that it may"},
		{daily, 1, 0, []grpclimit.Option{grpclimit.WithMaxPushback(24*time.Hour - 1)}, 24 * time.Hour, "-1", "default", "1/d burst 1: weir: limited", "the bound is exact"},
		{gcra.PerMinute(2), 1, 20 * time.Second, nil, 30 * time.Second, "-1", "default", "2/m burst 1: weir: limited", "the call will have ended"},
		{gcra.PerMinute(2), 1, time.Hour, nil, 30 * time.Second, "30000", "default", "2/m burst 1: weir: limited", "it will not"},
		{gcra.Per(0, time.Second), 1, 0, []grpclimit.Option{grpclimit.WithMaxPushback(gcra.Never)}, 0, "-1", "default", "0/s burst 1: weir: limited", "never is no pause, whatever the bound"},
	} {
		t.Run(row.why, func(t *testing.T) {
			var clk clock.Manual
			l := shard.New[string](row.limit, shard.WithClock(&clk))
			l.Take("a", 1)
			cost := grpclimit.WithCost(func(context.Context, string, any) int { return row.cost })
			s := new(service)
			client := serve(t, s, []grpc.ServerOption{
				grpc.UnaryInterceptor(grpclimit.UnaryServer(grpclimit.Local(l), fixed, append(row.opts, cost)...)),
				grpc.StreamInterceptor(grpclimit.StreamServer(grpclimit.Local(l), fixed, append(row.opts, cost)...)),
			})
			ctx := t.Context()
			if row.deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, row.deadline)
				defer cancel()
			}
			var trailer metadata.MD
			_, err := client.UnaryCall(ctx, &testpb.SimpleRequest{}, grpc.Trailer(&trailer))
			check := func(kind string) {
				t.Helper()
				if got := status.Code(err); got != codes.ResourceExhausted {
					t.Fatalf("%s: %v", kind, err)
				}
				if got := trailer.Get("grpc-retry-pushback-ms"); len(got) != 1 || got[0] != row.pushback {
					t.Errorf("%s: pushback %q, want %q", kind, got, row.pushback)
				}
				d, ok := grpclimit.RetryAfter(err)
				if ok != (row.retry > 0) || d != row.retry {
					t.Errorf("%s: retry after %v, %v, want %v", kind, d, ok, row.retry)
				}
				quotas := 0
				for _, detail := range status.Convert(err).Details() {
					if q, ok := detail.(*errdetails.QuotaFailure); ok {
						quotas++
						if v := q.Violations; len(v) != 1 || v[0].Subject != row.policy || v[0].Description != row.what {
							t.Errorf("%s: violations %v, want %q: %q", kind, v, row.policy, row.what)
						}
					}
				}
				if quotas != 1 {
					t.Errorf("%s: %d QuotaFailures", kind, quotas)
				}
			}
			check("unary")
			stream, err := client.StreamingInputCall(ctx, grpc.Trailer(&trailer))
			if err != nil {
				t.Fatal(err)
			}
			trailer = nil
			_, err = stream.CloseAndRecv()
			check("stream")
			if s.calls.Load()+s.opened.Load() != 0 {
				t.Error("a refused call reached the service")
			}
		})
	}
}

// tries counts the attempts that reach a server, before any limiter.
func tries(n *atomic.Int64) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		n.Add(1)
		return handler(ctx, req)
	}
}

const (
	patient = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 4, "initialBackoff": "60s", "maxBackoff": "60s",
		"backoffMultiplier": 1, "retryableStatusCodes": ["RESOURCE_EXHAUSTED"]}}]}`
	hasty = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.001s", "maxBackoff": "0.001s",
		"backoffMultiplier": 1, "retryableStatusCodes": ["RESOURCE_EXHAUSTED"]}}]}`
)

// The stock client, whose own backoff is a minute, retries after the pushback
// and passes.
func TestStockClientRetriesAfterPushback(t *testing.T) {
	l := shard.New[string](gcra.Per(1, 30*time.Millisecond), shard.WithStats())
	var attempts atomic.Int64
	s := new(service)
	client := serve(t, s, []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(tries(&attempts), grpclimit.UnaryServer(grpclimit.Local(l), fixed)),
	}, grpc.WithDefaultServiceConfig(patient))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	const calls = 4 // one after another, so that nobody takes a token that another was told of
	start := time.Now()
	for range calls {
		if _, err := client.UnaryCall(ctx, &testpb.SimpleRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(start)
	stats := l.Stats()
	if s.calls.Load() != calls || stats.Granted != calls || stats.Refused == 0 || attempts.Load() != stats.Granted+stats.Refused {
		t.Errorf("%d calls served in %d attempts, %+v", s.calls.Load(), attempts.Load(), stats)
	}
	// A timer may be late, but never for as long as the client's own backoff.
	if took < (calls-1)*30*time.Millisecond || took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

// The stock client, whose own backoff is a millisecond, does not retry what
// would be in vain; and it would if it were not told.
func TestStockClientDoesNotRetryInVain(t *testing.T) {
	strip := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
		return nil, status.Error(codes.ResourceExhausted, "without a pushback")
	}
	interceptor := func(limit gcra.Limit) grpc.UnaryServerInterceptor {
		l := shard.New[string](limit)
		l.Take("a", 1)
		return grpclimit.UnaryServer(grpclimit.Local(l), fixed)
	}
	for _, row := range []struct {
		refuse   grpc.UnaryServerInterceptor
		attempts int64
		why      string
	}{
		{interceptor(gcra.Per(0, time.Second)), 1, "it never passes"},
		{interceptor(gcra.PerHour(1)), 1, "an hour is too long"},
		{strip, 4, "without the trailer it does"},
	} {
		var attempts atomic.Int64
		client := serve(t, new(service), []grpc.ServerOption{grpc.ChainUnaryInterceptor(tries(&attempts), row.refuse)},
			grpc.WithDefaultServiceConfig(hasty))
		if _, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{}); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%v: %s", err, row.why)
		}
		if got := attempts.Load(); got != row.attempts {
			t.Errorf("%d attempts, want %d: %s", got, row.attempts, row.why)
		}
	}
}

// Of many calls at once as many pass as there are tokens.
func TestManyCallsAtOnce(t *testing.T) {
	var clk clock.Manual
	l := shard.New[string](gcra.PerSecond(1).Burst(40), shard.WithClock(&clk))
	s := new(service)
	client := serve(t, s, []grpc.ServerOption{grpc.UnaryInterceptor(grpclimit.UnaryServer(grpclimit.Local(l), fixed))})
	var passed, refused atomic.Int64
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
			switch status.Code(err) {
			case codes.OK:
				passed.Add(1)
			case codes.ResourceExhausted:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if passed.Load() != 40 || refused.Load() != 60 || s.calls.Load() != 40 {
		t.Errorf("%d passed, %d refused, %d served; want 40, 60, 40", passed.Load(), refused.Load(), s.calls.Load())
	}
}

// What a server says is foreign.
func TestRetryAfterOfOthers(t *testing.T) {
	if _, ok := grpclimit.RetryAfter(nil); ok {
		t.Error("no error has a pause")
	}
	if _, ok := grpclimit.RetryAfter(errors.New("broken")); ok {
		t.Error("nor has one without a status")
	}
	if _, ok := grpclimit.RetryAfter(status.Error(codes.ResourceExhausted, "")); ok {
		t.Error("nor a status without details")
	}
}
