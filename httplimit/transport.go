package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A Waiter waits until a request of the key may be sent, or until the context
// ends. It must be safe for concurrent use. The limiters and tables of package
// shard are Waiters.
type Waiter[K comparable] interface {
	Wait(ctx context.Context, key K) error
}

// A Transport is a [http.RoundTripper] that paces requests by a limit for each
// key, the host for one, and leaves a key alone for as long as its server asks
// for. Make it with [NewTransport] and use it by address. It is safe for
// concurrent use, but its fields must be set before.
//
// Each request waits for its turn, with its own context: an end of the context
// ends the waiting, and a deadline that is too early fails at once, with an error
// that is [context.DeadlineExceeded] and has the Timeout method of a [net.Error],
// so that Timeout of the [url.Error] of an [http.Client] is true. A request that
// was not sent costs no connection, and its body is closed.
//
// When a response with the status 429 or 503 tells how long to stay away, all
// requests of its key that have not been sent yet, in whatever goroutine,
// are held for so long, and then for their turns. It is told by the first of
// these fields that makes sense:
//
//   - Retry-After, in seconds or as a date, which counts from the response's own
//     Date if it has one, so that clocks need not agree;
//   - RateLimit: the longest t of the items with r = 0, or, if there is none,
//     the shortest t; not if the response comes from a cache (has an Age);
//   - RateLimit-Reset, X-RateLimit-Reset, X-Rate-Limit-Reset and
//     X-RateLimit-Reset-After, in seconds, or from 10⁹ on as a Unix time (from
//     10¹² on in milliseconds).
//
// Since servers tell of their limits in all responses, the last two make a 503
// hold anybody only where nothing is left: by r = 0, or by the Remaining beside
// the Reset.
//
// A response that tells nothing holds nobody, and a later response never
// shortens a pause. What a response told is forgotten when its pause is over.
//
// A Transport never sends a request again: it hands all responses on as they
// are. So it sits below a client that retries, whose retries are held and paced
// like all requests.
type Transport[K comparable] struct {
	// Base sends the requests. Nil is [http.DefaultTransport].
	Base http.RoundTripper

	// MaxPause bounds how long a response can hold a key: a server may ask for
	// a year, by mistake or in bad faith. Zero is ten minutes. A negative one
	// turns pauses off.
	MaxPause time.Duration

	limiter Waiter[K]
	key     func(*http.Request) (K, error)
	paused  pauses[K]
}

// NewTransport returns a Transport. A nil limiter paces nothing, so that
// requests are held by pauses only. See [Host] for a key function. A key
// function that fails, or returns the zero K, fails the request with [ErrKey]:
// nothing is sent unlimited.
func NewTransport[K comparable](limiter Waiter[K], key func(*http.Request) (K, error)) *Transport[K] {
	if key == nil {
		panic("httplimit: NewTransport needs a key function")
	}
	return &Transport[K]{limiter: limiter, key: key}
}

// RoundTrip sends the request when it is its turn.
func (t *Transport[K]) RoundTrip(r *http.Request) (*http.Response, error) {
	key, err := t.admit(r)
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, timely(err)
	}
	res, err := t.base().RoundTrip(r)
	if err == nil && (res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable) {
		now := time.Now()
		if d := min(pauseOf(res.StatusCode, res.Header, now), t.longest()); d > 0 {
			t.paused.add(key, now, d)
		}
	}
	return res, err
}

// timely gives an error that is context.DeadlineExceeded the methods by which
// net/http and os tell timeouts, if it does not have them: they do not look at
// what an error wraps.
func timely(err error) error {
	if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return late{err}
}

// late is an error of a request that was not sent because of its deadline.
type late struct{ error }

func (l late) Unwrap() error { return l.error }
func (late) Timeout() bool   { return true }
func (late) Temporary() bool { return true } // as context.DeadlineExceeded says of itself

// admit returns when the request may be sent.
func (t *Transport[K]) admit(r *http.Request) (K, error) {
	var none K
	key, err := t.key(r)
	switch {
	case err != nil:
		return none, keyError(err)
	case key == none:
		return none, ErrKey
	}
	for ctx := r.Context(); ; {
		// The pause comes first: slots taken before would pass in it, and all
		// who have one would be let go together at its end.
		if err := t.paused.wait(ctx, key); err != nil {
			return none, err
		}
		if t.limiter == nil {
			return key, nil
		}
		if err := t.limiter.Wait(ctx, key); err != nil {
			return none, err
		}
		if !t.paused.has(key, time.Now()) {
			return key, nil
		}
		// Paused meanwhile: this slot is lost, and the limit still kept.
	}
}

func (t *Transport[K]) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

func (t *Transport[K]) longest() time.Duration {
	if t.MaxPause == 0 {
		return 10 * time.Minute
	}
	return t.MaxPause
}

// CloseIdleConnections closes the idle connections of Base, as
// [http.Client.CloseIdleConnections] expects.
func (t *Transport[K]) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Host is the key function for a limit by server: the host of the URL in lower
// case, with the port if it is not the scheme's own.
func Host(r *http.Request) (string, error) {
	if r.URL == nil || r.URL.Host == "" {
		return "", fmt.Errorf("%w: no host in the URL", ErrKey)
	}
	host := strings.ToLower(r.URL.Host)
	switch r.URL.Scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return host, nil
}
