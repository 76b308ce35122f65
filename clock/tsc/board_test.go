package tsc

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// A race is a source for many goroutines whose counter moves on by a part of a
// life whenever anybody reads it: so every few readings a line is over.
type race struct {
	at      atomic.Uint64
	step    uint64
	samples atomic.Uint64
	yield   bool
	board   board
}

func (r *race) count() uint64 { return r.at.Add(r.step) }

func (r *race) system() int64 {
	r.samples.Add(1)
	if r.yield {
		runtime.Gosched() // others draw lines meanwhile
	}
	return int64(r.at.Load() / 2) // 2 GHz
}

func (r *race) now() int64 {
	if now, ok := r.board.read(r.count()); ok {
		return now
	}
	return r.board.renew(r)
}

// TestNeverLess has goroutines hand each other what they read last. The counter
// is one for all, so the promise holds exactly.
func TestNeverLess(t *testing.T) {
	for _, row := range []struct {
		step  uint64
		yield bool
		why   string
	}{
		{life / 3, false, "a line every other reading"},
		{life/3 + 1, true, "and others overtake who draws"},
		{life / 50, false, "most readings are on the way"},
		{life + 1, false, "no line is ever read on the way"},
	} {
		r := race{step: row.step, yield: row.yield}
		r.board.start(line{span: life / 2, rate: life / 2 << fracBits})
		var last atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 50_000 {
					before := last.Load()
					now := r.now()
					if now < before {
						t.Errorf("%s: read %d after %d", row.why, now, before)
						return
					}
					for before < now && !last.CompareAndSwap(before, now) {
						before = last.Load()
					}
				}
			})
		}
		wg.Wait()
		// The counter moves far within a sample, so each is tried to the end.
		lines, samples := r.board.cur.Load()/slots, r.samples.Load()/tries
		if lines < 1000 {
			t.Errorf("%s: only %d lines", row.why, lines)
		}
		if row.yield && samples == lines {
			t.Errorf("%s: nobody ever drew a line in vain: the race did not happen", row.why)
		}
		if free := r.board.free.Load() | 1<<(r.board.cur.Load()%slots); free != 1<<slots-1 {
			t.Errorf("%s: slots got lost: %08b are free or current", row.why, free)
		}
		t.Logf("%s: %d lines, %d drawn in vain", row.why, lines, samples-lines)
	}
}

// TestStopped has all but one of the goroutines that draw stopped for ever: the
// one goes on, and if it too is stopped the others read the end of the line.
func TestStopped(t *testing.T) {
	r := race{step: life + 1}
	r.board.start(line{span: life / 2, rate: life / 2 << fracBits})
	for range slots - 2 {
		if _, ok := r.board.take(); !ok {
			t.Fatal("no slot is left")
		}
	}
	for last := r.now(); r.board.cur.Load() < 100*slots; {
		now := r.now()
		if now <= last {
			t.Fatalf("read %d after %d: it stands still", now, last)
		}
		last = now
	}
	i, ok := r.board.take()
	if !ok {
		t.Fatal("the last slot was lost")
	}
	_, l := r.board.load()
	if now := r.now(); now != l.end() {
		t.Errorf("read %d, want %d: the end of the line", now, l.end())
	}
	r.board.free.Or(1 << i)
	if now := r.now(); now <= l.end() {
		t.Errorf("read %d and %d again: there is a slot to go on", l.end(), now)
	}
}

// TestLate has a goroutine that is stopped between drawing a line and showing
// it, while others go on.
func TestLate(t *testing.T) {
	r := race{step: life + 1}
	r.board.start(line{span: life / 2, rate: life / 2 << fracBits})
	cur, l := r.board.load()
	i, _ := r.board.take()
	next := l.next(sample(&r))
	now := r.now()
	if r.board.show(cur, i, next) {
		t.Error("a line was shown that follows an old one")
	}
	if after := r.now(); after < now {
		t.Errorf("read %d after %d", after, now)
	}
}

// TestOvertaken has a goroutine that finds the line over and is stopped, while
// others draw the next one and time goes on.
func TestOvertaken(t *testing.T) {
	for stopped := range 3 { // after so many readings of the counter
		w := newWorld(6, 1<<40).begin(t)
		w.pass(lives(1.5))
		calls := 0
		var meet func()
		meet = func() {
			if calls++; calls <= stopped {
				w.meet = meet
				return
			}
			w.now()
			w.pass(lives(0.5))
		}
		w.meet = meet
		now := w.board.renew(w)
		if calls <= stopped {
			t.Errorf("stopped after %d readings: there were no more", stopped)
		}
		if w.lines() != 1 {
			t.Errorf("stopped after %d readings: %d lines were drawn, want 1", stopped, w.lines())
		}
		if now > w.ns || now < w.ns-1000 {
			t.Errorf("stopped after %d readings: read %d at %d", stopped, now, w.ns)
		}
	}
}

// TestTorn draws lines into two slots as fast as it can, and reads them
// meanwhile: what is read is one line's. All lines have the count, so that only
// the second look at what is current keeps two of them apart.
func TestTorn(t *testing.T) {
	const count, enough = 1 << 40, 20
	mark := func(k uint64) line {
		return line{count - life/2 - k%1021*1021, int64(k * s), int64(k % 1019 * 100), int64(k), rate(k), rate(k)}
	}
	readsOf := func(k uint64) int64 {
		l := mark(k)
		return l.at(count - l.count)
	}
	var b board
	b.start(mark(0))
	b.free.Store(1 << 1)
	var done atomic.Bool
	var moved atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		defer done.Store(true)
		for k := uint64(1); k <= 3_000_000 && (k < 400_000 || moved.Load() < enough) && !t.Failed(); k++ {
			cur, _ := b.load()
			i, ok := b.take()
			if !ok || !b.show(cur, i, mark(k)) {
				t.Errorf("line %d was not shown", k)
			}
			if k%10_000 == 0 {
				runtime.Gosched() // or one core has no race
			}
		}
	})
	wg.Go(func() {
		for !done.Load() && !t.Failed() {
			cur, l := b.load()
			if k := cur / slots; l != mark(k) {
				t.Errorf("line %d: %+v", k, l)
			}
		}
	})
	wg.Go(func() {
		var whole int
		for !done.Load() && !t.Failed() {
			first := b.cur.Load() / slots
			now, ok := b.read(count)
			last := b.cur.Load() / slots
			if first != last {
				moved.Add(1)
			}
			if !ok {
				continue
			}
			whole++
			k := uint64(now / s)
			if k < first || k > last || now != readsOf(k) {
				t.Errorf("read %d, which is none of the lines %d to %d", now, first, last)
			}
		}
		if whole == 0 {
			t.Error("nothing was read")
		}
	})
	wg.Wait()
	t.Logf("%d readings of lines that moved meanwhile", moved.Load())
}

// TestBack has a counter that goes back.
func TestBack(t *testing.T) {
	const from, began = 1 << 40, 7 * s
	for _, row := range []struct {
		at   uint64
		want int64
		new  bool
		why  string
	}{
		{from, began, false, "not at all"},
		{from + life/2, began + 25*ms, false, "nor here"},
		{from - 1, began, false, "by what cores may differ: it stands"},
		{from - back, began, false, "by the most of that"},
		{from - back - 1, began + 50*ms, true, "by more: a new line, above the old one"},
		{0, began + 50*ms, true, "to its begin"},
		{from + life, began + 50*ms, true, "a line's end"},
		{math.MaxUint64, began + 50*ms, true, "as far as can be"},
	} {
		src := fixed{row.at, began + 10*ms}
		var b board
		b.start(line{count: from, now: began, span: 50 * ms, sys: began, rate: 50 * ms << fracBits})
		now, ok := b.read(row.at)
		if !ok {
			now = b.renew(src)
		}
		if drawn := b.cur.Load() != 0; now != row.want || drawn != row.new {
			t.Errorf("at %d: read %d, a new line: %v; want %d, %v: %s", row.at, now, drawn, row.want, row.new, row.why)
		}
	}
}

// A fixed source does not move.
type fixed struct {
	at  uint64
	sys int64
}

func (f fixed) count() uint64 { return f.at }
func (f fixed) system() int64 { return f.sys }
