package redislimit_test

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A proxy stands between a client and a server: it can swallow answers, after the
// server has done what was asked, or delay them.
type proxy struct {
	t       *testing.T
	addr    string
	network string // of the server
	to      string
	ln      net.Listener
	wg      sync.WaitGroup
	ended   chan struct{}

	swallow atomic.Int64 // answers of scripts, each with its connection
	delay   atomic.Int64 // ns

	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(t *testing.T, network, to string) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, addr: ln.Addr().String(), network: network, to: to, ln: ln, ended: make(chan struct{})}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) close() {
	close(p.ended)
	p.ln.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.to)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		both := func() {
			client.Close()
			server.Close()
		}
		p.wg.Go(func() {
			defer both()
			p.pump(server, client, func([]byte) bool { return true })
		})
		p.wg.Go(func() {
			defer both()
			p.pump(client, server, p.answer)
		})
	}
}

// answer says whether an answer goes on. Only a script's is an array or a number
// here.
func (p *proxy) answer(b []byte) bool {
	if (b[0] == '*' || b[0] == ':') && p.swallow.Add(-1) >= 0 {
		return false
	}
	if d := time.Duration(p.delay.Load()); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.ended:
		}
	}
	return true
}

func (p *proxy) pump(to, from net.Conn, goesOn func([]byte) bool) {
	b := make([]byte, 1<<16)
	for {
		n, err := from.Read(b)
		if n > 0 {
			if !goesOn(b[:n]) {
				return
			}
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
