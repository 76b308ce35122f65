package shard

import (
	"sync"
	"time"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/weir-go/weir/internal/invariants"
)

// A bin is one shard: a map and the list of its keys.
type bin[K comparable] struct {
	cells *xsync.MapOf[K, *cell]
	_     [56]byte // what decisions read lies apart from what they count

	tally

	// mu guards the list. An item is appended after its key's entry was made
	// and removed by whoever deletes that entry, so the two match whenever no
	// insert is under way. A goroutine that holds a map's lock never takes mu.
	mu   sync.Mutex
	keys chunks[K]
	hand int // the next item that an insert looks at

	_ [48]byte // and apart from what the next one's decisions read
}

func (b *bin[K]) init() { b.cells = newCells[K]() }

// remember lists a key whose entry was just made, and looks at two others.
func (b *bin[K]) remember(l *Limiter[K], key K) {
	now := l.core.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keys.push(key)
	if invariants.On {
		b.listed()
	}
	b.advance(l, now, 2)
}

// advance looks at the next n items, or at all if there are fewer, and
// returns how many keys it forgot. It is called with mu held.
func (b *bin[K]) advance(l *Limiter[K], now time.Duration, n int) (forgotten int) {
	for range min(n, b.keys.len) {
		if b.hand >= b.keys.len {
			b.hand = 0
		}
		if l.forget(b, b.keys.get(b.hand), now) {
			b.keys.remove(b.hand)
			forgotten++
		}
		// Past the item that a removal put there too: it is the youngest, and
		// the least likely to be full.
		b.hand++
	}
	return forgotten
}

// forget deletes the key's entry if its bucket is full.
func (l *Limiter[K]) forget(b *bin[K], key K, now time.Duration) bool {
	c, ok := b.cells.Load(key)
	if g := l.core.Current(); !ok || !c.Forget(c.gen, g, g.At(now)) {
		return false
	}
	gone := false
	b.cells.Compute(key, func(now *cell, loaded bool) (*cell, bool) {
		// A charger may have put a new cell in the place of the dead one.
		gone = loaded && now == c
		return now, gone || !loaded
	})
	if gone {
		if invariants.On {
			dropped(&c.Cell)
		}
		l.keys.Add(-1)
		l.forgotten.Add(1)
	}
	return gone
}

// batch is how many keys a sweep looks at before it lets inserts go on.
const batch = 64

// Sweep forgets all keys whose buckets are full, and returns how many it
// forgot. Inserts do the same little by little, so nobody has to call it; it
// is for who wants the memory of a flood back at once. It may run at any time:
// it never holds up an insert for long.
func (l *Limiter[K]) Sweep() (forgotten int) {
	for i := range l.bins {
		forgotten += l.bins[i].sweep(l)
	}
	return forgotten
}

func (b *bin[K]) sweep(l *Limiter[K]) (forgotten int) {
	// Backwards: a removal moves the last item, which has been looked at, or
	// which is still to come if all behind it are gone.
	b.mu.Lock()
	next := b.keys.len - 1
	b.mu.Unlock()
	for next >= 0 {
		now := l.core.Now() // a foreign clock is read under no lock that can be helped
		b.mu.Lock()
		next = min(next, b.keys.len-1)
		for stop := next - batch; next >= 0 && next > stop; next-- {
			if l.forget(b, b.keys.get(next), now) {
				b.keys.remove(next)
				forgotten++
			}
		}
		b.mu.Unlock()
	}
	return forgotten
}

// room is how many keys are looked at on behalf of a new one without room. An
// empty shard counts like a key.
const room = 128

// makeRoom looks for a key to forget, beginning where the last search ended,
// and reports whether it found one.
func (l *Limiter[K]) makeRoom() bool {
	now := l.core.Now()
	for left, bins := room, len(l.bins); left > 0 && bins > 0; bins-- {
		b := &l.bins[l.roomHand.Load()%uint64(len(l.bins))]
		b.mu.Lock()
		n := min(left, b.keys.len)
		forgotten := b.advance(l, now, n)
		wrapped := b.hand >= b.keys.len
		b.mu.Unlock()
		if forgotten > 0 {
			return true
		}
		if wrapped || n < left {
			l.roomHand.Add(1)
		}
		left -= max(n, 1)
	}
	return false
}

// chunks is a list of keys that grows without being copied.
type chunks[K comparable] struct {
	chunk []*[chunkLen]K
	len   int
}

const chunkLen = 64

func (c *chunks[K]) get(i int) K { return c.chunk[i/chunkLen][i%chunkLen] }

func (c *chunks[K]) push(key K) {
	if c.len == len(c.chunk)*chunkLen {
		c.chunk = append(c.chunk, new([chunkLen]K))
	}
	c.chunk[c.len/chunkLen][c.len%chunkLen] = key
	c.len++
}

// remove puts the last item in the place of item i.
func (c *chunks[K]) remove(i int) {
	c.len--
	last := &c.chunk[c.len/chunkLen][c.len%chunkLen]
	c.chunk[i/chunkLen][i%chunkLen] = *last
	var zero K
	*last = zero // or a string would be kept
	if spare := c.len/chunkLen + 1; spare < len(c.chunk)-1 {
		c.chunk[len(c.chunk)-1] = nil
		c.chunk = c.chunk[:len(c.chunk)-1]
	}
}
