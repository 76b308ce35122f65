package redislimit

import (
	"context"

	"github.com/weir-go/weir/gcra"
)

// Limit returns the limit in force.
func (l *Limiter) Limit() gcra.Limit {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.gen.limit
}

// SetLimit changes the limit. A key keeps its tokens, the fraction of one included,
// and at most the new burst; debt stays, in tokens, and is paid at the new rate. An
// equal limit changes nothing, and a Start means nothing here. The change counts
// from the instant at which Redis is asked the time, or if it does not answer from
// this limiter's first decision after that. It waits for calls that are under way.
//
// Another process has the new limit once it is told it there; values that were
// written under one limit are carried over to the other by whoever reads them, as
// often as that happens. The error says that the limit does not fit, as in [New],
// or that the context is done; then nothing has changed.
func (l *Limiter) SetLimit(ctx context.Context, limit gcra.Limit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g, err := l.newGeneration(limit)
	if err != nil {
		return err
	}
	share, err := l.policy.share(limit)
	if err != nil {
		return err
	}
	if l.Limit() == limit {
		return nil
	}
	since := int64(-1)
	a, err := l.ask(ctx, turn{began: l.now()}, &query{op: "time", a: "0"})
	if err == nil {
		since = a.now
	} else if ctx.Err() != nil {
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gen.limit == limit {
		return nil
	}
	g.follow(l.gen, since)
	l.gen = g
	l.memory.forget()
	if l.local != nil {
		l.owing.change(l, share)
	}
	return nil
}
