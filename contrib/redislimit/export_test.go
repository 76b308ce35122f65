package redislimit

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/gcra"
)

// virtualPrelude takes the time from the last argument, and keeps what it writes
// for ever, since the server's own time goes on while that stands still.
const virtualPrelude = `local now, forever = tonumber(ARGV[#ARGV]), true
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
	l, err := New(client, first, policy, opts...)
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

// AskAlways makes the limiter remember no refusal.
func (l *Limiter) AskAlways() { l.memory.off = true }
