package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/weir-go/weir/clock"
)

// serve is one process: it says where it listens, and serves until the context or
// its input ends. Lines of the input say who there is.
func serve(ctx context.Context, in io.Reader, out io.Writer, c config) error {
	clk := clock.System()
	m := newMembers(c.name, clk)
	toPeers, toUpstream := newTransport(peerAnswers), newTransport(upstreamAnswers)
	defer toPeers.CloseIdleConnections()
	defer toUpstream.CloseIdleConnections()
	n, err := newNode(c, m, clk, toPeers, toUpstream)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", c.listen)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		defer end()
		for lines := bufio.NewScanner(in); lines.Scan(); {
			addr, err := parsePeers(lines.Text())
			if err == nil {
				err = m.set(addr)
			}
			if err != nil {
				log.Printf("node %s: processes stay as they are: %v", c.name, err)
			}
		}
	}()
	fmt.Fprintln(out, ln.Addr())
	return serveUntil(ctx, ln, n)
}

// maxHeader bounds what a request's fields take.
const maxHeader = 64 << 10

// serveUntil serves until the context ends, and lets requests under way end then.
func serveUntil(ctx context.Context, ln net.Listener, h http.Handler) error {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
	}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(ln) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := s.Shutdown(grace)
	if err != nil {
		err = errors.Join(err, s.Close())
	}
	<-failed
	return err
}
