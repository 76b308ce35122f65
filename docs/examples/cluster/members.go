package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/shard/ring"
)

// retryAfter is how long a process that was not reached is left alone.
const retryAfter = time.Second

// members are the processes as this one knows them. Decisions read a view of
// them, which never changes; who changes something puts another in its place.
type members struct {
	self  string
	clock clock.Clock

	mu   sync.Mutex // held to change the view
	view atomic.Pointer[view]
}

type view struct {
	full *ring.Ring // all of them
	live *ring.Ring // without those that are out
	addr map[string]string
	out  map[string]*atomic.Int64 // when each may be tried again, by the clock
}

func newMembers(self string, clk clock.Clock) *members {
	m := &members{self: self, clock: clk}
	alone, err := ring.New([]string{self})
	if err != nil {
		panic(err) // the name is not empty
	}
	m.view.Store(&view{full: alone, live: alone})
	return m
}

// parsePeers reads a line of names and addresses.
func parsePeers(line string) (map[string]string, error) {
	addr := map[string]string{}
	for _, field := range strings.Fields(line) {
		name, at, ok := strings.Cut(field, "=")
		if !ok || name == "" || at == "" {
			return nil, fmt.Errorf("%.50q is not NAME=ADDRESS", field)
		}
		if addr[name] != "" {
			return nil, fmt.Errorf("%.50q is there twice", name)
		}
		addr[name] = at
	}
	return addr, nil
}

// set says who there is. All of them are live, as far as is known, but those that are
// out under the address that they have now.
func (m *members) set(addr map[string]string) error {
	if addr[m.self] == "" {
		return fmt.Errorf("%q is not among the processes", m.self)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.view.Load()
	full, err := ring.New(slices.Collect(maps.Keys(addr)))
	if err != nil {
		return err
	}
	v := &view{full: full, addr: addr, out: map[string]*atomic.Int64{}}
	for name, again := range old.out {
		if addr[name] == old.addr[name] {
			v.out[name] = again
		}
	}
	return m.publish(v)
}

// publish puts a view in force whose live ring follows from the rest.
func (m *members) publish(v *view) (err error) {
	if v.live, err = v.full.Without(slices.Collect(maps.Keys(v.out))...); err != nil {
		return err
	}
	m.view.Store(v)
	return nil
}

// owner returns who decides about the key, and where: one who is out if it is time to
// try whether the key's first owner is back.
func (m *members) owner(key string) (name, addr string) {
	v := m.view.Load()
	name = v.full.Owner(key)
	if again := v.out[name]; again != nil {
		now := int64(m.clock.Now())
		// One request tries; the others go on with who has the key meanwhile.
		if until := again.Load(); now < until || !again.CompareAndSwap(until, now+int64(retryAfter)) {
			name = v.live.Owner(key)
		}
	}
	return name, v.addr[name]
}

// failed says that the process was not reached there, and answered that it was.
// Neither matters if it has another address by now.
func (m *members) failed(name, addr string) {
	m.change(name, addr, false, func(out map[string]*atomic.Int64) {
		again := new(atomic.Int64)
		again.Store(int64(m.clock.Now() + retryAfter))
		out[name] = again
	})
}

func (m *members) answered(name, addr string) {
	if m.view.Load().out[name] != nil {
		m.change(name, addr, true, func(out map[string]*atomic.Int64) { delete(out, name) })
	}
}

// change changes who is out, if the process's being out is what it was.
func (m *members) change(name, addr string, out bool, how func(map[string]*atomic.Int64)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := *m.view.Load()
	if name == m.self || v.addr[name] != addr || (v.out[name] != nil) != out {
		return
	}
	v.out = maps.Clone(v.out)
	how(v.out)
	if err := m.publish(&v); err != nil {
		panic(err) // this process is never out, and all names are the ring's
	}
}
