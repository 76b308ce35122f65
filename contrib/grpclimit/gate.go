package grpclimit

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weir-go/weir/gcra"
)

// ErrKey is found by errors.Is in the error of a call whose key function failed
// or returned the zero key, such as an empty text.
var ErrKey = errors.New("weir: grpclimit: no key")

// A gate is what all interceptors have in common.
type gate[K comparable] struct {
	limiter Limiter[K]
	key     func(ctx context.Context, method string) (K, error)
	config
}

func newGate[K comparable](l Limiter[K], key func(ctx context.Context, method string) (K, error), opts []Option) *gate[K] {
	g := &gate[K]{l, key, newConfig(opts)}
	if l == nil || key == nil {
		panic("weir: grpclimit: an interceptor needs a limiter and a key function")
	}
	if _, waits := l.(waiting[K]); waits && g.dry {
		panic("weir: grpclimit: WithDryRun does not go with Waiting; use shard.WithDryRun")
	}
	return g
}

// whom returns the key of a call. It is not charged if ok is false: it passes
// or fails with err.
func (g *gate[K]) whom(ctx context.Context, method string) (key K, ok bool, err error) {
	if g.skip != nil && g.skip(ctx, method) {
		return key, false, nil
	}
	key, err = g.key(ctx, method)
	var none K
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", ErrKey, err)
	case key == none:
		err = ErrKey // whoever has none would share a bucket
	default:
		return key, true, nil
	}
	return none, false, g.fail(ctx, method, err)
}

// take charges a call or message. The refusal is nil if it passes or if err,
// which is what the caller gets then, has another reason.
func (g *gate[K]) take(ctx context.Context, method string, key K, msg any) (r *Refusal, err error) {
	d, err := g.ask(ctx, method, key, msg)
	return g.answer(ctx, method, d, err)
}

// ask is the first half of take: the limiter's answer.
func (g *gate[K]) ask(ctx context.Context, method string, key K, msg any) (gcra.Decision, error) {
	n := 1
	if g.cost != nil {
		n = g.cost(ctx, method, msg)
	}
	return g.limiter.Decide(ctx, key, n)
}

// answer is the other half of take: what the caller gets for that.
func (g *gate[K]) answer(ctx context.Context, method string, d gcra.Decision, why error) (r *Refusal, err error) {
	switch {
	case why != nil:
		if r = refusal(why); r == nil {
			return nil, g.fail(ctx, method, why)
		}
	case d.OK():
		g.tell(ctx, d, true, nil)
		return nil, nil
	default:
		r = &Refusal{After: d.RetryAfter(), Err: d.Err()}
	}
	g.tell(ctx, d, g.dry, why)
	r.Method, r.Policy, r.Decision = method, g.policy, d
	if g.dry {
		g.report(ctx, method, r)
		return nil, nil
	}
	if g.denied != nil {
		err = g.denied(ctx, r)
	}
	if err == nil {
		err = r
	}
	return r, err
}

// fail returns what a call gets that could not be decided.
func (g *gate[K]) fail(ctx context.Context, method string, why error) error {
	err := hide(why)
	if g.failed != nil {
		err = g.failed(ctx, method, why)
	}
	g.tell(ctx, gcra.Decision{}, g.dry || err == nil, why)
	if g.dry && err != nil {
		g.report(ctx, method, err)
		return nil
	}
	return err
}

// tell tells the observer what came of a call or message.
func (g *gate[K]) tell(ctx context.Context, d gcra.Decision, served bool, err error) {
	if g.observe != nil {
		g.observe(ctx, d, served, err)
	}
}

func (g *gate[K]) report(ctx context.Context, method string, err error) {
	if g.would != nil {
		g.would(ctx, method, err)
	}
}

// hide gives an error a status that tells callers no more than it should.
func hide(err error) error {
	var code codes.Code
	text := "no decision on the rate limit"
	switch {
	case statusOf(err) != nil:
		return &failure{statusOf(err), err}
	case errors.Is(err, ErrKey):
		code, text = codes.Internal, "no key for the rate limit"
	case errors.Is(err, context.Canceled):
		code, text = codes.Canceled, context.Canceled.Error()
	case errors.Is(err, context.DeadlineExceeded):
		code, text = codes.DeadlineExceeded, context.DeadlineExceeded.Error()
	default:
		code = codes.Unavailable
	}
	return &failure{status.New(code, text), err}
}

// statusOf returns the status that is in an error, without the text around it.
func statusOf(err error) *status.Status {
	var own interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &own) || own.GRPCStatus().Code() == codes.OK {
		return nil
	}
	return own.GRPCStatus()
}

// A failure is an error for this process and a status for others.
type failure struct {
	status *status.Status
	err    error
}

func (f *failure) Error() string              { return f.err.Error() }
func (f *failure) Unwrap() error              { return f.err }
func (f *failure) GRPCStatus() *status.Status { return f.status }
