// Command cluster is some processes of a limiting reverse proxy that share a limit
// without a store: each key has an owner, the one process that decides about it.
// A process that is asked about the key of another forwards the request there. It
// is meant to be copied.
//
// By itself it is a demonstration: it starts an upstream and three of these
// processes on the loopback interface, asks them about some keys, kills the owner of
// one, starts it again, and prints what each key got. With -node it is one of the
// processes:
//
//	cluster -node a -listen 10.0.0.1:8080 -upstream http://127.0.0.1:9000 -limit "100/s burst 200"
//
// It reads who the others are from its standard input, a line of names and addresses
// whenever they change, with itself among them, and ends with the input:
//
//	a=10.0.0.1:8080 b=10.0.0.2:8080 c=10.0.0.3:8080
//
// What it is made of:
//
//   - The owner of a key follows from the names and the key alone (package
//     shard/ring), so all agree without talking (members.go).
//   - Health is what forwarding shows. A process that cannot be reached is left out
//     of the ring, here, and the request goes to the next owner of its key. Once a
//     second one request for a key of its own tries it again, and if it answers it
//     is back. Nobody has to be told, and there is no goroutine. What a client does
//     wrong counts for nothing, or it could move keys as it likes (forward.go).
//   - A forwarded request carries a secret that the processes share, the
//     environment's CLUSTER_SECRET, and is decided where it arrives, whoever that
//     process believes to be the owner: one hop, never a circle. A client's field
//     of that name is worth nothing without the secret, else a client could choose
//     the process, and have the limit in each.
//   - What cannot be repeated is not: a request is sent to the next owner if the
//     connection to the first was refused, or if it is a GET or HEAD without a body
//     (forward.go).
//
// # What a moved key forgets
//
// Its balance. Who takes over a key begins with a full bucket, so a move gives the key
// at most one more burst: the most that it can be granted in a window w with m
// moves is (1 + m)·burst + rate·w. An owner that dies and returns is two moves for
// each of its keys, and none for the others. While processes differ about who
// is out, those of the two kinds ask two owners: that is the same burst, and for as
// long as they differ a second rate. Where that is too much, let a store
// decide: see contrib/redislimit.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/weir-go/weir/gcra"
)

func main() {
	c := config{secret: os.Getenv(secretName)}
	flag.StringVar(&c.name, "node", "", "be the process of that `name` instead of the demonstration")
	flag.StringVar(&c.listen, "listen", "127.0.0.1:0", "serve on this `address`")
	flag.StringVar(&c.upstream, "upstream", "", "the `URL` to forward to")
	flag.TextVar(&c.limit, "limit", gcra.PerHour(1).Burst(10), "the `limit` of each key")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if c.name == "" {
		err = demonstrate(ctx, os.Stdout, c.limit)
	} else {
		err = serve(ctx, os.Stdin, os.Stdout, c)
	}
	if err != nil {
		log.Fatal(err)
	}
}
