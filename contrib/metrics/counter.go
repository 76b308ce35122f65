package metrics

import (
	"context"
	"errors"
	"sync/atomic"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A Counter counts what middleware decided, where a limiter cannot: a dry run of
// the middleware's own, requests on which there was no decision, and limiters
// that have no Stats, as where the balances are on another machine. Its Count fits
// the WithObserver of httplimit and of contrib/grpclimit, and it is a [Source]:
//
//	front := &metrics.Counter{Limiter: clients}
//	policies.Set("clients", front)
//	limited := httplimit.New(httplimit.Local(clients), httplimit.RemoteAddr, httplimit.WithObserver(front.Count))
//
// The zero Counter counts. It must not be copied, and is safe for concurrent use;
// Count costs an atomic addition.
type Counter struct {
	// Limiter, if not nil, has the rest: waits, and keys remembered, forgotten and
	// turned away. Its own counts of requests are not told, since they are the
	// same requests; so it needs shard.WithStats for waits only. It is set before
	// the Counter is read.
	Limiter Source

	allowed, denied, wouldDeny, errors atomic.Int64
}

// Count counts one request by its result, as package metrics has them: by the
// decision, by whether the request is served, and by err if there is no decision.
//
// A refusal that comes as an error is a refusal: gcra.ErrLimited, or an
// atomic.WaitError. A caller who goes away (context.Canceled) is counted with
// them, since nothing failed here; but a deadline that ends before there is a
// decision is an error.
func (c *Counter) Count(_ context.Context, d gcra.Decision, served bool, err error) {
	why := err
	if err == nil {
		why = d.Err()
	}
	switch {
	case why == nil:
		c.allowed.Add(1)
	case errors.Is(why, gcra.ErrCost), err != nil && !refused(err):
		c.errors.Add(1) // in a dry run too: it tries the limit, not the program
	case served:
		c.wouldDeny.Add(1)
	case errors.Is(why, gcra.ErrExceedsBurst):
		c.errors.Add(1)
	default:
		c.denied.Add(1)
	}
}

// refused tells the refusals among errors.
func refused(err error) bool {
	var late *gatomic.WaitError
	return errors.Is(err, gcra.ErrLimited) || errors.Is(err, gcra.ErrExceedsBurst) ||
		errors.Is(err, context.Canceled) || errors.As(err, &late)
}

// Stats returns the counts, with those of Limiter that it does not have.
func (c *Counter) Stats() shard.Stats {
	var s shard.Stats
	if c.Limiter != nil {
		s = c.Limiter.Stats()
	}
	s.Granted, s.WouldRefuse, s.Invalid = c.allowed.Load(), c.wouldDeny.Load(), c.errors.Load()
	s.Refused = c.denied.Load() + s.Invalid
	return s
}
