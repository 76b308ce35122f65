package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/weir-go/weir/gcra"
)

// ErrKey reports a request that has no key: its key function failed, or
// returned the zero K. Errors of key functions wrap it.
var ErrKey = errors.New("weir: no key for the request")

// A Limiter decides whether a key gets n tokens now. It does not wait, but it
// may ask another machine: hence the context, the request's, and the error,
// which is for questions without an answer. A refusal is no error. It must be
// safe for concurrent use. See [Local] for the limiters of this process.
type Limiter[K comparable] interface {
	Decide(ctx context.Context, key K, n int) (gcra.Decision, error)
}

// Local makes a [Limiter] of what decides within this process and cannot fail,
// as the limiters and tables of package shard do.
func Local[K comparable](l interface{ Take(K, int) gcra.Decision }) Limiter[K] {
	if l == nil {
		panic("httplimit: Local of nil")
	}
	return local[K]{l}
}

type local[K comparable] struct {
	of interface{ Take(K, int) gcra.Decision }
}

func (l local[K]) Decide(_ context.Context, key K, n int) (gcra.Decision, error) {
	return l.of.Take(key, n), nil
}

// New returns middleware that serves the requests whose key the limiter grants,
// and answers the others itself. Both parameters are required: there is no
// default key, since there is no safe one. See [RemoteAddr] and [ClientAddr]
// for keys made of addresses; an account's or a token's name is better, if the
// request has been authenticated before.
//
// A key function that fails, or returns the zero K ("", 0, the zero Prefix),
// leads to the error handler, never to a bucket that all such requests share.
//
// A granted request costs two allocations besides those of limiter and key
// function, both for the header fields, and about half a microsecond.
func New[K comparable](limiter Limiter[K], key func(*http.Request) (K, error), opts ...Option) func(http.Handler) http.Handler {
	if limiter == nil || key == nil {
		panic("httplimit: New needs a limiter and a key function")
	}
	return Func(func(r *http.Request, n int) (gcra.Decision, error) {
		k, err := key(r)
		if err != nil {
			return gcra.Decision{}, keyError(err)
		}
		var none K
		if k == none {
			return gcra.Decision{}, ErrKey
		}
		return limiter.Decide(r.Context(), k, n)
	}, opts...)
}

// keyError wraps a key function's error in ErrKey, once.
func keyError(err error) error {
	if errors.Is(err, ErrKey) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrKey, err)
}

// Func is [New] with a function of the request in place of limiter and key: for
// one bucket that all requests share on purpose, and for limits that are decided
// together, such as a joint of package shard. Decide asks for n tokens; what it
// says of errors is what [Limiter] says, and for a request without a key it
// returns [ErrKey] or an error that wraps it.
func Func(decide func(r *http.Request, n int) (gcra.Decision, error), opts ...Option) func(http.Handler) http.Handler {
	if decide == nil {
		panic("httplimit: Func of nil")
	}
	m := &middleware{decide: decide}
	for _, opt := range opts {
		opt(&m.config)
	}
	m.complete()
	return func(next http.Handler) http.Handler {
		if next == nil {
			panic("httplimit: no handler to limit")
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// The ResponseWriter goes through as it is, with all that it can do.
			if m.admit(w, r) {
				next.ServeHTTP(w, r)
			}
		})
	}
}

type middleware struct {
	config
	decide func(*http.Request, int) (gcra.Decision, error)
}

// admit reports whether the request is to be served. If not, it has been
// answered.
func (m *middleware) admit(w http.ResponseWriter, r *http.Request) bool {
	if m.skip != nil && m.skip(r) {
		return true
	}
	n := 1
	if m.cost != nil {
		n = m.cost(r)
	}
	d, err := m.decide(r, n)
	if err == nil && d.Err() == gcra.ErrCost {
		err = gcra.ErrCost // the cost function's fault, no refusal
	}
	served := true
	switch {
	case m.try != nil:
		m.attempt(r, d, err) // untold: what is not enforced is no limit to the client
	case err != nil:
		served = m.failed(w, r, err)
	default:
		m.tell(w.Header(), d)
		if served = d.OK(); !served {
			m.refuse(w, r, d)
		}
	}
	if m.observe != nil {
		m.observe(r.Context(), d, served, err)
	}
	return served
}

// attempt reports what a dry run serves although the limit would not.
func (m *middleware) attempt(r *http.Request, d gcra.Decision, err error) {
	if err == nil {
		err = d.Err()
	}
	if err != nil {
		m.try(r, d, err)
	}
}
