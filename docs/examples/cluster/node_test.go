package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// A network is nodes and an upstream that reach each other without one.
type network struct {
	handlers map[string]http.Handler // by address
	fails    map[string]error        // instead of an answer
	seen     []string                // METHOD address
	reads    bool                    // the body, before it fails
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.seen = append(n.seen, r.Method+" "+r.URL.Host)
	if r.Body != nil {
		defer r.Body.Close()
	}
	if err := n.fails[r.URL.Host]; err != nil {
		if n.reads && r.Body != nil {
			io.Copy(io.Discard, r.Body)
		}
		return nil, err
	}
	w := httptest.NewRecorder()
	in := r.Clone(r.Context())
	in.RemoteAddr = "127.0.0.1:1"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	n.handlers[r.URL.Host].ServeHTTP(w, in)
	return w.Result(), nil
}

// newNetwork is three nodes, which all know of all.
func newNetwork(t *testing.T, clk clock.Clock) (*network, map[string]*node) {
	t.Helper()
	net := &network{handlers: map[string]http.Handler{}, fails: map[string]error{}}
	net.handlers["up"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(hopField) != "" {
			t.Error("the upstream is told the secret")
		}
		io.Copy(w, r.Body)
	})
	nodes := map[string]*node{}
	for _, name := range []string{"a", "b", "c"} {
		m := newMembers(name, clk)
		if err := m.set(map[string]string{"a": "at-a", "b": "at-b", "c": "at-c"}); err != nil {
			t.Fatal(err)
		}
		c := config{name: name, upstream: "http://up", secret: "secret", limit: gcra.PerDay(1).Burst(3)}
		n, err := newNode(c, m, clk, net, net)
		if err != nil {
			t.Fatal(err)
		}
		nodes[name], net.handlers["at-"+name] = n, n
	}
	return net, nodes
}

// ask is one request of a client.
func ask(n *node, method, key, body string, fields ...string) (status int, by, text string) {
	r := httptest.NewRequest(method, "/", strings.NewReader(body))
	if body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	if key != "" {
		r.Header.Set(keyField, key)
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	w := httptest.NewRecorder()
	n.ServeHTTP(w, r)
	return w.Code, w.Header().Get(nodeField), w.Body.String()
}

var refused = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

// The owner of alice is b, then c.
func TestRoute(t *testing.T) {
	reset := errors.New("connection reset")
	for _, row := range []struct {
		fails  map[string]error
		at     string
		method string
		body   string
		fields []string
		status int
		by     string
		seen   string
		why    string
	}{
		{nil, "b", "GET", "", nil, 200, "b", "GET up", "the owner itself"},
		{nil, "a", "GET", "", nil, 200, "b", "GET at-b,GET up", "another"},
		{nil, "a", "POST", "text", nil, 200, "b", "POST at-b,POST up", "with a body"},
		{nil, "a", "GET", "", []string{hopField, "guess"}, 200, "b", "GET at-b,GET up", "a client does not choose who decides"},
		{nil, "a", "GET", "", []string{hopField, "secret"}, 200, "a", "GET up", "one hop is enough"},
		{map[string]error{"at-b": refused}, "a", "GET", "", nil, 200, "c", "GET at-b,GET at-c,GET up", "the owner is dead"},
		{map[string]error{"at-b": refused}, "a", "POST", "text", nil, 200, "c", "POST at-b,POST at-c,POST up", "and was not sent the body"},
		{map[string]error{"at-b": refused, "at-c": refused}, "a", "GET", "", nil, 200, "a", "GET at-b,GET at-c,GET up", "all others are"},
		{map[string]error{"at-b": reset}, "a", "GET", "", nil, 200, "c", "GET at-b,GET at-c,GET up", "the owner died after it was asked"},
		{map[string]error{"at-b": reset}, "a", "POST", "text", nil, 502, "", "POST at-b", "and may have done what it was asked to"},
		{map[string]error{"at-b": reset}, "a", "DELETE", "", nil, 502, "", "DELETE at-b", "which is not to be done twice"},
	} {
		var clk clock.Manual
		net, nodes := newNetwork(t, &clk)
		if row.fails != nil {
			net.fails = row.fails
		}
		status, by, text := ask(nodes[row.at], row.method, "alice", row.body, row.fields...)
		if seen := strings.Join(net.seen, ","); status != row.status || by != row.by || seen != row.seen {
			t.Errorf("%s: %d by %q, by way of %s; want %d by %q, %s", row.why, status, by, seen, row.status, row.by, row.seen)
		}
		if status == 200 && text != row.body {
			t.Errorf("%s: the upstream got %q, want %q", row.why, text, row.body)
		}
	}
	var clk clock.Manual
	_, nodes := newNetwork(t, &clk)
	if status, _, _ := ask(nodes["a"], "GET", "", ""); status < 400 {
		t.Errorf("without a key: %d", status)
	}
}

// TestMove: a key has one limit, and one more for each move.
func TestMove(t *testing.T) {
	var clk clock.Manual
	net, nodes := newNetwork(t, &clk)
	for i, row := range []struct {
		wait    time.Duration
		dead    bool
		granted int
		by      string
		asked   string // of the first question
		why     string
	}{
		{0, false, 3, "b", "GET at-b,GET up", "a burst, in all"},
		{0, true, 3, "c", "GET at-b,GET at-c,GET up", "moved: one more"},
		{0, true, 0, "c", "GET at-c", "known to be dead"},
		{0, false, 0, "c", "GET at-c", "back, which nobody knows yet"},
		{retryAfter - 1, false, 0, "c", "GET at-c", "not tried again yet"},
		{1, false, 0, "b", "GET at-b", "tried, and back, with its memory: no more"},
		{0, true, 0, "c", "GET at-b,GET at-c", "dead again"},
		{retryAfter, true, 0, "c", "GET at-b,GET at-c", "tried in vain"},
		{0, true, 0, "c", "GET at-c", "by one request only"},
	} {
		clk.Advance(row.wait)
		clear(net.fails)
		if row.dead {
			net.fails["at-b"] = refused
		}
		granted := 0
		for q := range 8 {
			net.seen = nil
			status, by, _ := ask(nodes["a"], "GET", "alice", "")
			if status == 200 {
				granted++
			}
			if seen := strings.Join(net.seen, ","); by != row.by || q == 0 && seen != row.asked {
				t.Errorf("row %d (%s), question %d: decided by %s, by way of %s; want %s, %s", i, row.why, q, by, seen, row.by, row.asked)
			}
		}
		if granted != row.granted {
			t.Errorf("row %d (%s): %d granted, want %d", i, row.why, granted, row.granted)
		}
	}
}

func TestClientGone(t *testing.T) {
	var clk clock.Manual
	net, nodes := newNetwork(t, &clk)
	net.fails["at-b"] = context.Canceled
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	r.Header.Set(keyField, "alice")
	nodes["a"].ServeHTTP(httptest.NewRecorder(), r)
	if len(net.seen) != 1 || nodes["a"].members.view.Load().out["b"] != nil {
		t.Errorf("a client that went away counts against the owner: %q", net.seen)
	}
}

func TestPeers(t *testing.T) {
	for _, row := range []struct{ line, err string }{
		{"a=1 b=2", ""},
		{"", `"a" is not among`},
		{"b=2", `"a" is not among`},
		{"a=1 b", `"b" is not NAME=ADDRESS`},
		{"a=1 =2", `"=2" is not NAME=ADDRESS`},
		{"a=1 b=", `"b=" is not NAME=ADDRESS`},
		{"a=1 a=2", `"a" is there twice`},
	} {
		m := newMembers("a", new(clock.Manual))
		addr, err := parsePeers(row.line)
		if err == nil {
			err = m.set(addr)
		}
		if row.err == "" && err != nil || row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)) {
			t.Errorf("%q: %v, want %q", row.line, err, row.err)
		}
	}
	// Who is out stays so, but not under a new address.
	m := newMembers("a", new(clock.Manual))
	for _, row := range []struct {
		addr map[string]string
		out  bool
	}{
		{map[string]string{"a": "1", "b": "2", "c": "3"}, true},
		{map[string]string{"a": "1", "b": "2"}, true},
		{map[string]string{"a": "1", "b": "4"}, false},
	} {
		if err := m.set(row.addr); err != nil {
			t.Fatal(err)
		}
		m.failed("b", "2")
		m.failed("a", "1") // never itself
		if v := m.view.Load(); (v.out["b"] != nil) != row.out || v.out["a"] != nil || (len(v.live.Nodes()) < len(row.addr)) != row.out {
			t.Errorf("%v: out %v, live %v", row.addr, v.out, v.live.Nodes())
		}
	}
	m.answered("b", "2") // from who was there before
}

func TestConfig(t *testing.T) {
	for _, c := range []config{
		{name: "a", upstream: "http://up"},
		{name: "a", secret: "s"},
		{name: "a", secret: "s", upstream: "up:80"},
	} {
		if _, err := newNode(c, newMembers("a", clock.System()), clock.System(), nil, nil); err == nil {
			t.Errorf("%+v is no error", c)
		}
	}
}
