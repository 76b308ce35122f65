package shard

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
)

// TopRefused iterates over the keys that were refused most since the limiter
// was made, the worst first, with an estimate of how often. It yields nothing
// without [WithTopRefused].
//
// One refusal in sampleOf is looked at, and a key that is new then takes the
// place of the one seen least, with that one's count: the space-saving sketch
// of Metwally, Agrawal and El Abbadi (2005). So a key that makes up more than
// one in 8·n of all refusals is there in the end, and one that does not may be
// estimated too high by that much.
func (l *Limiter[K]) TopRefused() iter.Seq2[K, int64] { return l.worst.all }

const sampleOf = 16

type sketch[K comparable] struct {
	n    int
	mu   sync.Mutex
	at   map[K]int
	seen []seen[K]
}

type seen[K comparable] struct {
	key   K
	count int64
}

// all yields what was seen; nothing if s is nil.
func (s *sketch[K]) all(yield func(K, int64) bool) {
	if s == nil {
		return
	}
	for _, k := range s.top() {
		if !yield(k.key, k.count*sampleOf) {
			return
		}
	}
}

func newSketch[K comparable](n int) *sketch[K] {
	return &sketch[K]{n: n, at: make(map[K]int, 8*n), seen: make([]seen[K], 0, 8*n)}
}

func (s *sketch[K]) sample(key K) {
	if rand.Uint32()%sampleOf == 0 {
		s.add(key)
	}
}

func (s *sketch[K]) add(key K) {
	// A decision waits for nobody: who finds the sketch in use, or a key that a
	// map could not find again, goes on without.
	if key != key || !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	i, ok := s.at[key]
	switch {
	case ok:
	case len(s.seen) < cap(s.seen):
		i = len(s.seen)
		s.seen = append(s.seen, seen[K]{key: key})
	default:
		i = 0
		for j := range s.seen {
			if s.seen[j].count < s.seen[i].count {
				i = j
			}
		}
		delete(s.at, s.seen[i].key)
		s.seen[i].key = key
	}
	s.at[key] = i
	s.seen[i].count++
}

func (s *sketch[K]) top() []seen[K] {
	s.mu.Lock()
	top := slices.Clone(s.seen)
	s.mu.Unlock()
	slices.SortStableFunc(top, func(a, b seen[K]) int { return cmp.Compare(b.count, a.count) })
	return top[:min(s.n, len(top))]
}
