package lease

import (
	"context"
	"errors"

	"github.com/weir-go/weir/contrib/redislimit"
	"github.com/weir-go/weir/gcra"
)

// Redis is the Store of a limiter that keeps its buckets in Redis. Others may use
// the limiter itself beside the leases, on the same keys. While the server is away
// the limiter's failure policy lends: with Open, blocks that nobody is charged for, with
// Local, of the buckets in this process; they last as long as other leases, and
// what is left of them at Close is lost.
//
// A request that needs more than one token asks twice if there are as many as it
// needs, but not a block.
func Redis(l *redislimit.Limiter) Store {
	if l == nil {
		panic("weir: lease: Redis(nil)")
	}
	return shared{l}
}

type shared struct{ of *redislimit.Limiter }

func (s shared) Limit() gcra.Limit { return s.of.Limit() }

func (s shared) Lend(ctx context.Context, key string, least, most int) (Loan, error) {
	if least <= 0 {
		d, err := s.of.Take(ctx, key, least)
		return Loan{Decision: d}, err
	}
	if least == 1 {
		return loan(s.of.ReserveUpTo(ctx, key, most))
	}
	got, err := loan(s.of.ReserveWithin(ctx, key, 0, most))
	if most == least || err != nil || !errors.Is(got.Decision.Err(), gcra.ErrLimited) {
		return got, err
	}
	return loan(s.of.ReserveWithin(ctx, key, 0, least))
}

func loan(r *redislimit.Reservation, err error) (Loan, error) {
	if r == nil {
		return Loan{}, err
	}
	return Loan{Decision: r.Decision(), Settle: r.Settle}, err
}
