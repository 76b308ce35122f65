package tsc

import (
	"math/bits"
	"sync/atomic"
)

const slots = 8 // of which one is current, and one more is taken by each goroutine that draws a line

// A board shows the current line. Its slots are used again and again, so that
// no line is allocated. No goroutine waits for another here: one that is stopped
// while it draws keeps its slot, and others draw in theirs.
type board struct {
	// cur is version·slots + slot of the current line. The compare-and-swap
	// that moves it publishes the slot's fields; who loads it afterwards sees
	// them. No value comes twice, so a reader that finds it unmoved after
	// loading the fields has fields of one line: a slot is given free only
	// after cur has moved off it, and written only after that.
	cur  atomic.Uint64
	free atomic.Uint32 // a bit for each slot that anybody may take
	_    [48]byte
	line [slots]slot
}

// A slot is a line on the board, and fills a cache line.
type slot struct {
	count, span     atomic.Uint64
	now, sys        atomic.Int64
	rate, lastDoubt atomic.Uint64
	_               [16]byte
}

// start shows the first line. Nobody reads the board yet.
func (b *board) start(l line) {
	b.line[0].set(l)
	b.free.Store(1<<slots - 2)
}

func (s *slot) set(l line) {
	s.count.Store(l.count)
	s.now.Store(l.now)
	s.span.Store(uint64(l.span))
	s.sys.Store(l.sys)
	s.rate.Store(uint64(l.rate))
	s.lastDoubt.Store(uint64(l.doubt))
}

// read returns what the current line reads at the count, or false if that has
// to be found out the long way: the line is over, or moved meanwhile.
func (b *board) read(count uint64) (now int64, ok bool) {
	cur := b.cur.Load()
	s := &b.line[cur%slots]
	since := count - s.count.Load()
	now = s.now.Load() + int64(since*s.span.Load()>>lifeBits)
	return now, since < life && b.cur.Load() == cur // cur last: see there
}

// load returns the current line, whole.
func (b *board) load() (cur uint64, l line) {
	for {
		cur = b.cur.Load()
		s := &b.line[cur%slots]
		l = line{
			s.count.Load(), s.now.Load(), int64(s.span.Load()),
			s.sys.Load(), rate(s.rate.Load()), rate(s.lastDoubt.Load()),
		}
		if b.cur.Load() == cur {
			return cur, l
		}
	}
}

// renew is read the long way. If the line is over it draws the next one, which
// reads the system's clock.
func (b *board) renew(src source) int64 {
	for {
		cur, l := b.load()
		// After the line: a count from before says nothing about its end.
		since := src.count() - l.count
		switch {
		case since < life:
			return l.at(since)
		case -since <= back:
			return l.now
		}
		i, ok := b.take()
		if !ok {
			// All slots are taken: their goroutines are at it.
			return l.end()
		}
		next := l.next(sample(src))
		if b.show(cur, i, next) {
			return next.now
		}
	}
}

// take takes a free slot to draw in.
func (b *board) take() (i uint64, ok bool) {
	for {
		free := b.free.Load()
		if free == 0 {
			return 0, false
		}
		if b.free.CompareAndSwap(free, free&(free-1)) {
			return uint64(bits.TrailingZeros32(free)), true
		}
	}
}

// show makes the line in slot i the one after cur, unless somebody else has
// shown one. Either way one slot becomes free.
func (b *board) show(cur, i uint64, l line) bool {
	b.line[i].set(l)
	shown := b.cur.CompareAndSwap(cur, cur-cur%slots+slots+i)
	if shown {
		i = cur % slots
	}
	b.free.Or(1 << i) // after the swap: before, a slot in sight could be written
	return shown
}
