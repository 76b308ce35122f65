package redislimit

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/gcra"
)

// memory keeps refusals, so that who goes on asking in vain asks nobody: what a
// key lacked, and when it was asked. A bucket fills no faster than its rate, but
// by what is given back: this limiter forgets all when it gives back, resets or
// changes its limit, and what other processes do is seen when the memory ends, at
// the latest after WithMemory.
//
// It never refuses what Redis would grant for being early: the instant of the
// decision at Redis is after the call began, so by this clock the bucket is fuller
// than it is.
type memory struct {
	version atomic.Int64 // of what makes tokens come back
	longest time.Duration
	seed    maphash.Seed
	shards  [16]memoryShard
}

type memoryShard struct {
	mu sync.Mutex
	of map[string]memo
}

type memo struct {
	g       *generation
	version int64
	tat     int64
	at      time.Duration
	began   time.Duration
}

const memoryKeys = 1024 // a shard

func (m *memory) shard(key string) *memoryShard {
	return &m.shards[maphash.String(m.seed, key)%uint64(len(m.shards))]
}

// forget makes all that is remembered, and what calls under way would, void.
func (m *memory) forget() { m.version.Add(1) }

// refused decides again on a key that was refused. It is not ok if that is not
// known to hold.
func (m *memory) refused(t turn, key string, n int, decide func(*gcra.Limit, int64, gcra.Instant, int) (int64, gcra.Decision)) (gcra.Decision, bool) {
	if m.longest <= 0 {
		return gcra.Decision{}, false
	}
	s := m.shard(key)
	s.mu.Lock()
	e, found := s.of[key]
	s.mu.Unlock()
	since := max(t.began-e.began, 0)
	if !found || e.g != t.g || e.version != m.version.Load() || since >= m.longest {
		return gcra.Decision{}, false
	}
	_, d := decide(&t.g.limit, e.tat, gcra.At(&t.g.limit, e.at+since), n)
	return d, !d.OK()
}

// note remembers a refusal. Version is that of before the call.
func (m *memory) note(t turn, key string, tat int64, at gcra.Instant, d gcra.Decision, version int64) {
	if d.Err() != gcra.ErrLimited || m.longest <= 0 {
		return
	}
	s := m.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = make(map[string]memo)
	}
	if len(s.of) >= memoryKeys {
		for k := range s.of { // any: it is asked again, and noted again
			delete(s.of, k)
			break
		}
	}
	s.of[key] = memo{t.g, version, tat, at.Elapsed, t.began}
}
