// Command bench does weir's main job and measures it, or decides a recorded trace.
//
//	go run ./bench                                      a million keys, all cores, a few seconds
//	go run ./bench -keys 8000000 -limit "100/s burst 20"
//	go run ./bench -trace access.log -limit "5/s burst 50"
//
// # The main job
//
// One limiter, as many goroutines as cores. The first request of every key takes its whole burst; then the goroutines ask
// for one token at a time, of keys drawn uniformly, until the time is up. So keys are short of tokens from the start, both
// verdicts are measured, and the laws are tested at their bound instead of below it. Afterwards every key is audited:
//
//   - window: the key was granted at most burst + ⌊w·rate⌋ tokens (L1), w being the time between two readings of the
//     limiter's own clock, one before the limiter was made and one after the last decision.
//   - conservation: what it was granted and what it has left is what came in, between two bounds that lie apart by the
//     tokens of less than one block of requests. No token was invented and none was lost.
//   - presence: no key that still owes time was forgotten, and no key's first request was refused.
//
// Before that, all goroutines ask for one and the same key, under a limit that refills next to nothing: two that race for
// one token show in its balance.
//
// The audit costs each decision one addition into an array of the goroutine's own. Latency is measured on one decision in
// 16, since two readings of a counter are a good part of a decision; inserts are all measured.
//
// # A trace
//
// The records are decided in their own time by a limiter that was made at the first one's, swept now and then so that keys
// are forgotten, and every decision is compared with a bucket in math/big that shares no arithmetic with package gcra. The
// two must agree in all that a decision says.
//
// # What it does not do
//
// It compares weir with nothing else: bench/peers does. It measures no waiting.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// Exit codes.
const (
	sound  = 0
	broken = 1 // a law, or the agreement with the model
	unable = 2 // bad input: nothing was measured
)

func main() {
	p := program{
		stdout: os.Stdout, stderr: os.Stderr,
		keyed:  func(l gcra.Limit, c clock.Clock) keyed { return shard.New[uint64](l, shard.WithClock(c)) },
		traced: func(l gcra.Limit, c clock.Clock) traced { return shard.New[string](l, shard.WithClock(c)) },
	}
	os.Exit(p.run(os.Args[1:]))
}

// A program is the command with its surroundings: tests put a limiter that breaks the laws in the place of weir's.
type program struct {
	stdout, stderr io.Writer
	keyed          func(gcra.Limit, clock.Clock) keyed
	traced         func(gcra.Limit, clock.Clock) traced
}

// A report is what a run found. It marshals into the document of -json.
type report interface {
	text() string
	faults() []string // what was broken, one line each
}

func (p *program) run(args []string) int {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return p.print([]byte(help), sound)
	}
	var r report
	switch {
	case err != nil:
	case o.trace != "":
		r, err = p.replay(o)
	default:
		r, err = p.work(o)
	}
	if err != nil {
		return p.complain(unable, err.Error())
	}

	out := []byte(r.text())
	if o.json {
		if out, err = marshal(r); err != nil {
			return p.complain(unable, err.Error())
		}
	}
	code := p.print(out, sound)
	for _, f := range r.faults() {
		code = p.complain(broken, f)
	}
	return code
}

// print writes the whole of stdout at once.
func (p *program) print(b []byte, code int) int {
	if _, err := p.stdout.Write(b); err != nil {
		return p.complain(unable, "cannot write the result: "+err.Error())
	}
	return code
}

func (p *program) complain(code int, what string) int {
	fmt.Fprintln(p.stderr, "bench: "+strings.ReplaceAll(what, "\n", `\n`))
	return code
}

func marshal(r report) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(r)
	return b.Bytes(), err
}
