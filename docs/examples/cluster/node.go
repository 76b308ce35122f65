package main

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/shard"
)

const (
	keyField   = "Api-Key"        // who asks; here, whoever they say they are
	hopField   = "Cluster-Hop"    // the secret, on a request that was forwarded
	nodeField  = "Cluster-Node"   // who decided, on a response
	secretName = "CLUSTER_SECRET" // in the environment
)

// maxKeys bounds the memory of keys, whoever comes.
const maxKeys = 1_000_000

type config struct {
	name, listen, upstream, secret string
	limit                          gcra.Limit
}

// A node is the handler of one process.
type node struct {
	config
	members *members
	local   http.Handler // decides here, and forwards to the upstream
	peers   *httputil.ReverseProxy
}

func newNode(c config, m *members, clk clock.Clock, to http.RoundTripper) (*node, error) {
	if c.secret == "" {
		return nil, fmt.Errorf("%s is not set", secretName)
	}
	upstream, err := url.Parse(c.upstream)
	if err != nil || upstream.Host == "" {
		return nil, fmt.Errorf("-upstream %q: want http://HOST", c.upstream)
	}
	limiter := shard.New[string](c.limit, shard.WithClock(clk), shard.WithMaxKeys(maxKeys, shard.Refuse))
	gate := httplimit.New(httplimit.Local(limiter), func(r *http.Request) (string, error) {
		return r.Header.Get(keyField), nil
	})
	n := &node{config: c, members: m}
	n.local = gate(&httputil.ReverseProxy{Transport: to, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(upstream)
		r.Out.Header.Del(hopField) // the secret is none of the upstream's business
	}})
	n.peers = &httputil.ReverseProxy{
		Transport: to,
		Rewrite: func(r *httputil.ProxyRequest) {
			h := hopOf(r.In.Context())
			r.SetURL(&url.URL{Scheme: "http", Host: h.addr})
			r.Out.Host = r.In.Host
			r.Out.Header.Set(hopField, c.secret)
			if r.Out.Body != nil {
				// The transport closes what it was to send even if there was
				// nobody to send it to; then the next owner gets it.
				r.Out.Body = io.NopCloser(r.Out.Body)
			}
		},
		ErrorHandler: func(_ http.ResponseWriter, r *http.Request, err error) { hopOf(r.Context()).err = err },
	}
	return n, nil
}

// A hop is one attempt to forward a request.
type hop struct {
	addr string
	err  error // why there was no response
}

type hopKey struct{}

func hopOf(ctx context.Context) *hop { return ctx.Value(hopKey{}).(*hop) }

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get(keyField)
	forwarded := subtle.ConstantTimeCompare([]byte(r.Header.Get(hopField)), []byte(n.secret)) == 1
	for !forwarded && key != "" {
		owner, addr := n.members.owner(key)
		if owner == n.name {
			break
		}
		// An owner that fails is left out, so this ends: at the latest here.
		if n.forward(w, r, owner, addr) {
			return
		}
	}
	w.Header().Set(nodeField, n.name)
	n.local.ServeHTTP(w, r)
}

// forward reports whether the request is answered; if not, another may have it.
func (n *node) forward(w http.ResponseWriter, r *http.Request, owner, addr string) bool {
	h := &hop{addr: addr}
	n.peers.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), hopKey{}, h)))
	switch {
	case h.err == nil:
		n.members.answered(owner, addr)
		return true
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

// newTransport is for the other processes and for the upstream. One that does not
// even accept a connection is out soon.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.DialContext = (&net.Dialer{Timeout: 500 * time.Millisecond}).DialContext
	t.ResponseHeaderTimeout = 10 * time.Second
	t.MaxIdleConnsPerHost = 64
	return t
}
