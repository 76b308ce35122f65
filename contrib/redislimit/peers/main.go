// The program peers measures redislimit beside the two Go libraries that limit rates
// through Redis by the same algorithm, on one server and in turn, and counts each
// one's wrong decisions:
//
//	go run ./contrib/redislimit/peers
//
// It needs a redis-server, which it starts and ends. The wrong decisions are counted
// on a server in this process, whose time can be set.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 5, "rounds of each measurement")
	d := flag.Duration("time", time.Second, "time of a round")
	decisions := flag.Int("decisions", 20_000, "decisions under each limit that are compared with the exact bucket")
	flag.Parse()
	fmt.Printf("%s, %d CPUs\n\n", runtime.Version(), runtime.NumCPU())
	if err := speedTable(os.Stdout, max(*rounds, 1), *d); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
	if err := wrongTable(os.Stdout, *decisions); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}
