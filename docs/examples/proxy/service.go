package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/weir-go/weir/clock"
)

type config struct {
	listen, admin, upstream string
	limits                  limits
	limitsFile              string // "": the limits above
	trust                   prefixes
	balances                string // a file; "": none are kept
	saveEvery, grace        time.Duration
	off                     bool

	clock clock.Clock
	log   *slog.Logger
	tick  <-chan time.Time    // in place of one each saveEvery, if not nil
	pause func(time.Duration) // of the demonstration; nil sleeps
}

// A service is the proxy, with its administration and, if need be, an upstream
// of its own.
type service struct {
	config
	gate              *gate
	transport         *http.Transport // to the upstream
	front, admin, own *server         // own may be nil
	hup               chan os.Signal
}

// open reads limits and balances and starts the servers. Whoever gets a service
// has to call serve, which ends it.
func open(c config) (_ *service, err error) {
	if !c.trust.sound() {
		return nil, fmt.Errorf("-trust %v: want prefixes of proxies, not of everybody", c.trust)
	}
	if c.limitsFile != "" {
		if c.limits, err = readLimits(c.limitsFile, c.limits); err != nil {
			return nil, err
		}
	}
	s := &service{
		config:    c,
		gate:      newGate(c.limits, c.trust, c.clock),
		transport: newTransport(),
		hup:       make(chan os.Signal, 1),
	}
	if c.balances != "" {
		if err := loadBalances(c.balances, s.gate.client, c.log); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	if s.upstream == "" {
		if s.own, err = start("127.0.0.1:0", hello(), loopback); err != nil {
			return nil, err
		}
		s.upstream = "http://" + s.own.addr
	}
	to, err := url.Parse(s.upstream)
	if err == nil && (to.Scheme != "http" && to.Scheme != "https" || to.Host == "") {
		err = errors.New("want http://HOST or https://HOST")
	}
	if err != nil {
		return nil, fmt.Errorf("-upstream %q: %w", s.upstream, err)
	}
	if s.admin, err = start(s.config.admin, administration(s.gate, c.log), loopback); err != nil {
		return nil, fmt.Errorf("-admin: %w", err)
	}
	handler := forward(to, s.transport, c.trust, c.log)
	if !c.off {
		handler = s.gate.limit(handler)
	}
	if s.front, err = start(c.listen, handler, anywhere); err != nil {
		return nil, err
	}
	if c.limitsFile != "" {
		signal.Notify(s.hup, syscall.SIGHUP) // else it ends the process, as usual
	}
	return s, nil
}

// serve serves until ctx is done, which is no error, or a server fails.
func (s *service) serve(ctx context.Context) error {
	tick := s.tick
	if tick == nil && s.balances != "" && s.saveEvery > 0 {
		ticker := time.NewTicker(s.saveEvery)
		defer ticker.Stop()
		tick = ticker.C
	}
	// One after another, so that no two savings meet.
	for {
		select {
		case <-ctx.Done():
			return s.stop()
		case err := <-s.front.failed:
			return errors.Join(err, s.stop())
		case err := <-s.admin.failed:
			return errors.Join(err, s.stop())
		case <-s.hup:
			s.reload()
		case <-tick:
			if err := s.save(); err != nil {
				s.log.Error("balances are not saved", "err", err)
			}
		}
	}
}

// reload puts the limits of the file in force, all of them or none.
func (s *service) reload() {
	err := s.gate.change(func(limits) (limits, error) { return readLimits(s.limitsFile, s.config.limits) })
	if err != nil {
		s.log.Error("limits stay as they are", "limits", s.gate.limits(), "err", err)
		return
	}
	s.log.Info("limits", "limits", s.gate.limits())
}

func (s *service) save() error {
	if s.balances == "" {
		return nil
	}
	return replaceFile(s.balances, s.gate.client.Save)
}

// stop ends what has been started: first what takes requests, so that what they
// were charged is saved, and last what they are forwarded to.
func (s *service) stop() error {
	signal.Stop(s.hup)
	var errs []error
	if s.front != nil {
		errs = append(errs, s.front.stop(s.grace), s.save())
	}
	s.transport.CloseIdleConnections()
	for _, other := range []*server{s.admin, s.own} {
		if other != nil {
			errs = append(errs, other.stop(s.grace))
		}
	}
	return errors.Join(errs...)
}
