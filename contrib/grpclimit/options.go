package grpclimit

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/weir-go/weir/gcra"
)

// An Option changes how an interceptor charges and answers. Later options win.
type Option func(*config)

type config struct {
	policy   string
	cost     func(ctx context.Context, method string, msg any) int
	skip     func(ctx context.Context, method string) bool
	denied   func(ctx context.Context, r *Refusal) error
	failed   func(ctx context.Context, method string, err error) error
	dry      bool
	would    func(ctx context.Context, method string, err error)
	observe  func(ctx context.Context, d gcra.Decision, served bool, err error)
	messages bool
	longest  time.Duration
}

func newConfig(opts []Option) config {
	cfg := config{policy: "default", longest: time.Minute}
	for _, opt := range opts {
		opt(&cfg)
	}
	return cfg
}

// WithPolicy names the limit in answers; "default" is the default.
func WithPolicy(name string) Option {
	if name == "" || !utf8.ValidString(name) {
		panic(fmt.Sprintf("weir: grpclimit: WithPolicy(%q): want a name in UTF-8", name))
	}
	return func(c *config) { c.policy = name }
}

// WithCost says how many tokens a call costs, or with [WithMessages] a message;
// 1 is the default. msg is the request of a unary call, the message of a stream,
// and nil when a stream is opened. A cost of 0 passes, and a negative one is
// refused.
func WithCost(cost func(ctx context.Context, method string, msg any) int) Option {
	return func(c *config) { c.cost = cost }
}

// WithSkip lets calls pass uncharged, such as those of health checks. It is
// asked before the key, once a call or stream.
func WithSkip(skip func(ctx context.Context, method string) bool) Option {
	return func(c *config) { c.skip = skip }
}

// WithDenied says what a refused caller gets. If it returns nil, that is the
// refusal as it is, so the function may as well only log. The pushback is sent
// whatever it returns.
func WithDenied(denied func(ctx context.Context, r *Refusal) error) Option {
	return func(c *config) { c.denied = denied }
}

// WithError says what a caller gets when there is no key or the limiter failed.
// For the former, errors.Is finds [ErrKey] in the error. If it returns nil, the
// call passes uncharged.
//
// By default a call fails: with the status of the error if it has one; with
// Canceled or DeadlineExceeded if its context ended; else with Internal for want
// of a key, and with Unavailable for want of a decision. The text of other
// errors is not told to callers of a server.
func WithError(failed func(ctx context.Context, method string, err error) error) Option {
	return func(c *config) { c.failed = failed }
}

// WithDryRun tries a limit: everything passes, and report, unless it is nil, is
// told the error that a call or message would have got. What would have been
// refused is not charged. It does not go with [Waiting], nor with a [Func] that
// waits: have that limiter itself made with shard.WithDryRun.
func WithDryRun(report func(ctx context.Context, method string, err error)) Option {
	return func(c *config) { c.dry, c.would = true, report }
}

// WithObserver calls the function once for each call or message that is asked
// about, with what came of it: the decision or, if err is not nil, what the
// limiter or the key function said instead; and whether it passes all the same, as
// [WithDryRun] and [WithError] may let it. A Limiter that is [Waiting] makes no
// decisions: its refusals are errors, in which errors.Is finds gcra.ErrLimited and
// its like, or errors.As an atomic.WaitError; and one that was made with
// shard.WithDryRun seems to grant everything, which only its Stats tell apart.
// Calls that [WithSkip] lets pass are not told, nor is a message that waited when
// its stream ended.
//
// It is for counting, as the Count of a Counter of contrib/metrics does, and has
// to be safe for concurrent use.
func WithObserver(observe func(ctx context.Context, d gcra.Decision, served bool, err error)) Option {
	if observe == nil {
		panic("weir: grpclimit: WithObserver of nil")
	}
	return func(c *config) { c.observe = observe }
}

// WithMessages makes a stream interceptor charge each message instead of the
// opening of the stream. Unary interceptors ignore it.
func WithMessages() Option { return func(c *config) { c.messages = true } }

// WithMaxPushback bounds the pause that a server asks of a client that retries
// by itself; one minute is the default. If it would have to be longer, the client
// is asked not to retry. RetryInfo tells the whole time anyway.
func WithMaxPushback(d time.Duration) Option {
	if d < 0 {
		panic(fmt.Sprintf("weir: grpclimit: WithMaxPushback(%v): want 0 or more", d))
	}
	return func(c *config) { c.longest = d }
}
