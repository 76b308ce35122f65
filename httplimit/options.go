package httplimit

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/weir-go/weir/gcra"
)

// An Option changes what the middleware of [New] and [Func] does.
type Option func(*config)

type config struct {
	cost     func(*http.Request) int
	skip     func(*http.Request) bool
	try      func(*http.Request, gcra.Decision, error)
	observe  func(context.Context, gcra.Decision, bool, error)
	denied   func(http.ResponseWriter, *http.Request, gcra.Decision)
	failed   func(http.ResponseWriter, *http.Request, error) bool
	problem  bool
	older    bool
	wall     func() time.Time // for the older fields; nil: a delta
	policies policies
}

// complete fills in what no option has set.
func (c *config) complete() {
	if c.failed == nil {
		c.failed = fail
	}
	if c.policies.list == nil {
		WithPolicy("default", nil)(c)
	}
	c.policies.check()
}

// WithCost charges a request what the function returns instead of one token.
// Zero is free. A negative cost is an error, [gcra.ErrCost], and goes to the
// error handler: the function may return one for what it cannot make sense of.
// That is so too under a limiter that only tries its limit, since it is no
// refusal; only [WithDryRun] serves such a request.
func WithCost(cost func(*http.Request) int) Option {
	return func(c *config) { c.cost = cost }
}

// WithSkip serves the requests for which the function returns true without
// asking the limiter: health checks, for one. They are not told of the limit.
func WithSkip(skip func(*http.Request) bool) Option {
	return func(c *config) { c.skip = skip }
}

// WithDryRun serves all requests, and reports those that the limit would
// refuse, and those for which there was no decision. The error says which: it
// is never nil, and is [gcra.ErrLimited], [gcra.ErrExceedsBurst], or what the
// error handler would get. Responses have no fields of the limit, since nobody
// has to keep to it. What is granted is charged, so that the reports are those
// of the real limit.
func WithDryRun(report func(r *http.Request, d gcra.Decision, err error)) Option {
	if report == nil {
		panic("httplimit: WithDryRun of nil")
	}
	return func(c *config) { c.try = report }
}

// WithObserver calls the function once for each request that is not skipped,
// with what came of asking the limiter: its decision or, if err is not nil, why
// there is none, as [WithErrorHandler] gets it; and whether the request is served
// all the same, as a dry run and an error handler may do. It is called before
// the request is served, and after one that is not has been answered. The
// context is the request's.
//
// It is for counting, as the Count of a Counter of contrib/metrics does, and has
// to be safe for concurrent use.
func WithObserver(observe func(ctx context.Context, d gcra.Decision, served bool, err error)) Option {
	if observe == nil {
		panic("httplimit: WithObserver of nil")
	}
	return func(c *config) { c.observe = observe }
}

// WithDenied answers refused requests by the handler. The fields of the limit,
// Retry-After (if a retry can pass) and Cache-Control are set; the handler writes
// status and body. The decision says why: with [gcra.ErrExceedsBurst] and with a
// RetryAfter of [gcra.Never] no retry passes.
func WithDenied(handler func(w http.ResponseWriter, r *http.Request, d gcra.Decision)) Option {
	return func(c *config) { c.denied = handler }
}

// WithErrorHandler decides on requests for which there is no decision: those
// without a key ([ErrKey]), with a negative cost ([gcra.ErrCost]), and those for
// which the limiter had no answer. If it returns true, the request is served,
// unlimited; otherwise the handler has to have answered it.
//
// Without this option the first two are answered with 400 Bad Request, and the
// others with 503 Service Unavailable: nothing passes for free.
func WithErrorHandler(handler func(w http.ResponseWriter, r *http.Request, err error) (serve bool)) Option {
	return func(c *config) { c.failed = handler }
}

// fail is the error handler if none is given.
func fail(w http.ResponseWriter, r *http.Request, err error) bool {
	status := http.StatusServiceUnavailable
	if errors.Is(err, ErrKey) || errors.Is(err, gcra.ErrCost) {
		status = http.StatusBadRequest
	}
	w.Header()["Cache-Control"] = []string{"no-store"}
	http.Error(w, http.StatusText(status), status)
	return false
}

// WithPolicy names the limit in the fields RateLimit-Policy and RateLimit. The
// name consists of printable ASCII. Without this option it is "default".
//
// A nil limit stands for the one that the decisions are made by. Where several
// limits are decided together, each needs its name and the function that returns
// it, as a limiter's Limit method does; so the option is given several times.
// RateLimit-Policy then lists them all, in that order, and RateLimit has the one
// whose limit the decision names: that which refused, or else is nearest to it.
// Policies with equal limits cannot be told apart: the first one is named.
func WithPolicy(name string, limit func() gcra.Limit) Option {
	p := policy{name: name, quoted: quote(name), limit: limit}
	return func(c *config) { c.policies.list = append(c.policies.list, p) }
}

// WithXRateLimit adds the older fields X-RateLimit-Limit, X-RateLimit-Remaining
// and X-RateLimit-Reset: the burst, the whole tokens left, and the whole
// seconds, rounded up, until the bucket is full.
//
// Servers disagree on what Reset counts from, so it has to be said: with nil it
// is a delta, the seconds from now; with a clock, time.Now for one, it is an
// epoch, the Unix time.
func WithXRateLimit(epoch func() time.Time) Option {
	return func(c *config) { c.older, c.wall = true, epoch }
}

// WithProblem answers refused requests with a problem details object (RFC 9457)
// of the type quota-exceeded, as application/problem+json, instead of text. A
// handler of [WithDenied] takes precedence.
func WithProblem() Option {
	return func(c *config) { c.problem = true }
}
