package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// newTransport is for one upstream, of which the default would close most
// connections after each request.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 256
	t.ResponseHeaderTimeout = 30 * time.Second
	return t
}

// forward hands requests on. What they say of where they come from is passed on
// only if a trusted proxy says it: the upstream shall believe no more than the
// gate.
func forward(to *url.URL, by *http.Transport, trusted prefixes, log *slog.Logger) http.Handler {
	return &httputil.ReverseProxy{
		Transport:  by,
		BufferPool: new(buffers),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			believed := trusted.contain(r.In.RemoteAddr)
			if believed {
				r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
			}
			r.SetXForwarded() // adds the connection's address
			for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto"} {
				if said := r.In.Header[name]; believed && len(said) > 0 {
					r.Out.Header[name] = said
				}
			}
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil { // else the client is gone, which is no news
				log.Error("upstream", "err", err)
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
}

// buffers are for copying bodies.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(p []byte) { b.pool.Put(&p) }

// hello is the upstream of its own.
func hello() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello from %s", r.URL.Path)
	})
}
