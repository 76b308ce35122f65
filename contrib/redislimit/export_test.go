package redislimit

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/gcra"
)

// virtualPrelude takes the time from the last argument, and keeps what it writes
// for ever, since the server's own time goes on while that stands still.
const virtualPrelude = `local now, forever = tonumber(table.remove(ARGV)), true
`

// NewVirtual returns a limiter in a time that the test tells. A start is made as a
// change of limit at that instant: keys that are not there have that many tokens.
func NewVirtual(client redis.Scripter, limit gcra.Limit, policy FailurePolicy, now func() time.Duration, opts ...Option) (*Limiter, error) {
	first := limit
	if option(limit, "start") != "" {
		first = gcra.Limit{}
		if d, _ := gcra.Parse(limit.String()); d == limit {
			if n := startOf(limit); n > 0 {
				count, period := limit.Rate()
				first = gcra.Per(count, period).Burst(n)
			}
		}
	}
	l, err := New(client, first, policy, append([]Option{WithTimeout(time.Minute)}, opts...)...)
	if err != nil {
		return nil, err
	}
	l.script, l.virtual = newScript(virtualPrelude), now
	if first != limit {
		err = l.SetLimit(context.Background(), limit)
	}
	return l, err
}

func startOf(limit gcra.Limit) int {
	at := gcra.At(&limit, 0)
	return gcra.Peek(&limit, gcra.Fresh(&limit, at), at, 0).Remaining()
}

// A careless processor lets go-redis send a command again.
type careless struct{ processor }

func (c careless) Process(ctx context.Context, cmd redis.Cmder) error {
	return c.processor.Process(ctx, cmd.(command).Cmd)
}

// Careless makes the limiter one that is charged twice.
func (l *Limiter) Careless() { l.on = careless{l.on} }

// A counter counts what is sent.
type counter struct {
	processor
	n *atomic.Int64
}

func (c counter) Process(ctx context.Context, cmd redis.Cmder) error {
	c.n.Add(1)
	return c.processor.Process(ctx, cmd)
}

// Count returns how many commands the limiter has sent since it was called first.
func (l *Limiter) Count() int64 {
	c, ok := l.on.(counter)
	if !ok {
		c = counter{l.on, new(atomic.Int64)}
		l.on = c
	}
	return c.n.Load()
}

// SlotOf is the hash slot of a key.
func SlotOf(key string) uint16 { return slotOf(key) }

// Refused notes a refusal of the key.
func (l *Limiter) Refused(key string) {
	t := l.begin()
	defer l.end()
	at := gcra.At(&t.g.limit, 0)
	l.memory.note(t, key, at.Tick, at, gcra.Refuse(&t.g.limit, at, 1), 0)
}

// Remembered returns how many refusals are remembered.
func (l *Limiter) Remembered() (n int) {
	for i := range l.memory.shards {
		n += len(l.memory.shards[i].of)
	}
	return n
}

// Terms returns what a token takes: m/d µs.
func Terms(l gcra.Limit) (m, d uint64, ok bool) {
	t, err := newTerms(l)
	if err != nil {
		return 0, 0, false
	}
	return t.m, t.d, true
}

// TimeOf returns what n tokens take.
func TimeOf(l gcra.Limit, n uint64) (w, r uint64) {
	t, err := newTerms(l)
	if err != nil {
		panic(err)
	}
	s, _ := t.time(n)
	return s.w, s.r
}

// Lacking returns the Peek of n tokens at a bucket that lacks so much.
func Lacking(l gcra.Limit, w, r uint64, n int) gcra.Decision {
	t, err := newTerms(l)
	if err != nil {
		panic(err)
	}
	tat, at := t.before(span{w, r}, 0)
	return gcra.Peek(&t.limit, tat, at, n)
}

// Explain is what callers are told of an error of Redis' own.
func Explain(err error) error { return explain(context.Background(), err, true) }
