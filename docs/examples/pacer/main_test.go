package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		start := time.Now()
		if err := run(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		want := `each host gets 10/s burst 3
alpha.test after   0 ms
alpha.test after   0 ms
alpha.test after   0 ms
alpha.test after 100 ms
alpha.test after 200 ms
alpha.test after 300 ms
alpha.test after 400 ms
alpha.test after 500 ms
`
		want += strings.ReplaceAll(strings.TrimPrefix(want, "each host gets 10/s burst 3\n"), "alpha.test", "beta.test ") +
			"alpha.test within 50 ms: the slot is too far away, and nothing was sent\n"
		if got := out.String(); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
		// The hosts do not wait for each other, and a deadline that cannot be
		// met does not wait at all.
		if d := time.Since(start); d != 500*time.Millisecond {
			t.Errorf("it took %v", d)
		}
	})
}

// A closer notes that it was closed.
type closer struct {
	io.Reader
	closed bool
}

func (c *closer) Close() error { c.closed = true; return nil }

func TestRefusedClosesTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &hosts{}
		p := paced{shard.New[string](gcra.PerSecond(1)), network}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		body := &closer{Reader: strings.NewReader("body")}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://alpha.test", body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.RoundTrip(r); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if !body.closed || len(network.arrivals) != 0 {
			t.Errorf("closed: %v, arrivals: %v", body.closed, network.arrivals)
		}
	})
}
