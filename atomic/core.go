package atomic

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// An Option changes how a limiter reads the clock or waits. Later options win.
type Option func(*Core)

// WithClock sets the clock that decisions read; [clock.System] is the default.
// Waiting sleeps on the runtime's timers whatever the clock.
func WithClock(c clock.Clock) Option {
	if c == nil {
		panic("weir: WithClock(nil)")
	}
	return func(core *Core) { core.clock = c }
}

// WithCatchUp bounds the lateness of timers that Wait makes up for; 10 ms is
// the default. With 0 Wait is strict: after a timer that was late the next
// interval starts at the wake-up, so that a loop never gets two grants closer
// than their interval, and less than the rate. Waiters that sleep at the same
// time keep their slots, and if they wake late they are closer.
func WithCatchUp(d time.Duration) Option {
	mustNotBeNegative("WithCatchUp", d)
	return func(c *Core) { c.catchUp = d }
}

// WithSpin makes Wait spin instead of sleeping for the last stretch of d
// before its slot: more exact by the lateness of timers, at the price of a
// busy core.
func WithSpin(d time.Duration) Option {
	mustNotBeNegative("WithSpin", d)
	return func(c *Core) { c.spin = d }
}

// WithJitter makes a Wait that has to sleep, sleep longer by a random time of
// less than d, though not past its context's deadline: it spreads a herd that
// was released by one event. Slots stay as they are.
func WithJitter(d time.Duration) Option {
	mustNotBeNegative("WithJitter", d)
	return func(c *Core) { c.jitter = d }
}

// WithMaxWait makes a Wait or Reserve whose slot is more than d away fail at
// once, with gcra.ErrLimited and the time that it would have taken, and book
// nothing: so one huge WaitN cannot hold up everybody after it. The default is
// no bound.
func WithMaxWait(d time.Duration) Option {
	mustNotBeNegative("WithMaxWait", d)
	return func(c *Core) { c.maxWait = d }
}

// WithMaxDebt bounds the tokens that Debit, and Settle when more was used than
// reserved, may charge below an empty bucket; one burst is the default, and
// 2^60 ticks the end (see package gcra).
func WithMaxDebt(n int) Option {
	if n < 0 {
		panic(fmt.Sprintf("weir: WithMaxDebt(%d): want 0 or more", n))
	}
	return func(c *Core) { c.debt, c.debtSet = n, true }
}

func mustNotBeNegative(option string, d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("weir: %s(%v): want 0 or more", option, d))
	}
}

// A Core is what the engines of this package and of shard share: the clock,
// counted from the engine's first reading, the limit in force, and the way of
// waiting. Programs use it only to build an engine of their own out of cells.
// It must not be copied after first use and is safe for concurrent use.
type Core struct {
	clock   clock.Clock   // nil for the system's, which start counts from:
	start   time.Time     // that spares a call of an interface
	born    time.Duration // the clock's first reading
	catchUp time.Duration
	spin    time.Duration
	jitter  time.Duration
	maxWait time.Duration
	debt    int
	debtSet bool

	gen atomic.Pointer[Generation]
	set sync.Mutex // held while the generation changes; deciders do without

	_   [64]byte // what waiters write lies apart from what decisions read
	lag atomic.Pointer[lag]
	_   [56]byte
}

// Init sets the core up for an engine with that limit. The clock's reading at
// this call is the engine's first.
func (c *Core) Init(limit gcra.Limit, opts ...Option) {
	c.catchUp, c.maxWait = 10*time.Millisecond, gcra.Never
	for _, opt := range opts {
		opt(c)
	}
	if c.clock == nil {
		c.start = time.Now()
	} else {
		c.born = c.clock.Now()
	}
	c.gen.Store(c.first(limit))
}

// Now returns the time since the engine's first reading; an earlier reading
// counts as the first.
func (c *Core) Now() time.Duration {
	if c.clock == nil {
		return time.Since(c.start)
	}
	now := c.clock.Now()
	switch e := now - c.born; {
	case now < c.born:
		return 0
	case e < 0: // further apart than a Duration reaches
		return gcra.Never
	default:
		return e
	}
}

// MaxDebt returns the tokens that may be charged below an empty bucket under
// the limit.
func (c *Core) MaxDebt(l *gcra.Limit) int {
	if c.debtSet {
		return c.debt
	}
	return l.Capacity()
}

// add is now + d, at most the end of a Duration.
func add(now, d time.Duration) time.Duration {
	if d > gcra.Never-now {
		return gcra.Never
	}
	return now + d
}
