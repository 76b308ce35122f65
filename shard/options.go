package shard

import (
	"fmt"
	"math/bits"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
)

// An Option changes how a limiter reads the clock, waits or remembers keys.
// Later options win.
type Option func(*config)

type config struct {
	pacer  []gatomic.Option
	shards int
	most   int64
	policy Policy
	stats  bool
}

func pacing(o gatomic.Option) Option {
	return func(c *config) { c.pacer = append(c.pacer, o) }
}

// WithClock sets the clock that decisions read; [clock.System] is the default.
// Waiting sleeps on the runtime's timers whatever the clock.
func WithClock(c clock.Clock) Option { return pacing(gatomic.WithClock(c)) }

// WithCatchUp bounds the lateness of timers that Wait makes up for; 10 ms is
// the default, 0 is strict. See the WithCatchUp of package atomic.
func WithCatchUp(d time.Duration) Option { return pacing(gatomic.WithCatchUp(d)) }

// WithSpin makes Wait spin for the last stretch of d before its slot.
func WithSpin(d time.Duration) Option { return pacing(gatomic.WithSpin(d)) }

// WithJitter makes a Wait that has to sleep, sleep longer by a random time of
// less than d.
func WithJitter(d time.Duration) Option { return pacing(gatomic.WithJitter(d)) }

// WithMaxWait makes a Wait whose slot is more than d away fail at once, with
// an error that is gcra.ErrLimited.
func WithMaxWait(d time.Duration) Option { return pacing(gatomic.WithMaxWait(d)) }

// WithShards sets the number of maps that keys are spread over, rounded up to
// a power of two; 64 is the default, and each takes about 3 KiB when empty.
// The longest pause of an insert, when a map grows, is in proportion to the
// keys in a shard.
func WithShards(n int) Option {
	if n < 1 || n > maxShards {
		panic(fmt.Sprintf("weir: WithShards(%d): want 1 to %d", n, maxShards))
	}
	return func(c *config) { c.shards = 1 << bits.Len(uint(n-1)) }
}

const maxShards = 1 << 16

// A Policy says what happens to a new key for which there is no room.
type Policy uint8

const (
	// Refuse treats the key as if its bucket were empty: the decision is
	// gcra.ErrLimited. It is the default.
	Refuse Policy = iota
	// Admit decides as for a key never seen and remembers nothing, so that the
	// key is not limited. A Wait that could not go at once gets
	// gcra.ErrLimited instead: all such waiters would wake together.
	Admit
)

// WithMaxKeys bounds the number of keys remembered. When there is no room for
// a new key, it first looks among up to 64 remembered ones for a full bucket to
// forget; then the policy decides. Keys that owe time are never evicted.
// Stats counts the new keys that got the policy.
func WithMaxKeys(n int, policy Policy) Option {
	if n < 1 {
		panic(fmt.Sprintf("weir: WithMaxKeys(%d): want 1 or more", n))
	}
	if policy > Admit {
		panic(fmt.Sprintf("weir: WithMaxKeys: unknown policy %d", policy))
	}
	return func(c *config) { c.most, c.policy = int64(n), policy }
}

// WithStats counts what was granted, refused and waited for. Without it those
// numbers stay 0; the others of [Stats] are always counted.
func WithStats() Option { return func(c *config) { c.stats = true } }
