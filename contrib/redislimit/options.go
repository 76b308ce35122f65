package redislimit

import (
	"fmt"
	"time"
)

// An Option changes how a Limiter asks and waits. Later options win.
type Option func(*config)

type config struct {
	prefix  string
	timeout time.Duration
	maxWait time.Duration
	catchUp time.Duration
	memory  time.Duration
	debt    int
	debtSet bool
	notify  func(State)
	err     error
}

func newConfig(opts []Option) config {
	c := config{prefix: "weir:", timeout: 100 * time.Millisecond, maxWait: time.Minute, catchUp: 10 * time.Millisecond, memory: time.Second}
	for _, opt := range opts {
		opt(&c)
	}
	return c
}

// WithPrefix sets what stands before every key in Redis; "weir:" is the default.
// Limiters with the same prefix share their keys' buckets: that is what the
// processes of a service want, and what two limits of one key do not.
func WithPrefix(prefix string) Option {
	return func(c *config) { c.prefix = prefix }
}

// WithTimeout bounds the time that a call waits for Redis; 100 ms is the default.
// It has to be at least a millisecond. Keep it below the deadlines of callers: a
// call that ends with its context has that error, and says nothing of the server.
// A Client ends no call early with its context, but waits as long as this, unless it
// has ContextTimeoutEnabled.
func WithTimeout(d time.Duration) Option {
	return func(c *config) {
		if c.timeout = d; d < time.Millisecond {
			c.err = fmt.Errorf("redislimit: WithTimeout(%v): want a millisecond or more", d)
		}
	}
}

// WithMaxDebt bounds the tokens that Debit, and Settle when more was used than
// reserved, may charge below an empty bucket; one burst is the default.
func WithMaxDebt(n int) Option {
	return func(c *config) {
		if c.debt, c.debtSet = n, true; n < 0 {
			c.err = fmt.Errorf("redislimit: WithMaxDebt(%d): want 0 or more", n)
		}
	}
}

// WithMaxWait makes a Wait or Reserve whose slot is more than d away fail at
// once, with gcra.ErrLimited, and book nothing; a minute is the default, a year
// the most.
func WithMaxWait(d time.Duration) Option {
	return func(c *config) {
		if c.maxWait = d; d < 0 || d > 366*24*time.Hour {
			c.err = fmt.Errorf("redislimit: WithMaxWait(%v): want 0 to a year", d)
		}
	}
}

// WithCatchUp bounds the lateness, of timers and of the way to Redis, that Wait
// makes up for; 10 ms is the default and 0 makes up for none.
func WithCatchUp(d time.Duration) Option {
	return func(c *config) {
		if c.catchUp = d; d < 0 {
			c.err = fmt.Errorf("redislimit: WithCatchUp(%v): want 0 or more", d)
		}
	}
}

// WithMemory bounds the time for which a refusal is remembered, so that who goes
// on asking in vain is refused without a round trip; a second is the default and 0
// remembers none. What other processes give back meanwhile is not seen.
func WithMemory(d time.Duration) Option {
	return func(c *config) {
		if c.memory = d; d < 0 {
			c.err = fmt.Errorf("redislimit: WithMemory(%v): want 0 or more", d)
		}
	}
}

// WithNotify has f called when Redis stops answering and when it answers again,
// once each, by the call that saw it, before that returns. It must not call the
// limiter.
func WithNotify(f func(State)) Option {
	return func(c *config) { c.notify = f }
}
