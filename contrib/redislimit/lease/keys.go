package lease

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v3"
)

// An entry is what is known of a key. Its block is never nil, and only who has the
// flight puts another there.
type entry struct {
	block  atomic.Pointer[block]
	flight atomic.Pointer[flight]
	size   int // of the next block; whose the flight is may use it
}

// keys are the entries, and a list of them in the order in which they are looked at
// to be forgotten: an item is there exactly as long as its key's entry, but for
// the moment between their making.
type keys struct {
	of   *xsync.MapOf[string, *entry]
	most int64
	n    atomic.Int64 // entries, and those that are just being made

	mu   sync.Mutex
	list []string
	hand int
}

func (k *keys) init(most int) {
	k.of = xsync.NewMapOf[string, *entry]()
	k.most = int64(most)
}

// entry returns the key's entry, or makes one, or returns nil if there is no room.
func (l *Limiter) entry(key string) *entry {
	k, now := &l.keys, l.now()
	for search := true; ; search = false {
		var e *entry
		made := false
		k.of.Compute(key, func(old *entry, loaded bool) (*entry, bool) {
			if e = old; loaded && !old.gone() {
				return old, false
			}
			// One that is gone is replaced at once: nobody waits for whoever
			// is about to delete it.
			if made = !loaded; made && k.n.Add(1) > k.most {
				k.n.Add(-1)
				e, made = nil, false
				return nil, true
			}
			// As if it had just been asked about, or it would be forgotten first.
			e = new(entry)
			e.block.Store(&block{fresh: add(now, l.life)})
			return e, false
		})
		if made {
			l.listed(key)
		}
		if e != nil || !search || !l.look(128) {
			return e
		}
	}
}

// listed lists a key whose entry was just made, and looks at two others.
func (l *Limiter) listed(key string) {
	k := &l.keys
	k.mu.Lock()
	k.list = append(k.list, key)
	k.mu.Unlock()
	l.look(2)
}

// look looks at n keys, or at all if there are fewer, forgets those that nobody
// asked about for a lifetime, and reports whether there was one.
func (l *Limiter) look(n int) (forgotten bool) {
	k := &l.keys
	now := l.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for range min(n, len(k.list)) {
		if k.hand >= len(k.list) {
			k.hand = 0
		}
		if !l.forget(k.list[k.hand], now) {
			k.hand++
			continue
		}
		forgotten = true
		last := len(k.list) - 1
		k.list[k.hand], k.list[last] = k.list[last], ""
		k.list = k.list[:last]
		k.hand++ // past the youngest, which is now there
	}
	return forgotten
}

// forget deletes the key's entry if it says nothing any more: its tokens have
// expired, and no refusal follows from its answer.
func (l *Limiter) forget(key string, now time.Duration) bool {
	e, ok := l.keys.of.Load(key)
	if !ok || !e.idle(now) {
		return false
	}
	// Who has the flight is the only one to put a block there. One that is gone
	// never ends, so nobody puts one into an entry that nobody would find again.
	f := &flight{gone: true}
	if !e.flight.CompareAndSwap(nil, f) {
		return false
	}
	if !e.idle(now) {
		e.flight.Store(nil) // asked about just before
		return false
	}
	l.lost.Add(e.block.Load().left.Swap(0))
	l.keys.of.Compute(key, func(now *entry, loaded bool) (*entry, bool) {
		ok = loaded && now == e
		return now, ok || !loaded
	})
	if ok {
		l.keys.n.Add(-1)
	}
	return ok
}

func (e *entry) idle(now time.Duration) bool {
	b := e.block.Load()
	return now >= b.until && now >= b.fresh
}

func (e *entry) gone() bool {
	f := e.flight.Load()
	return f != nil && f.gone
}
