// Command proxy is a reverse proxy that limits each of its clients.
//
// By itself it is a demonstration: it starts an upstream and the proxy on the
// loopback interface, sends some requests, prints what each got, and ends.
// With -listen it serves until it is interrupted:
//
//	go run ./docs/examples/proxy -listen :8080 -upstream http://127.0.0.1:9000 -limit "50/s burst 100"
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

func main() {
	p := proxy{clock: clock.System()}
	flag.StringVar(&p.listen, "listen", "", "serve on this `address` instead of the demonstration")
	flag.StringVar(&p.upstream, "upstream", "", "the `URL` to forward to; without it, an upstream of its own")
	flag.TextVar(&p.limit, "limit", gcra.PerSecond(2).Burst(3), "the `limit` of each client")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := p.run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

type proxy struct {
	listen, upstream string
	limit            gcra.Limit
	clock            clock.Clock
	pause            func(time.Duration) // of the demonstration; nil sleeps
}

func (p proxy) run(ctx context.Context, out io.Writer) error {
	target := p.upstream
	if target == "" {
		own, err := start("127.0.0.1:0", http.HandlerFunc(hello))
		if err != nil {
			return err
		}
		defer own.stop()
		target = "http://" + own.addr
	}
	to, err := url.Parse(target)
	if err != nil {
		return err
	}
	listen := p.listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	front, err := start(listen, p.limited(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.SetXForwarded()
		},
	}))
	if err != nil {
		return err
	}
	defer front.stop()
	fmt.Fprintf(out, "each client gets %v\n", p.limit)
	if p.listen == "" {
		return p.demonstrate(ctx, out, "http://"+front.addr)
	}
	fmt.Fprintf(out, "serving on %s\n", front.addr)
	select {
	case err := <-front.failed:
		return err
	case <-ctx.Done():
		return front.stop()
	}
}

// limited lets next serve the requests that their client's limit permits.
func (p proxy) limited(next http.Handler) http.Handler {
	// The cap bounds their memory, whoever comes.
	clients := shard.New[netip.Prefix](p.limit, shard.WithClock(p.clock), shard.WithMaxKeys(1_000_000, shard.Refuse))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := clients.Take(client(r.RemoteAddr), 1)
		if d.OK() {
			next.ServeHTTP(w, r)
			return
		}
		if wait := d.RetryAfter(); wait != gcra.Never {
			w.Header().Set("Retry-After", strconv.FormatInt(seconds(wait), 10))
		}
		http.Error(w, "too many requests", http.StatusTooManyRequests)
	})
}

// client returns what a request is charged to: an IPv4 address, or the /64 of
// an IPv6 address, since whoever has one of those has them all.
//
// It is the peer's address. X-Forwarded-For is not looked at: whoever sends a
// request can write into it what they like, and would have a bucket for each
// lie. Behind a proxy of your own, read what that one adds, and only from it.
//
// A peer without an address (on a Unix socket) is the zero Prefix: those share
// a bucket.
func client(remoteAddr string) netip.Prefix {
	peer, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	addr, bits := peer.Addr().Unmap(), 64
	if addr.Is4() {
		bits = 32
	}
	prefix, _ := addr.Prefix(bits) // fails only beyond the address's length
	return prefix
}

// seconds returns d in whole seconds, rounded up: 1 or more, so that no client
// is told to come back at once.
func seconds(d time.Duration) int64 {
	return max(1, int64((d-1)/time.Second)+1)
}

func hello(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello from %s", r.URL.Path) }

// demonstrate asks more than the limit permits, waits as it is told, and asks
// again.
func (p proxy) demonstrate(ctx context.Context, out io.Writer, front string) error {
	ask := func(i int) (after time.Duration, err error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/%d", front, i), nil)
		if err != nil {
			return 0, err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return 0, err
		}
		if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
			after = time.Duration(s) * time.Second
			fmt.Fprintf(out, "request %d: %s, retry after %v\n", i, res.Status, after)
		} else {
			fmt.Fprintf(out, "request %d: %s, %s\n", i, res.Status, text)
		}
		return after, nil
	}
	var wait time.Duration
	for i := range 5 {
		after, err := ask(i + 1)
		if err != nil {
			return err
		}
		wait = max(wait, after)
	}
	fmt.Fprintf(out, "waiting %v\n", wait)
	if p.pause != nil {
		p.pause(wait)
	} else {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	_, err := ask(6)
	return err
}

// A server is one that runs, until stop.
type server struct {
	http   http.Server
	addr   string
	failed chan error // why it ended by itself
}

func start(addr string, h http.Handler) (*server, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &server{
		http:   http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute},
		addr:   ln.Addr().String(),
		failed: make(chan error, 1),
	}
	go func() {
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	return s, nil
}

// stop lets the requests under way finish, for a while.
func (s *server) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.http.Shutdown(ctx)
}
