package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/contrib/grpclimit"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

var (
	errDown   = errors.New("dial tcp 10.0.0.7:6379: refused") // not for callers
	errNobody = status.Error(codes.Unauthenticated, "who are you")
	errEmpty  = errors.New("an empty key, and no error")
	errDenied = status.Error(codes.Aborted, "not now")
)

// An answer is what is to come of a call through an interceptor.
type answer struct {
	opts   []grpclimit.Option
	key    error
	decide func(n int) (gcra.Decision, error)

	pass bool
	code codes.Code
	text string // told over the network
	is   error
	why  string
}

func decided(n int) func(int) (gcra.Decision, error) {
	return func(cost int) (gcra.Decision, error) {
		var clk clock.Manual
		l := shard.New[string](gcra.PerSecond(1).Burst(5), shard.WithClock(&clk))
		l.Take("a", n)
		return l.Take("a", cost), nil
	}
}

func failed(err error) func(int) (gcra.Decision, error) {
	return func(int) (gcra.Decision, error) { return gcra.Decision{}, err }
}

func TestAnswers(t *testing.T) {
	one := []grpclimit.Option{grpclimit.WithDenied(func(_ context.Context, r *grpclimit.Refusal) error {
		if r.Method != "/s/m" || r.Policy != "default" || r.Decision.Limit() != gcra.PerSecond(1).Burst(5) || r.After != time.Second {
			return fmt.Errorf("a refusal without what is known: %+v", r)
		}
		return errDenied
	})}
	open := []grpclimit.Option{grpclimit.WithError(func(context.Context, string, error) error { return nil })}
	mapped := []grpclimit.Option{grpclimit.WithError(func(_ context.Context, method string, err error) error {
		return status.Errorf(codes.DataLoss, "%s: %v", method, errors.Is(err, grpclimit.ErrKey))
	})}
	log := []grpclimit.Option{grpclimit.WithDenied(func(context.Context, *grpclimit.Refusal) error { return nil })}
	dry := []grpclimit.Option{grpclimit.WithDryRun(nil)}
	skip := []grpclimit.Option{grpclimit.WithSkip(func(_ context.Context, method string) bool { return method == "/s/m" })}
	other := []grpclimit.Option{grpclimit.WithSkip(func(_ context.Context, method string) bool { return method != "/s/m" })}
	free := []grpclimit.Option{grpclimit.WithCost(func(_ context.Context, _ string, msg any) int { return len(msg.(string)) })}
	for _, row := range []answer{
		{nil, nil, decided(0), true, 0, "", nil, "there are tokens"},
		{nil, nil, decided(5), false, codes.ResourceExhausted, `rate limit "default": weir: limited, retry after 1s`, gcra.ErrLimited, "there are none"},
		{one, nil, decided(5), false, codes.Aborted, "not now", errDenied, "the answer is the program's"},
		{log, nil, decided(5), false, codes.ResourceExhausted, `rate limit "default": weir: limited, retry after 1s`, gcra.ErrLimited, "who only logs a refusal lets nothing pass"},
		{free, nil, decided(5), true, 0, "", nil, "an empty message costs nothing"},
		{nil, errors.New("secret"), decided(0), false, codes.Internal, "no key for the rate limit", grpclimit.ErrKey, "no key is no shared key"},
		{nil, errEmpty, decided(0), false, codes.Internal, "no key for the rate limit", grpclimit.ErrKey, "nor is an empty one"},
		{open, errEmpty, decided(5), true, 0, "", nil, "it is no key"},
		{dry, errEmpty, decided(5), true, 0, "", nil, "in a dry run too"},
		{nil, errNobody, decided(0), false, codes.Unauthenticated, "who are you", errNobody, "a key function can say what is wrong"},
		{open, errNobody, decided(5), true, 0, "", nil, "without a key, if it is said so"},
		{mapped, errNobody, decided(0), false, codes.DataLoss, "/s/m: true", nil, "the program's answer to no key"},
		{nil, nil, failed(errDown), false, codes.Unavailable, "no decision on the rate limit", errDown, "no decision is no permission"},
		{open, nil, failed(errDown), true, 0, "", nil, "unless it is said so"},
		{mapped, nil, failed(errDown), false, codes.DataLoss, "/s/m: false", nil, "the program's answer to no decision"},
		{nil, nil, failed(fmt.Errorf("redis: %w", context.Canceled)), false, codes.Canceled, "context canceled", context.Canceled, "the caller went away"},
		{nil, nil, failed(fmt.Errorf("redis: %w", context.DeadlineExceeded)), false, codes.DeadlineExceeded, "context deadline exceeded", context.DeadlineExceeded, "its time was up"},
		{nil, nil, failed(fmt.Errorf("joint: %w", gcra.ErrLimited)), false, codes.ResourceExhausted, `rate limit "default": joint: weir: limited`, gcra.ErrLimited, "a waiter that does not say when"},
		{open, nil, failed(gcra.ErrLimited), false, codes.ResourceExhausted, `rate limit "default": weir: limited`, gcra.ErrLimited, "which is a refusal and not an error"},
		{dry, nil, decided(5), true, 0, "", nil, "a dry run refuses nothing"},
		{dry, errNobody, decided(5), true, 0, "", nil, "not even without a key"},
		{dry, nil, failed(errDown), true, 0, "", nil, "nor without a decision"},
		{skip, errNobody, failed(errDown), true, 0, "", nil, "who is let pass is not asked for"},
		{other, nil, decided(5), false, codes.ResourceExhausted, `rate limit "default": weir: limited, retry after 1s`, gcra.ErrLimited, "others are"},
	} {
		for kind, ask := range row.kinds() {
			passed := false
			err := ask(t.Context(), &passed)
			if passed != row.pass || (err == nil) != row.pass {
				t.Errorf("%s: passed %v, %v: %s", kind, passed, err, row.why)
				continue
			}
			if s := status.Convert(err); s.Code() != row.code || s.Message() != row.text || row.is != nil && !errors.Is(err, row.is) {
				t.Errorf("%s: %v, told as %v %q: %s", kind, err, s.Code(), s.Message(), row.why)
			}
		}
	}
}

// kinds returns how to call each interceptor, with "" for a message.
func (a answer) kinds() map[string]func(ctx context.Context, passed *bool) error {
	limiter := grpclimit.Func[string](func(_ context.Context, key string, n int) (gcra.Decision, error) {
		if key != "a" {
			return gcra.Decision{}, errors.New("asked with another key")
		}
		return a.decide(n)
	})
	key := func(_ context.Context, method string) (string, error) {
		if method != "/s/m" {
			return "", errors.New("another method")
		}
		if a.key == errEmpty {
			return "", nil
		}
		return "a", a.key
	}
	messages := append(slices.Clone(a.opts), grpclimit.WithMessages())
	return map[string]func(ctx context.Context, passed *bool) error{
		"unary server": func(ctx context.Context, passed *bool) error {
			_, err := grpclimit.UnaryServer(limiter, key, a.opts...)(ctx, "", &grpc.UnaryServerInfo{FullMethod: "/s/m"},
				func(context.Context, any) (any, error) { *passed = true; return nil, nil })
			return err
		},
		"server messages": func(ctx context.Context, passed *bool) error {
			return grpclimit.StreamServer(limiter, key, messages...)(nil, mute{idleServer{ctx: ctx}}, &grpc.StreamServerInfo{FullMethod: "/s/m"},
				func(_ any, s grpc.ServerStream) error {
					err := s.RecvMsg("")
					*passed = err == nil
					return err
				})
		},
		"unary client": func(ctx context.Context, passed *bool) error {
			return grpclimit.UnaryClient(limiter, key, a.opts...)(ctx, "/s/m", "", nil, nil,
				func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
					*passed = true
					return nil
				})
		},
		"client messages": func(ctx context.Context, passed *bool) error {
			s, err := grpclimit.StreamClient(limiter, key, messages...)(ctx, &grpc.StreamDesc{}, nil, "/s/m",
				func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
					return idle{ctx: ctx}, nil
				})
			if err == nil {
				err = s.SendMsg("")
			}
			*passed = err == nil
			return err
		},
	}
}

// What a dry run would have answered is told, and nothing that was refused is
// charged.
func TestDryRunTells(t *testing.T) {
	var clk clock.Manual
	l := shard.New[string](gcra.PerSecond(1), shard.WithClock(&clk))
	var told []string
	dry := grpclimit.WithDryRun(func(_ context.Context, method string, err error) {
		told = append(told, method+": "+err.Error())
	})
	key := func(_ context.Context, method string) (string, error) {
		if method == "/s/nobody" {
			return "", errNobody
		}
		return "a", nil
	}
	server := grpclimit.UnaryServer(grpclimit.Local(l), key, dry)
	for _, method := range []string{"/s/m", "/s/m", "/s/nobody"} {
		_, err := server(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: method}, func(context.Context, any) (any, error) { return nil, nil })
		if err != nil {
			t.Error(method, err)
		}
	}
	want := `/s/m: rate limit "default": weir: limited, retry after 1s
/s/nobody: weir: grpclimit: no key: ` + errNobody.Error()
	if got := strings.Join(told, "\n"); got != want {
		t.Errorf("told:\n%s\nwant:\n%s", got, want)
	}
	if d := l.Peek("a", 1); d.RetryAfter() != time.Second {
		t.Errorf("the key was charged for what it would not have got: %v", d.RetryAfter())
	}
}

func TestPanicsOnNonsense(t *testing.T) {
	l := shard.New[string](gcra.PerSecond(1))
	for _, row := range []struct {
		do  func()
		why string
	}{
		{func() { grpclimit.UnaryServer[string](nil, fixed) }, "no limiter"},
		{func() { grpclimit.StreamClient[string](grpclimit.Local(l), nil) }, "no key function"},
		{func() { grpclimit.Local[string](nil) }, "nothing to adapt"},
		{func() { grpclimit.Waiting[string](nil) }, "nothing to adapt"},
		{func() { grpclimit.UnaryServer(grpclimit.Waiting(l), fixed, grpclimit.WithDryRun(nil)) }, "a dry run that waits"},
		{func() { grpclimit.Middleware(grpclimit.Local(l), fixed, grpclimit.WithMessages()) }, "messages that it does not see"},
		{func() { grpclimit.WithObserver(nil) }, "an observer of nothing"},
		{func() { grpclimit.WithPolicy("") }, "no name"},
		{func() { grpclimit.WithPolicy("\xff") }, "no text"},
		{func() { grpclimit.WithMaxPushback(-1) }, "a pause below 0"},
		{func() { grpclimit.PeerPrefixOf(0, 64) }, "all in one bucket"},
		{func() { grpclimit.PeerPrefixOf(33, 64) }, "more bits than there are"},
		{func() { grpclimit.PeerPrefixOf(32, 129) }, "more bits than there are"},
	} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.HasPrefix(fmt.Sprint(r), "weir: grpclimit: ") {
					t.Errorf("recovered %v: %s", r, row.why)
				}
			}()
			row.do()
		}()
	}
}

// A call that passes allocates nothing here.
func TestAllocs(t *testing.T) {
	l := shard.New[string](gcra.Unlimited())
	limited := shard.New[string](gcra.PerMinute(1).Burst(1_000_000))
	limited.Allow("a")
	for name, limiter := range map[string]*shard.Limiter[string]{"unlimited": l, "limited": limited} {
		call := grpclimit.UnaryServer(grpclimit.Local(limiter), fixed)
		info := &grpc.UnaryServerInfo{FullMethod: "/s/m"}
		ctx := t.Context()
		n := testing.AllocsPerRun(1000, func() {
			if _, err := call(ctx, nil, info, func(context.Context, any) (any, error) { return nil, nil }); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}
