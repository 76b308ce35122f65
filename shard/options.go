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
	core   []gatomic.Option
	shards int
	most   int64
	policy Policy
	stats  bool
	dry    bool
	worst  int
}

func shared(o gatomic.Option) Option {
	return func(c *config) { c.core = append(c.core, o) }
}

// WithClock sets the clock that decisions read; [clock.System] is the default.
// Waiting sleeps on the runtime's timers whatever the clock.
func WithClock(c clock.Clock) Option { return shared(gatomic.WithClock(c)) }

// WithCatchUp bounds the lateness of timers that Wait makes up for; 10 ms is
// the default, 0 is strict. See the WithCatchUp of package atomic.
func WithCatchUp(d time.Duration) Option { return shared(gatomic.WithCatchUp(d)) }

// WithSpin makes Wait spin for the last stretch of d before its slot.
func WithSpin(d time.Duration) Option { return shared(gatomic.WithSpin(d)) }

// WithJitter makes a Wait that has to sleep, sleep longer by a random time of
// less than d.
func WithJitter(d time.Duration) Option { return shared(gatomic.WithJitter(d)) }

// WithMaxWait makes a Wait or Reserve whose slot is more than d away fail at
// once, with gcra.ErrLimited, and book nothing.
func WithMaxWait(d time.Duration) Option { return shared(gatomic.WithMaxWait(d)) }

// WithMaxDebt bounds the tokens that Debit, and Settle when more was used than
// reserved, may charge below an empty bucket; one burst is the default.
func WithMaxDebt(n int) Option { return shared(gatomic.WithMaxDebt(n)) }

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
// a new key, it first looks among up to 128 remembered ones for a full bucket to
// forget; then the policy decides. Keys that owe time are never evicted.
// Stats counts the decisions that the policy made. A [Table] has a bound already,
// its capacity, which n has to repeat.
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

// WithDryRun tries a limit: every decision is OK and every Wait returns at once,
// while Err and RetryAfter keep the real verdict and Stats counts what would
// have been refused. Balances move as they would if the refused had gone away.
func WithDryRun() Option { return func(c *config) { c.dry = true } }

// WithTopRefused keeps count of the n keys that are refused most, at most
// 1000, in memory for 8·n keys. See [Limiter.TopRefused].
func WithTopRefused(n int) Option {
	if n < 1 || n > 1000 {
		panic(fmt.Sprintf("weir: WithTopRefused(%d): want 1 to 1000", n))
	}
	return func(c *config) { c.worst = n }
}
