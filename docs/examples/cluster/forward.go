package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// A hop is one attempt to forward a request.
type hop struct {
	addr string
	done bool        // there was a response
	err  error       // of the process: why there was none
	bad  atomic.Bool // the client's body could not be read
}

type hopKey struct{}

func hopOf(ctx context.Context) *hop { return ctx.Value(hopKey{}).(*hop) }

// newPeers is the way to the other processes: each request goes where its hop says.
func newPeers(secret string, to http.RoundTripper) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport: hops{to},
		Rewrite: func(r *httputil.ProxyRequest) {
			h := hopOf(r.In.Context())
			r.SetURL(&url.URL{Scheme: "http", Host: h.addr})
			r.Out.Host = r.In.Host
			r.SetXForwarded() // what the client says of where it comes from is gone
			r.Out.Header.Set(hopField, secret)
			// A client may name any field in Connection, and it is gone by now.
			r.Out.Header.Set(keyField, r.In.Header.Get(keyField))
			if r.Out.Body != nil {
				r.Out.Body = body{r.Out.Body, h}
			}
		},
		// It is called for what is wrong with the request, too: then no hop failed,
		// and nobody else would take it.
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, _ error) {
			if hopOf(r.Context()).err == nil {
				http.Error(w, "the request cannot be forwarded", http.StatusBadRequest)
			}
		},
	}
}

// hops notes which errors are those of the process that was asked. A client has to
// have no way to make one: it would put the owner of its key out, and all keys of
// that owner would move, each to a full bucket.
type hops struct{ http.RoundTripper }

func (t hops) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.RoundTripper.RoundTrip(r)
	h := hopOf(r.Context())
	if h.done = err == nil; !h.done && !h.bad.Load() {
		h.err = err
	}
	return res, err
}

// A body is the client's, which a transport closes even if there was nobody to send
// it to; then the next owner gets it.
type body struct {
	io.Reader
	of *hop
}

func (b body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		b.of.bad.Store(true)
	}
	return n, err
}

// Close does nothing: the server closes what it read the request from.
func (body) Close() error { return nil }

// forward reports whether the request is answered; if not, another may have it.
func (n *node) forward(w http.ResponseWriter, r *http.Request, owner, addr string) bool {
	h := &hop{addr: addr}
	n.peers.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), hopKey{}, h)))
	switch {
	case h.done:
		n.members.answered(owner, addr)
		return true
	case h.err == nil:
		return true // the request is at fault, and was told so
	case r.Context().Err() != nil:
		return true // the client is gone, which says nothing of the owner
	}
	n.members.failed(owner, addr)
	if !repeatable(r, h.err) {
		http.Error(w, "the request was sent, and there was no answer", http.StatusBadGateway)
		return true
	}
	return false
}

// repeatable reports whether the request may be sent to somebody else after the error.
func repeatable(r *http.Request, err error) bool {
	if op := new(net.OpError); errors.As(err, &op) && op.Op == "dial" {
		return true // nothing was sent
	}
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.ContentLength == 0
}

// How long a response may take. An owner answers for its upstream, if that does not,
// before others count it as its own failure.
const (
	upstreamAnswers = 10 * time.Second
	peerAnswers     = 15 * time.Second
)

// newTransport is for the other processes or for the upstream. One that does not
// even accept a connection is out soon.
func newTransport(answers time.Duration) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.DialContext = (&net.Dialer{Timeout: 500 * time.Millisecond}).DialContext
	t.ResponseHeaderTimeout = answers
	t.MaxIdleConnsPerHost = 64
	return t
}
