// Peers compares redislimit with other libraries that limit rates in Redis: how
// fast they decide, and how often wrongly. It prints tables as Markdown.
//
//	go run ./contrib/redislimit/peers              # two or three minutes
//	go run ./contrib/redislimit/peers -only speed/keys=hot -runs 9
//	go run ./contrib/redislimit/peers -only wrong -sequences 2000
//
// The section speed starts a redis-server, on a socket in a folder of its own, and
// times all libraries through one client, in turns: on a machine that other work
// shares only the ratios of medians say something. What is granted is checked with
// every request. Each library's keys have a prefix of their own and stay there: what
// is timed are decisions on keys that are present.
//
// The section wrong asks all libraries for the same tokens at the same instants, of
// a Redis whose clock stands where it was set, and compares each answer with an
// exact bucket. It is redis-server with libfaketime (the package of that name) where
// both are there, so that its numbers and its expiry are the real ones; else it is
// miniredis. The program fails if weir is wrong once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("peers: ")
	cfg, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	// The servers end with the program, also when it is interrupted.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	writePlace(os.Stdout, cfg, os.Args[1:])
	err = run(ctx, cfg, os.Stdout)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// run runs the sections that are asked for and writes their tables.
func run(ctx context.Context, cfg config, w io.Writer) error {
	if err := runSpeed(ctx, cfg, w); err != nil {
		return fmt.Errorf("speed: %w", err)
	}
	if err := runWrong(ctx, cfg, w); err != nil {
		return fmt.Errorf("wrong: %w", err)
	}
	return nil
}

func runSpeed(ctx context.Context, cfg config, w io.Writer) (err error) {
	if !slices.ContainsFunc(timings(cfg), func(t timing) bool { return len(t.in(cfg)) > 0 }) {
		return nil
	}
	s, err := startServer()
	if err != nil {
		return err
	}
	client := s.client(slices.Max(cfg.goroutines))
	defer func() { err = errors.Join(err, client.Close(), s.stop()) }()
	all, memory, err := trials(ctx, client, cfg)
	if err != nil {
		return err
	}
	if err := measure(ctx, client, all, cfg); err != nil {
		return err
	}
	writeSpeed(w, all, memory)
	return nil
}

func runWrong(ctx context.Context, cfg config, w io.Writer) (err error) {
	var (
		libs   []library
		limits []limit
	)
	for _, lib := range libraries() {
		if slices.ContainsFunc(judged(), func(l limit) bool { return cfg.wants(l, lib) }) {
			libs = append(libs, lib)
		}
	}
	for _, l := range judged() {
		if slices.ContainsFunc(libs, func(lib library) bool { return cfg.wants(l, lib) }) {
			limits = append(limits, l)
		}
	}
	if len(libs) == 0 {
		return nil
	}
	start := time.Now().Truncate(time.Second).UnixMicro()
	c, err := openClock(cfg.clock, start)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	all, err := compareAll(ctx, c, start, libs, limits, cfg.sequences, cfg.requests, cfg.seed)
	if err != nil {
		return err
	}
	writeWrong(w, c.about, all)
	return exact(all)
}

func (cfg config) wants(l limit, lib library) bool {
	return cfg.only.MatchString("wrong/" + l.String() + "/" + lib.name)
}
