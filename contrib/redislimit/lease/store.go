package lease

import (
	"context"

	"github.com/weir-go/weir/gcra"
)

// A Store is the shared limiter that leases are taken from. See [Redis]. It must
// be safe for concurrent use.
type Store interface {
	// Limit returns the limit in force.
	Limit() gcra.Limit

	// Lend takes as many of the key's tokens as there are, at most most, or none
	// if there are fewer than least. It never waits for tokens. The loan's
	// decision is on least tokens where it is a refusal. An error means that
	// nobody knows, or that the store's failure policy refuses: then nothing is
	// lent.
	Lend(ctx context.Context, key string, least, most int) (Loan, error)
}

// A Loan is what a Store lent: the decision, whose Granted says how much, and
// the way back.
type Loan struct {
	Decision gcra.Decision

	// Settle says how many of the tokens were used, once. The others go back to
	// the store, as far as the limit has not refilled them since: rule 15 of
	// package gcra's GiveBack. It is nil if nothing can come back.
	Settle func(ctx context.Context, used int) error
}
