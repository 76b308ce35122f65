package main

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"

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

// newNode returns the node, which reaches the other processes by one transport and
// the upstream by the other.
func newNode(c config, m *members, clk clock.Clock, toPeers, toUpstream http.RoundTripper) (*node, error) {
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
	n := &node{config: c, members: m, peers: newPeers(c.secret, toPeers)}
	n.local = gate(&httputil.ReverseProxy{Transport: toUpstream, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(upstream)
		if n.forwarded(r.In) { // whose fields these are, it says itself
			for _, field := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				r.Out.Header[field] = r.In.Header[field]
			}
		} else {
			r.SetXForwarded()
		}
		r.Out.Header.Del(hopField) // the secret is none of the upstream's business
	}})
	return n, nil
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get(keyField)
	for !n.forwarded(r) && key != "" {
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

// forwarded reports whether the request comes from another process.
func (n *node) forwarded(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.Header.Get(hopField)), []byte(n.secret)) == 1
}
