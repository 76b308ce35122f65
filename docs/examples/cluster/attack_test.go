package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// newServers is three nodes and an upstream on the loopback interface.
func newServers(t *testing.T, upstream http.Handler) (map[string]*node, map[string]string) {
	return newServersWithin(t, upstreamAnswers, upstream)
}

func newServersWithin(t *testing.T, answers time.Duration, upstream http.Handler) (map[string]*node, map[string]string) {
	t.Helper()
	up := httptest.NewServer(upstream)
	t.Cleanup(up.Close)
	nodes, addr := map[string]*node{}, map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		to, toUpstream := newTransport(peerAnswers), newTransport(answers)
		n, err := newNode(config{name: name, upstream: up.URL, secret: "secret", limit: gcra.PerDay(1).Burst(3)}, newMembers(name, new(clock.Manual)), new(clock.Manual), to, toUpstream)
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(n)
		s.Config.MaxHeaderBytes = maxHeader
		s.Start()
		t.Cleanup(func() {
			to.CloseIdleConnections()
			toUpstream.CloseIdleConnections()
			s.Close()
		})
		nodes[name], addr[name] = n, s.Listener.Addr().String()
	}
	for _, n := range nodes {
		if err := n.members.set(addr); err != nil {
			t.Fatal(err)
		}
	}
	return nodes, addr
}

// send writes a request as it is, and returns the response's status.
func send(t *testing.T, addr, text string) int {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	res.Body.Close()
	return res.StatusCode
}

// get is a request about alice. The response's body may be read until the test ends.
func get(t *testing.T, addr, method, text string, fields ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+"/", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(keyField, "alice")
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	to := newTransport(peerAnswers)
	res, err := to.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		res.Body.Close()
		to.CloseIdleConnections()
	})
	return res
}

// TestForwardedFor: the upstream is told who the client is, and the client cannot say it.
func TestForwardedFor(t *testing.T) {
	var told atomic.Pointer[http.Header]
	_, addr := newServers(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told.Store(&r.Header) }))
	for _, at := range []string{"a", "b"} { // another, and the owner
		get(t, addr[at], http.MethodGet, "", "X-Forwarded-For", "1.2.3.4", "X-Forwarded-Proto", "https", "Forwarded", "for=1.2.3.4")
		h := *told.Load()
		if got := h.Values("X-Forwarded-For"); len(got) != 1 || got[0] != "127.0.0.1" || h.Get("X-Forwarded-Host") != addr[at] || h.Get("X-Forwarded-Proto") != "http" || h.Get("Forwarded") != "" {
			t.Errorf("by way of %s: the upstream is told %v", at, h)
		}
	}
}

// TestNobodyIsPutOut: what a client does wrong says nothing of the owner of its key.
// Else each such request would move that owner's keys, and give them new bursts.
func TestNobodyIsPutOut(t *testing.T) {
	nodes, addr := newServers(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
	}))
	for _, row := range []struct{ text, why string }{
		{"GET / HTTP/1.1\r\nHost: x\r\nApi-Key: alice\r\nConnection: Upgrade\r\nUpgrade: \x80\r\n\r\n", "a protocol that is none"},
		{"POST / HTTP/1.1\r\nHost: x\r\nApi-Key: alice\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n", "a body that is no chunks"},
		{"GET / HTTP/1.1\r\nHost: x\r\nApi-Key: alice\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "the same of a GET"},
		{"GET / HTTP/1.1\r\nHost: x\r\nApi-Key: alice\r\nExpect: nothing\r\n\r\n", "an expectation that is none"},
	} {
		status := send(t, addr["a"], row.text)
		if out := nodes["a"].members.view.Load().out; len(out) > 0 || status < 400 || status == http.StatusTooManyRequests {
			t.Errorf("%s: status %d, and out are %v", row.why, status, out)
		}
	}
}

// TestSlowUpstream: an owner that waits for its upstream in vain says so, and is asked once.
func TestSlowUpstream(t *testing.T) {
	if peerAnswers < upstreamAnswers+time.Second {
		t.Errorf("an owner is waited for %v, and waits %v itself", peerAnswers, upstreamAnswers)
	}
	var asked atomic.Int64
	nodes, addr := newServersWithin(t, 50*time.Millisecond, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
	}))
	status := send(t, addr["a"], "GET / HTTP/1.1\r\nHost: x\r\nApi-Key: alice\r\n\r\n")
	if out := nodes["a"].members.view.Load().out; status != http.StatusBadGateway || len(out) > 0 || asked.Load() > 1 {
		t.Errorf("status %d, asked %d times, out are %v; want 502, once at most, nobody", status, asked.Load(), out)
	}
}

// TestConnectionField: a client cannot have its key taken out on the way to the owner.
func TestConnectionField(t *testing.T) {
	_, addr := newServers(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(hopField) != "" {
			t.Error("the upstream is told the secret")
		}
	}))
	for i, want := range []int{200, 200, 200, 429} {
		at := []string{"a", "b", "c"}[i%3]
		text := "GET / HTTP/1.1\r\nHost: x\r\nApi-Key: alice\r\nConnection: Api-Key, Cluster-Hop\r\n\r\n"
		if status := send(t, addr[at], text); status != want {
			t.Errorf("request %d, of %s: %d, want %d", i, at, status, want)
		}
	}
}

// TestUpgrade: a connection that changes its protocol goes through, by way of the owner.
func TestUpgrade(t *testing.T) {
	_, addr := newServers(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		rw.Flush()
		line, _ := rw.ReadString('\n')
		fmt.Fprint(rw, strings.ToUpper(line))
		rw.Flush()
	}))
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr["a"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\nApi-Key: alice\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols || res.Header.Get(nodeField) == "" {
		t.Fatalf("%v, error %v", res, err)
	}
	fmt.Fprint(conn, "hello\n")
	if line, err := in.ReadString('\n'); line != "HELLO\n" {
		t.Errorf("%q, error %v", line, err)
	}
}

// TestStream: what the upstream sends comes on before it is done.
func TestStream(t *testing.T) {
	goOn := make(chan struct{})
	_, addr := newServers(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "first\n")
		http.NewResponseController(w).Flush()
		select {
		case <-goOn:
		case <-r.Context().Done():
		}
		io.WriteString(w, "second\n")
	}))
	res := get(t, addr["a"], http.MethodGet, "")
	in := bufio.NewReader(res.Body)
	for _, want := range []string{"first\n", "second\n"} {
		if line, err := in.ReadString('\n'); line != want {
			t.Fatalf("%q, error %v, want %q", line, err, want)
		}
		if want == "first\n" {
			close(goOn)
		}
	}
}

// TestBodyMoves: the owner is dead, and the next one gets the body, as the server has it.
func TestBodyMoves(t *testing.T) {
	nodes, addr := newServers(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close() // nobody listens there
	moved := maps.Clone(addr)
	moved["b"] = ln.Addr().String() // alice's owner
	if err := nodes["a"].members.set(moved); err != nil {
		t.Fatal(err)
	}
	res := get(t, addr["a"], http.MethodPost, "text")
	text, err := io.ReadAll(res.Body)
	if by := res.Header.Get(nodeField); res.StatusCode != 200 || by != "c" || string(text) != "text" || err != nil {
		t.Errorf("%d by %q: %q, error %v; want the text from c", res.StatusCode, by, text, err)
	}
}
