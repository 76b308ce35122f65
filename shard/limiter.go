package shard

import (
	"context"
	"hash/maphash"
	"iter"
	"sync/atomic"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
)

// A Limiter limits each key of type K by a bucket of its own. Make it with
// [New]; the zero Limiter is not usable. It must not be copied, and all
// methods are safe for concurrent use. Decisions on keys that are present
// neither lock nor allocate; a new key costs about 70 bytes, with a key of one
// word, until it is forgotten.
//
// Keys are exact: they are compared, never taken for one another by their
// hash. A key that is not equal to itself (NaN) is never remembered and gets
// the policy of [WithMaxKeys]. A key whose dynamic type cannot be compared
// panics, as it does in a map.
type Limiter[K comparable] struct {
	pacer  gatomic.Pacer
	gen    generation
	seed   maphash.Seed
	bins   []bin[K]
	most   int64 // keys, 0 for no bound
	policy Policy
	stats  bool

	keys      atomic.Int64 // entries in the maps, exactly
	forgotten atomic.Int64
	capped    atomic.Int64
	roomHand  atomic.Uint64 // the bin where the search for room goes on
}

// A generation is what the words of its cells mean.
type generation struct {
	limit gcra.Limit
	fresh int64 // the TAT of keys without a cell
}

type cell struct {
	gatomic.Cell
	gen *generation
}

// New returns a limiter that gives every key that limit.
func New[K comparable](limit gcra.Limit, opts ...Option) *Limiter[K] {
	cfg := config{shards: 64}
	for _, opt := range opts {
		opt(&cfg)
	}
	l := &Limiter[K]{
		seed: maphash.MakeSeed(),
		bins: make([]bin[K], cfg.shards),
		most: cfg.most, policy: cfg.policy, stats: cfg.stats,
	}
	for i := range l.bins {
		l.bins[i].init()
	}
	l.pacer.Init(limit, cfg.pacer...)
	l.gen.limit = limit
	l.gen.fresh = gcra.Fresh(&l.gen.limit, l.now())
	return l
}

func (l *Limiter[K]) now() gcra.Instant { return gcra.At(&l.gen.limit, l.pacer.Now()) }

func (l *Limiter[K]) bin(key K) *bin[K] {
	return &l.bins[maphash.Comparable(l.seed, key)&uint64(len(l.bins)-1)]
}

// Allow reports whether one token was there for the key, and takes it.
func (l *Limiter[K]) Allow(key K) bool { return l.Take(key, 1).OK() }

// AllowN reports whether n tokens were there, and takes them all or none.
func (l *Limiter[K]) AllowN(key K, n int) bool { return l.Take(key, n).OK() }

// Take takes n of the key's tokens or none. It is refused with
// gcra.ErrExceedsBurst if n is above the burst, and with gcra.ErrCost if it is
// negative.
func (l *Limiter[K]) Take(key K, n int) gcra.Decision {
	b := l.bin(key)
	for {
		at := l.now() // the clock first, the cell after it
		if c, ok := b.cells.Load(key); ok {
			if d, alive := c.Take(&c.gen.limit, at, n); alive {
				return b.count(l.stats, d)
			}
		}
		if d, done := l.takeNew(b, key, at, n, gcra.Take); done {
			return b.count(l.stats, d)
		}
	}
}

// TakeUpTo takes as many of the key's tokens as there are, at most n. It is
// refused if there is none.
func (l *Limiter[K]) TakeUpTo(key K, n int) gcra.Decision {
	b := l.bin(key)
	for {
		at := l.now()
		if c, ok := b.cells.Load(key); ok {
			if d, alive := c.TakeUpTo(&c.gen.limit, at, n); alive {
				return b.count(l.stats, d)
			}
		}
		if d, done := l.takeNew(b, key, at, n, gcra.TakeUpTo); done {
			return b.count(l.stats, d)
		}
	}
}

// Peek tells what Take would decide, takes nothing and writes nothing.
func (l *Limiter[K]) Peek(key K, n int) gcra.Decision {
	at := l.now()
	if c, ok := l.bin(key).cells.Load(key); ok {
		if d, alive := c.Peek(&c.gen.limit, at, n); alive {
			return d
		}
	}
	return gcra.Peek(&l.gen.limit, l.gen.fresh, at, n)
}

// Wait waits for one of the key's tokens: see [Limiter.WaitN].
func (l *Limiter[K]) Wait(ctx context.Context, key K) error { return l.WaitN(ctx, key, 1) }

// WaitN takes n of the key's tokens as soon as the limit permits. It books its
// slot at once and sleeps until it; slots are given in the order of booking.
// Its errors are those of the Limiter of package atomic.
func (l *Limiter[K]) WaitN(ctx context.Context, key K, n int) error {
	t, err := l.pacer.Begin(ctx, &l.gen.limit)
	if err != nil {
		return err
	}
	bin := l.bin(key)
	for {
		if c, ok := bin.cells.Load(key); ok {
			if b, d, alive := c.Book(&c.gen.limit, t, n); alive {
				return l.finish(ctx, bin, t, n, b, d, c)
			}
		}
		t = l.pacer.Again(&l.gen.limit, t)
		if b, d, c, done := l.bookNew(bin, key, t, n); done {
			return l.finish(ctx, bin, t, n, b, d, c)
		}
	}
}

func (l *Limiter[K]) finish(ctx context.Context, bin *bin[K], t gatomic.Turn, n int, b gcra.Booking, d gcra.Decision, c *cell) error {
	var held *gatomic.Cell
	if c != nil {
		held = &c.Cell
	}
	err := l.pacer.Finish(ctx, &l.gen.limit, t, n, b, d, held)
	if l.stats {
		bin.countWait(err, d.OK() && b.Slot > t.At.Tick)
	}
	return err
}

// Reset makes the key what it would be if nothing had ever been taken from it.
// Waiters that sleep keep their slots.
func (l *Limiter[K]) Reset(key K) {
	at := l.now()
	if c, ok := l.bin(key).cells.Load(key); ok {
		// The dead cell stays until a charge replaces it or a sweep finds it.
		c.Reset(c.gen.fresh, at)
	}
}

// Limit returns the limit.
func (l *Limiter[K]) Limit() gcra.Limit { return l.gen.limit }

// Len returns the number of keys that are remembered: those that owe time and
// those that have not been forgotten yet.
func (l *Limiter[K]) Len() int { return int(l.keys.Load()) }

// All iterates over the keys that are remembered, with what a Peek of 0 says
// of each. It sees every key that is there from beginning to end of the
// iteration, and may see those that come or go meanwhile. The loop may use the
// limiter.
func (l *Limiter[K]) All() iter.Seq2[K, gcra.Decision] {
	return func(yield func(K, gcra.Decision) bool) {
		at, more := l.now(), true
		for i := range l.bins {
			l.bins[i].cells.Range(func(key K, c *cell) bool {
				if d, alive := c.Peek(&c.gen.limit, at, 0); alive {
					more = yield(key, d)
				}
				return more
			})
			if !more {
				return
			}
		}
	}
}

// For returns the view of one key.
func (l *Limiter[K]) For(key K) View[K] { return View[K]{l, key} }

// A View is one key of a limiter, for code that knows of no keys. It is a
// comparable value: two views are equal if limiter and key are.
type View[K comparable] struct {
	limiter *Limiter[K]
	key     K
}

// Allow reports whether one token was there, and takes it.
func (v View[K]) Allow() bool { return v.limiter.Allow(v.key) }

// Wait waits for one token, as WaitN of the limiter does.
func (v View[K]) Wait(ctx context.Context) error { return v.limiter.Wait(ctx, v.key) }
