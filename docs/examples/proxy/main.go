// Command proxy is a reverse proxy that limits its clients, each of them and
// all together. It is meant to be copied.
//
// By itself it is a demonstration: it starts an upstream and the proxy on the
// loopback interface, sends some requests, prints what each got, and ends.
// With -listen it serves until it is interrupted:
//
//	go run ./docs/examples/proxy -listen :8080 -upstream http://127.0.0.1:9000 -limit "50/s burst 100" -global "5000/s burst 500"
//
// What it is made of:
//
//   - A request is charged to its client and to the limit of all, or to
//     neither (gate.go). A client is an IPv4 address or the /64 of an IPv6
//     address, taken from X-Forwarded-For only as far as -trust says.
//   - Limits change while it serves (limits.go, admin.go): a SIGHUP reads the
//     file of -limits again, and PUT /limits/client or /limits/global at the
//     -admin address, which has to be on the loopback interface, sets one until
//     the next SIGHUP or restart. Whatever is wrong with a new limit, the old one
//     stays. The same address has /metrics, for Prometheus.
//   - Balances of clients outlive a restart in the file of -balances, written
//     every now and then and at the end (balances.go). A file that cannot be
//     read as balances is reported, and set aside under its name and ".broken",
//     in place of one that was there; all clients then begin with a full bucket.
//     The limit of all begins with a full bucket after every restart: what it
//     protects was idle meanwhile.
//   - An interrupt or SIGTERM ends it: no new connections, requests under way
//     may end within -grace, then balances are saved (service.go).
package main

import (
	"context"
	"flag"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

func main() {
	c := config{clock: clock.System(), log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	flag.StringVar(&c.listen, "listen", "", "serve on this `address` instead of the demonstration")
	flag.StringVar(&c.admin, "admin", "127.0.0.1:0", "serve metrics and limits on this loopback `address`")
	flag.StringVar(&c.upstream, "upstream", "", "the `URL` to forward to; without it, an upstream of its own")
	flag.TextVar(&c.limits.client, "limit", gcra.PerSecond(2).Burst(3), "the `limit` of each client")
	flag.TextVar(&c.limits.global, "global", gcra.PerSecond(1000).Burst(100), "the `limit` of all clients together")
	flag.StringVar(&c.limitsFile, "limits", "", "the `file` of limits that replace those of the flags, read again on SIGHUP")
	flag.Var(&c.trust, "trust", "`prefixes` of proxies whose X-Forwarded-For is believed: 10.1.2.3,2001:db8::/120")
	flag.StringVar(&c.balances, "balances", "", "the `file` that keeps balances across restarts")
	flag.DurationVar(&c.saveEvery, "save-every", time.Minute, "the `time` between two savings of balances")
	flag.DurationVar(&c.grace, "grace", 10*time.Second, "the `time` that requests under way have when it ends")
	flag.BoolVar(&c.off, "off", false, "limit nothing, to measure what limiting costs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, c); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, c config) error {
	if c.listen == "" {
		return demonstrate(ctx, os.Stdout, c)
	}
	s, err := open(c)
	if err != nil {
		return err
	}
	c.log.Info("serving", "address", s.front.addr, "admin", s.admin.addr, "limits", s.gate.limits())
	return s.serve(ctx)
}
