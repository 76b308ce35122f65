// Command sim simulates many processes that lease tokens of shared buckets, and
// measures what it costs, by the size of a block: how far the limit is exceeded, how
// many tokens are stranded, how many requests are refused that one bucket would have
// granted, and how often the store is asked.
//
//	go run ./contrib/redislimit/lease/sim -o docs/design
//
// writes the plot leases.svg into that folder, and prints the numbers as a table. It is
// what docs/design/leases.md is made of.
//
// Processes are the limiters of package lease as they are, on a clock that is set by hand.
// The store is a limiter of package shard. The same requests, at the same instants, come to
// a bucket of the exact limit, and what was granted is measured by package gcra. Nothing
// is rounded and nothing depends on the machine: the same flags give the same numbers.
// Requests come in waves: nine of ten within the last quarter of each second, so that
// what was leased meanwhile meets a bucket that is full. Asking the store takes no time,
// and no request is larger than one token.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/weir-go/weir/gcra"
)

func main() {
	c := config{limit: gcra.PerSecond(10_000).Burst(10_000)}
	folder := flag.String("o", "", "write the plot into this `folder`")
	flag.IntVar(&c.gateways, "gateways", 1000, "how many processes there are")
	flag.IntVar(&c.keys, "keys", 100, "how many keys")
	flag.Float64Var(&c.skew, "skew", 1.1, "the exponent of Zipf's law, by which keys are asked about")
	flag.IntVar(&c.rate, "rate", 400_000, "requests a second, of all together and on average")
	flag.DurationVar(&c.whole, "time", 2*time.Second, "how long, in their time")
	flag.TextVar(&c.limit, "limit", c.limit, "the `limit` of each key")
	flag.DurationVar(&c.life, "lifetime", time.Second, "the lifetime of a lease")
	flag.Uint64Var(&c.seed, "seed", 1, "of the random numbers")
	flag.Parse()
	if err := run(c, os.Stdout, *folder); err != nil {
		log.Fatal(err)
	}
}

// blocks are the sizes that are tried.
func blocks() []int { return []int{1, 2, 4, 8, 16, 32, 64, 128} }

func run(c config, out io.Writer, folder string) error {
	if err := c.check(); err != nil {
		return err
	}
	requests := c.requests()
	var curves [2][]result // adaptive, fixed
	var failed [2]error
	var wg sync.WaitGroup
	for i := range curves {
		wg.Go(func() {
			for _, block := range blocks() {
				r, err := c.simulate(requests, block, i == 1)
				failed[i] = errors.Join(failed[i], err)
				curves[i] = append(curves[i], r)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		return err
	}
	table(out, curves)
	if folder == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(folder, "leases.svg"), []byte(draw(c, curves)), 0o666)
}

// table prints the results in Markdown.
func table(out io.Writer, curves [2][]result) {
	fmt.Fprintln(out, "| block | sizes | overshoot, tokens | leased out at most | stranded | lost to it | refused while stranded elsewhere | questions |")
	fmt.Fprintln(out, "|--:|---|--:|--:|--:|--:|--:|--:|")
	for i := range curves[0] {
		for k, name := range []string{"adaptive", "fixed"} {
			r := curves[k][i]
			fmt.Fprintf(out, "| %d | %s | %d | %d | %.1f %% | %.1f %% | %.1f %% | %.1f %% |\n", r.block, name,
				r.overshoot, r.out, percent(r.expired, r.leased), percent(r.exact-r.granted, r.exact),
				percent(r.waiting, r.asks), percent(r.asked, r.asks))
		}
	}
}

func percent(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return 100 * float64(a) / float64(b)
}
