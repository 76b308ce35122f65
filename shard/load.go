package shard

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/invariants"
)

var errHasKeys = errors.New("weir: Load into a limiter that has keys already: load before the first decision")

// Load reads what Save wrote, to the end of r. Every key then has the balance
// that it would have had if the old limiter had gone on through the down time,
// exactly but that it may lack one tick more, and keys that were never seen have
// the balance that they would have had; under another limit, what SetLimit
// would make of it. The limit's Start means nothing any more.
//
// Call it before the first decision. An error means that nothing was changed:
// the stream is read and checked whole before. It is [ErrFormat], [ErrKey],
// [ErrNoRoom] if more keys owe time than the limiter may remember, the error of
// r, or one that says that the limiter has keys already. Decisions that do run
// meanwhile see keys that are not loaded yet as never seen, and what they take
// is not taken off the balance loaded: such a key has the smaller of the two.
//
// The down time is the wall clock's. One that went back counts as no down time;
// one that was set forward credits what was not waited for, and there is no
// telling.
//
// With InSteps the refills of the down time come at the old limiter's steps, and
// later ones at those of this limiter's clock, which for the default clock begin
// when the limiter is made. So the next one may come up to a step later than it
// would have; or sooner, by less than this limiter's clock has run since a step
// of its own. The next Save and Load set that right.
func (l *Limiter[K]) Load(r io.Reader) error {
	c, err := newCodec[K]()
	if err != nil {
		return err
	}
	if l.Len() > 0 {
		return errHasKeys
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("weir: load: %w", err)
	}
	s, err := parseStream(data)
	if err != nil {
		return err
	}
	if s.kind != c.kind {
		return unreadable("its keys are of kind %.40q, and %T has %q", s.kind, *c.key, c.kind)
	}
	// The wall clock before the limiter's own: see Save.
	wall := time.Now().UnixNano()
	now := l.core.Now()
	g := l.core.Current()
	cv := newConversion(s, wall, g.Limit(), g.At(now))
	fresh := cv.tat(s.fresh)

	type entry struct {
		key K
		tat int64
	}
	// By bin, since inserts into one map at a time find it in the processor's
	// cache.
	entries, n := make([][]entry, len(l.bins)), 0
	for records := (scanner{rest: s.records}); len(records.rest) > 0; {
		text, lacks := records.record()
		key, err := c.decode(text)
		if err != nil {
			return unreadable("a key: %w", err)
		}
		// Keys that have what a key without a cell has need none.
		if tat := cv.tat(lacks); tat != fresh {
			i := l.index(key)
			entries[i] = append(entries[i], entry{key, tat})
			n++
		}
	}
	if l.most > 0 && int64(n) > l.most {
		return fmt.Errorf("%w: %d keys owe time, and WithMaxKeys is %d", ErrNoRoom, n, l.most)
	}
	// Room for all of them at once, or decisions that run meanwhile could take
	// it when half are loaded.
	if !l.keys.CompareAndSwap(0, int64(n)) {
		return errHasKeys
	}
	l.ahead.Store(&ahead{g, cv.ahead})
	// A fresh that is later than before comes before the keys and one that is
	// sooner after them, so that no key has too much in between.
	if fresh > g.Fresh() {
		l.core.SetFresh(g, fresh)
	}
	for i := range entries {
		for _, e := range entries[i] {
			l.put(&l.bins[i], e.key, g, e.tat)
		}
		entries[i] = nil
	}
	l.core.SetFresh(g, fresh)
	return nil
}

// put makes the cell of a key that is loaded, and that is counted already, with
// its TAT under the generation.
func (l *Limiter[K]) put(b *bin[K], key K, g *gatomic.Generation, tat int64) {
	inserted := false
	b.cells.Compute(key, func(old *cell, loaded bool) (*cell, bool) {
		inserted = !loaded
		now := l.core.Current()
		word := g.Forward(tat, now)
		if loaded { // by a decision that ran meanwhile, or by a stream that names the key twice
			if old.gen == now && old.Raise(word) {
				return old, false
			}
			if frozen, ok := old.Freeze(); ok {
				now = l.core.Current() // not older than what made somebody freeze it
				word = max(g.Forward(tat, now), old.gen.Forward(frozen, now))
			}
		}
		c := &cell{gen: now}
		c.Init(word)
		if invariants.On && loaded {
			succeeds(c, old, word)
		}
		return c, false
	})
	if !inserted {
		l.keys.Add(-1)
		return
	}
	b.mu.Lock()
	b.keys.push(key)
	b.mu.Unlock()
}

// A conversion turns what a key lacked at the save into its TAT now.
type conversion struct {
	from   gcra.Limit
	to     *gcra.Limit
	at     gcra.Instant  // now, under that limit
	gained uint64        // ticks of the old limit since the save
	round  uint64        // a tick more that a bucket lacks if it is not full
	ahead  time.Duration // see the type of that name
}

func newConversion(s *stream, wall int64, to *gcra.Limit, at gcra.Instant) *conversion {
	cv := &conversion{from: s.limit, to: to, at: at}
	from := &cv.from
	now := s.elapsed + min(time.Duration(max(minus(wall, s.wall), 0)), math.MaxInt64-s.elapsed)
	cv.gained = uint64(gcra.At(from, now).Tick - gcra.At(from, s.elapsed).Tick)

	// Both counts have got as far as their last step, or nanosecond.
	old, new := from.Birth(now), to.Birth(at.Elapsed)
	if from.Birth(-1) == to.Birth(-1) { // equal steps
		cv.ahead = (now - old) - (at.Elapsed - new)
	}
	// If less is missing to the next tick here than there, some of the ticks
	// to come will come sooner.
	if sameTicks(from, to) && fraction(from, old) < fraction(to, new) {
		cv.round = 1
	}
	return cv
}

func (cv *conversion) tat(lacks uint64) int64 {
	lacks -= min(lacks, cv.gained)
	if lacks > 0 {
		lacks = min(lacks+cv.round, math.MaxInt64)
	}
	return gcra.Convert(int64(lacks), &cv.from, gcra.Instant{}, cv.to, cv.at)
}

// perToken returns the ticks in a token.
func perToken(l *gcra.Limit) uint64 {
	next, _ := gcra.Allow(l, 1, gcra.Instant{Tick: 1}, 1)
	return uint64(next - 1)
}

func sameTicks(a, b *gcra.Limit) bool {
	n, period := a.Rate()
	m, other := b.Rate()
	return n == m && period == other && perToken(a) == perToken(b)
}

// fraction returns how much of the next tick has passed, in parts that are the
// same for limits with the same ticks.
func fraction(l *gcra.Limit, elapsed time.Duration) uint64 {
	n, period := l.Rate()
	// A limit's rate times its ticks per token fits, and is 0 without either.
	hi, lo := bits.Mul64(uint64(elapsed), uint64(n)*perToken(l))
	return bits.Rem64(hi, lo, uint64(period))
}
