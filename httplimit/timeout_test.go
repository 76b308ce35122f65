package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

type waiter func(ctx context.Context, key string) error

func (w waiter) Wait(ctx context.Context, key string) error { return w(ctx, key) }

// TestTimeouts: a request that is not sent because of its deadline is a timeout
// for whoever asks as net/http does, which does not unwrap; and no other is.
func TestTimeouts(t *testing.T) {
	short := 500 * time.Millisecond
	paces := shard.New[string](gcra.PerSecond(1))
	wraps := waiter(func(context.Context, string) error {
		return fmt.Errorf("a store: %w", context.DeadlineExceeded)
	})
	for _, row := range []struct {
		by      Waiter[string]
		paused  bool
		within  time.Duration // the context's deadline; 0: none
		client  time.Duration // http.Client's own
		cancel  time.Duration
		timeout bool
		why     string
	}{
		{paces, false, short, 0, 0, true, "the slot is beyond the deadline"},
		{paces, false, 0, short, 0, true, "or beyond the client's timeout"},
		{nil, true, short, 0, 0, true, "the pause is"},
		{nil, true, 0, short, 0, true, "or that is, beyond the client's"},
		{paces, false, -1, 0, 0, true, "the deadline has passed"},
		{wraps, false, short, 0, 0, true, "another Waiter, which wraps what it says"},
		{paces, false, time.Hour, 0, short, false, "canceled while it waits"},
		{nil, true, time.Hour, 0, short, false, "or in a pause"},
		{shard.New[string](gcra.Per(0, s)), false, short, 0, 0, false, "its turn never comes, whatever the deadline"},
		{shard.New[string](gcra.Per(1, time.Hour), shard.WithMaxWait(s)), false, time.Minute, 0, 0, false, "refused for another bound than the deadline"},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := &network{}
			if row.paused {
				n.answer = refusing(429, "Retry-After", "30")
			}
			tr := NewTransport[string](nil, Host)
			tr.Base = n
			if l, ok := row.by.(*shard.Limiter[string]); ok {
				l.Reset("here.test")
				l.Wait(t.Context(), "here.test")
			}
			c := &http.Client{Transport: tr, Timeout: row.client}
			if err := send(t, tr, t.Context(), here); err != nil {
				t.Fatal(err)
			}
			tr.limiter = row.by
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if row.within != 0 {
				ctx, cancel = context.WithTimeout(ctx, row.within)
				defer cancel()
			}
			if row.cancel > 0 {
				time.AfterFunc(row.cancel, cancel)
			}
			r, err := http.NewRequestWithContext(ctx, "GET", here, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Do(r)
			var failed *url.Error
			if !errors.As(err, &failed) || len(n.sent) != 1 {
				t.Fatalf("%v, sent %d times: %s", err, len(n.sent), row.why)
			}
			if failed.Timeout() != row.timeout || os.IsTimeout(err) != row.timeout || errors.Is(err, context.DeadlineExceeded) != row.timeout {
				t.Errorf("%v: url.Error.Timeout %v, os.IsTimeout %v, is DeadlineExceeded %v, want all %v: %s",
					err, failed.Timeout(), os.IsTimeout(err), errors.Is(err, context.DeadlineExceeded), row.timeout, row.why)
			}
			if told, ok := failed.Err.(net.Error); !ok && row.timeout || ok && told.Timeout() != row.timeout {
				t.Errorf("the Transport's own error is %#v, want a net.Error: %s", failed.Err, row.why)
			}
		})
	}
}
