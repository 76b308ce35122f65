package lease

import (
	"fmt"
	"time"

	"github.com/weir-go/weir/clock"
)

// An Option changes how leases are taken. Later options win.
type Option func(*config)

type config struct {
	clock       clock.Clock
	life        time.Duration
	first, most int
	parts       int
	keys        int
}

// WithLifetime sets how long a lease may be spent, counted from before it was
// asked for; one second is the default. A round trip that takes longer is given
// up. Twice the lifetime is half the round trips, and twice the tokens that
// the second law of the package permits beyond the limit.
func WithLifetime(d time.Duration) Option {
	if d <= 0 {
		panic(fmt.Sprintf("weir: lease: WithLifetime(%v): want more than 0", d))
	}
	return func(c *config) { c.life = d }
}

// WithMaxBlock bounds a block to n tokens, beside the bound of [WithShare]. The
// default is no bound of its own.
func WithMaxBlock(n int) Option {
	if n < 1 {
		panic(fmt.Sprintf("weir: lease: WithMaxBlock(%d): want 1 or more", n))
	}
	return func(c *config) { c.most = n }
}

// WithFirstBlock sets how many tokens a key's first block has, and how few a block
// comes down to; 1 is the default. With the maximum, all blocks have that size.
func WithFirstBlock(n int) Option {
	if n < 1 {
		panic(fmt.Sprintf("weir: lease: WithFirstBlock(%d): want 1 or more", n))
	}
	return func(c *config) { c.first = n }
}

// WithShare bounds a block to one part of the burst in that many, rounded down but
// at least one token; 8 is the default. Set it to the number of processes, or more,
// so that they cannot hold the whole burst among them.
func WithShare(parts int) Option {
	if parts < 1 {
		panic(fmt.Sprintf("weir: lease: WithShare(%d): want 1 or more", parts))
	}
	return func(c *config) { c.parts = parts }
}

// WithMaxKeys bounds the keys that are remembered; 2^20 is the default, at 310 bytes
// each, or 570 with tokens of [Redis] left. A key for which there is no room is decided
// by the store each time.
func WithMaxKeys(n int) Option {
	if n < 1 {
		panic(fmt.Sprintf("weir: lease: WithMaxKeys(%d): want 1 or more", n))
	}
	return func(c *config) { c.keys = n }
}

// WithClock sets the clock that lifetimes are measured by; [clock.System] is the
// default. Round trips time out by the runtime's timers whatever the clock.
func WithClock(clk clock.Clock) Option {
	if clk == nil {
		panic("weir: lease: WithClock(nil)")
	}
	return func(c *config) { c.clock = clk }
}
