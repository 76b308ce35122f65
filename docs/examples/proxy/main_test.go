package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDemonstration(t *testing.T) {
	var clk clock.Manual
	var out bytes.Buffer
	c := config{
		limits: limits{gcra.PerSecond(2).Burst(3), gcra.PerSecond(10).Burst(10)},
		clock:  &clk, pause: clk.Advance, grace: time.Minute,
	}
	if err := demonstrate(t.Context(), &out, c); err != nil {
		t.Fatal(err)
	}
	want := `each client gets 2/s burst 3, all together 10/s burst 10
request 1: 200 OK, hello from /1
request 2: 200 OK, hello from /2
request 3: 200 OK, hello from /3
request 4: 429 Too Many Requests, limit "client", retry after 1s
request 5: 429 Too Many Requests, limit "client", retry after 1s
waiting 1s
request 6: 200 OK, hello from /6
PUT /limits/client: client 5/d burst 1, was 2/s burst 3
request 7: 200 OK, hello from /7
restarting
request 8: 429 Too Many Requests
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// A running service, and what it logs.
type running struct {
	*service
	logged chan string
	end    func() error // ends it; later calls do nothing
}

// begin runs a service until the test ends, by default with one token for each
// client, forever, and an upstream of its own.
func begin(t *testing.T, clk clock.Clock, change func(*config)) *running {
	t.Helper()
	logged := make(lines, 1000)
	c := config{
		listen: "127.0.0.1:0", admin: "127.0.0.1:0", grace: time.Minute, clock: clk,
		limits: limits{gcra.Per(0, time.Second), gcra.PerSecond(1).Burst(1000)},
		log:    slog.New(slog.NewTextHandler(logged, nil)),
	}
	if change != nil {
		change(&c)
	}
	s, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.serve(ctx) }()
	var ended bool
	r := &running{s, logged, func() error {
		if ended {
			return nil
		}
		ended = true
		cancel()
		return <-served
	}}
	t.Cleanup(func() {
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// lines are what is logged.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// says waits until the service logs the text.
func (r *running) says(t *testing.T, text string) {
	t.Helper()
	never := time.After(30 * time.Second)
	for {
		select {
		case line := <-r.logged:
			if strings.Contains(line, text) {
				return
			}
		case <-never:
			t.Fatalf("it does not say %q", text)
		}
	}
}

// get sends a request with the lines of X-Forwarded-For.
func (r *running) get(t *testing.T, forwarded ...string) (status int, header http.Header, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.front.addr+"/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header["X-Forwarded-For"] = forwarded
	req.Close = true
	return do(t, req)
}

func (r *running) administer(t *testing.T, method, path, text string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.admin.addr+path, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	status, _, body = do(t, req)
	return status, body
}

func do(t *testing.T, req *http.Request) (int, http.Header, string) {
	t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(body)
}

// echo is an upstream that answers with what it is told of the client.
func echo(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, strings.Join(r.Header["X-Forwarded-For"], "|")+" "+r.Header.Get("X-Forwarded-Proto"))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestOpenFails(t *testing.T) {
	taken, err := start("127.0.0.1:0", http.NotFoundHandler(), loopback)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.stop(time.Minute)
	dir := t.TempDir()
	for _, row := range []struct {
		change func(*config)
		want   string
	}{
		{func(c *config) { c.listen = taken.addr }, "in use"},
		{func(c *config) { c.listen = "" }, "no address"},
		{func(c *config) { c.admin = "0.0.0.0:0" }, "want a loopback address"},
		{func(c *config) { c.admin = ":0" }, "want a loopback address"},
		{func(c *config) { c.upstream = "http://%" }, "-upstream"},
		{func(c *config) { c.upstream = "localhost:80" }, "want http://HOST"},
		{func(c *config) { c.limitsFile = filepath.Join(dir, "none") }, "no such file"},
		{func(c *config) { c.balances = dir }, "directory"},
		{func(c *config) { c.balances = filepath.Join(taken.addr, "none", "x\x00") }, "invalid"},
		{func(c *config) { c.trust = prefixes{netip.MustParsePrefix("0.0.0.0/0")} }, "not of everybody"},
	} {
		c := config{
			listen: "127.0.0.1:0", admin: "127.0.0.1:0", clock: clock.System(), log: slog.New(slog.DiscardHandler), grace: time.Minute,
		}
		row.change(&c)
		if _, err := open(c); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v, want %q", err, row.want)
		}
	}
}

// TestServerFails: a server that ends by itself ends the service, with the
// balances saved.
func TestServerFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "balances")
	c := config{
		listen: "127.0.0.1:0", admin: "127.0.0.1:0", clock: clock.System(), log: slog.New(slog.DiscardHandler), grace: time.Minute,
		balances: file,
	}
	s, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	failure := errors.New("out of sockets")
	s.front.failed <- failure
	if err := s.serve(t.Context()); !errors.Is(err, failure) {
		t.Errorf("%v, want %v", err, failure)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
