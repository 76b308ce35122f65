package redislimit

import (
	"fmt"
	"time"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A FailurePolicy says what a Limiter decides while Redis does not answer. It has
// to be chosen: [Closed], [Open] or [Local]. The zero FailurePolicy is none, and
// New refuses it.
type FailurePolicy struct {
	kind     policyKind
	num, den int
}

type policyKind uint8

const (
	noPolicy policyKind = iota
	closedPolicy
	openPolicy
	localShare
)

// Closed refuses while Redis does not answer: a decision comes with an error that
// is [ErrUnavailable], and is a refusal itself.
func Closed() FailurePolicy { return FailurePolicy{kind: closedPolicy} }

// Open grants while Redis does not answer: every cost that the limit could ever
// grant, without an error and without a charge. WithNotify tells when.
func Open() FailurePolicy { return FailurePolicy{kind: openPolicy} }

// Local lets a limiter in this process decide while Redis does not answer, with
// num/den of the rate and of the burst, rounded down but at least one token: 1/n for
// n processes keeps the sum within the limit, if the burst is n or more. Its
// decisions come without an error, and their Limit is that share. What its bucket of
// a key still lacks when Redis answers again is charged there with the next decision
// about that key, in whole tokens, a begun one included; of a limit with InSteps what
// is below empty is not.
func Local(num, den int) FailurePolicy { return FailurePolicy{kind: localShare, num: num, den: den} }

// localKeys is how many keys the local limiter remembers; others are refused.
const localKeys = 1 << 16

func (p FailurePolicy) check() error {
	switch {
	case p.kind == noPolicy:
		return fmt.Errorf("redislimit: no failure policy: choose Closed, Open or Local")
	case p.kind == localShare && (p.num < 1 || p.den < p.num || p.den > 1<<20):
		return fmt.Errorf("redislimit: Local(%d, %d): want a share of more than 0 and at most 1, in parts of 2^20 at most", p.num, p.den)
	}
	return nil
}

// share returns the limit's part.
func (p FailurePolicy) share(l gcra.Limit) (gcra.Limit, error) {
	if p.kind != localShare || l == gcra.Unlimited() || l.Capacity() == 0 {
		return l, nil
	}
	n, period := l.Rate()
	num, den := uint64(p.num), uint64(p.den)
	g := gcd(num, den)
	num, den = num/g, den/g
	g = gcd(uint64(n), den)
	count, parts := uint64(n)/g*num, den/g
	if count > maxTerm || uint64(period) > (1<<62)/parts {
		return l, fmt.Errorf("redislimit: %d/%d of %v is too fine", p.num, p.den, l)
	}
	burst := max(uint64(l.Capacity())/den*num+uint64(l.Capacity())%den*num/den, 1)
	text := fmt.Sprintf("%d/%v burst %d", count, period*time.Duration(parts), burst)
	if step := stepOf(l); step > 0 {
		text += fmt.Sprintf(" step %v", step)
	}
	s, err := gcra.Parse(text)
	if err != nil {
		return l, fmt.Errorf("redislimit: %d/%d of %v: %w", p.num, p.den, l, err)
	}
	return s, nil
}

// newLocal returns the limiter that takes over, or nil.
func (p FailurePolicy) newLocal(l gcra.Limit, cfg *config) (*shard.Limiter[string], error) {
	if p.kind != localShare {
		return nil, nil
	}
	s, err := p.share(l)
	if err != nil {
		return nil, err
	}
	opts := []shard.Option{shard.WithMaxKeys(localKeys, shard.Refuse), shard.WithMaxWait(cfg.maxWait), shard.WithCatchUp(cfg.catchUp)}
	if cfg.debtSet {
		opts = append(opts, shard.WithMaxDebt(cfg.debt))
	}
	return shard.New[string](s, opts...), nil
}
