// Command plans limits the accounts of a service that sells two plans.
//
// A plan is a Limiter: all its accounts have the same limit and a bucket each.
// The demonstration replays five seconds of made-up traffic on a clock of its
// own, so that it takes no time and always prints the same.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"text/tabwriter"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

func main() {
	if err := run(os.Stdout, config); err != nil {
		log.Fatal(err)
	}
}

// In a service this is a file.
const config = `{"free": "1/s burst 5", "paid": "20/s burst 100"}`

// plans are the limiters by the name of the plan. An account that changes its
// plan takes its balance along by Move; without it, every change would be a
// full bucket.
type plans map[string]*shard.Limiter[uint64]

func load(text string, clk clock.Clock) (plans, error) {
	var limits map[string]gcra.Limit
	if err := json.Unmarshal([]byte(text), &limits); err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, ok := limits[name]; !ok {
			return nil, fmt.Errorf("there is no plan %q", name)
		}
	}
	p := plans{}
	for name, limit := range limits {
		p[name] = shard.New[uint64](limit, shard.WithClock(clk), shard.WithStats(),
			shard.WithMaxKeys(1_000_000, shard.Refuse))
	}
	return p, nil
}

// names orders what is printed.
var names = [...]string{"free", "paid"}

func run(out io.Writer, text string) error {
	var clk clock.Manual
	p, err := load(text, &clk)
	if err != nil {
		return err
	}

	// 100000 accounts, of which one in ten pays, and 50000 requests a second.
	// Half of the requests come from 100 accounts that ask far too much.
	traffic := rand.New(rand.NewPCG(1, 2))
	for range 250_000 {
		account := traffic.Uint64N(100_000)
		if traffic.Uint64N(2) == 0 {
			account %= 100
		}
		plan := "free"
		if account%10 == 0 {
			plan = "paid"
		}
		p[plan].Allow(account)
		clk.Advance(20 * time.Microsecond)
	}

	// An account upgrades: what it has used up, it has used up.
	const upgrading = 1
	before := p["free"].Peek(upgrading, 0).Remaining()
	if err := p["free"].Move(upgrading, p["paid"]); err != nil {
		return err
	}
	fmt.Fprintf(out, "account %d moves to paid with %d of 5 tokens: there it has %d of 100\n",
		upgrading, before, p["paid"].Peek(upgrading, 0).Remaining())

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "plan\tlimit\tgranted\trefused\tnot full\t")
	for _, name := range names {
		// New accounts make room for themselves: they forget others whose
		// buckets are full. A sweep leaves exactly those that are not.
		p[name].Sweep()
		s := p[name].Stats()
		fmt.Fprintf(w, "%s\t%v\t%d\t%d\t%d\t\n", name, p[name].Limit(), s.Granted, s.Refused, s.Keys)
	}
	if err := w.Flush(); err != nil {
		return err
	}

	clk.Advance(5 * time.Second)
	for _, name := range names {
		p[name].Sweep()
		fmt.Fprintf(out, "%s: %d accounts are remembered 5 s later\n", name, p[name].Len())
	}
	return nil
}
