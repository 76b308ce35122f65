package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// A server is one that runs, until stop.
type server struct {
	http   http.Server
	addr   string
	failed chan error // why it ended by itself
}

// A where says from where a server may be reached.
type where bool

const (
	anywhere where = false
	loopback where = true
)

// start serves at the address, in the background.
func start(addr string, h http.Handler, from where) (*server, error) {
	if addr == "" {
		return nil, errors.New("no address to listen on") // net.Listen takes it for any
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	if at, ok := ln.Addr().(*net.TCPAddr); from == loopback && !(ok && at.IP.IsLoopback()) {
		ln.Close()
		return nil, fmt.Errorf("%s can be reached from elsewhere: want a loopback address", ln.Addr())
	}
	s := &server{
		// Nobody holds a connection for as long as they like. WriteTimeout is
		// the longest that a response may take: raise it for large downloads,
		// or set it by request with an http.ResponseController.
		http: http.Server{
			Handler:           h,
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       time.Minute,
			WriteTimeout:      2 * time.Minute,
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    64 << 10,
		},
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

// stop takes no new requests, and lets those under way end within the grace.
// Then it cuts them off, and says so.
func (s *server) stop(grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests to %s were cut off: %w", s.addr, err), s.http.Close())
	}
	return nil
}
