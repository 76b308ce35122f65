package shard

import (
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// Directed interleavings: a decision's own arithmetic is where a test can put
// anything between the load of a TAT and its swap.

const sec = int64(time.Second) // the ticks of a token at one a second

// between is op with something that happens before what it decided is written.
func between(op take, do func()) take {
	return func(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
		next, d := op(l, tat, at, n)
		if do != nil {
			do()
			do = nil
		}
		return next, d
	}
}

func (t *Table[K]) ask(h uint64, n int, op take) gcra.Decision {
	return t.take(h, t.stripe(h), true, n, op)
}

// left returns the tokens that a hash has.
func (t *Table[K]) left(h uint64) int { return t.ask(h, 0, look).Remaining() }

// TestTakeoverWhen: a slot is taken over once its bucket has been full for a
// tick, fresh has passed for a tick, and never at that tick or before.
func TestTakeoverWhen(t *testing.T) {
	for _, row := range []struct {
		limit string
		taken int
		debit int
		free  time.Duration // the first instant at which the slot is
		why   string
	}{
		{"1/s burst 4", 3, 0, 3*time.Second + 1, "full"},
		{"1/s burst 4", 4, 2, 6*time.Second + 1, "in debt before"},
		{"3/s burst 1", 1, 0, 333333334, "a tick after the third of a second, which no ns shows"},
		{"1/s burst 4 step 2s", 1, 0, 2 * time.Second, "in steps: the first after its time"},
		{"1/s burst 4 start 2", 2, 0, 4*time.Second + 1, "fresh is 2 s away, and 2 were taken of it"},
	} {
		for _, early := range []time.Duration{1, 0} {
			clk := new(hookClock)
			l := oneSlot(parse(t, row.limit), clk, 5, 2)
			hs := hashesAt(l.block.Load(), 5, 2)
			l.ask(hs[0], row.taken, gcra.Take)
			l.ask(hs[0], row.debit, l.debit)
			clk.Advance(row.free - early)
			if got, want := l.ask(hs[1], 1, gcra.Take).OK(), early == 0; got != want {
				t.Errorf("%s: taken over %v before %v: %v: %s", row.limit, early, row.free, got, row.why)
			}
			s := l.Stats()
			want := Stats{Keys: 1, Forgotten: 1}
			if early > 0 {
				want = Stats{Keys: 1, Capped: 1}
			}
			if s != want {
				t.Errorf("%s: stats %+v, want %+v", row.limit, s, want)
			}
		}
	}
}

// With keys that start empty nobody is full before fresh has passed, whatever
// its TAT; and a used allowance is for ever.
func TestTakeoverWaitsForFresh(t *testing.T) {
	clk := new(hookClock)
	l := oneSlot(gcra.PerSecond(1).Burst(10).Start(0), clk, 5, 2)
	b := l.block.Load()
	hs := hashesAt(b, 5, 2)
	// A key that has more than one never seen, as none has yet.
	s := &b.buckets[5][2]
	s.hash.Store(hs[0])
	s.tat.Store(1 + 2*sec)
	for _, at := range []time.Duration{3 * time.Second, 7 * time.Second} {
		if clk.Advance(at); l.ask(hs[1], 1, gcra.Take).OK() || s.hash.Load() != hs[0] {
			t.Errorf("taken over at %v, where a key never seen has %v to fill", clk.Now(), 10*time.Second-clk.Now())
		}
	}
	if clk.Advance(1); !l.ask(hs[1], 1, gcra.Take).OK() || s.hash.Load() != hs[1] {
		t.Error("not taken over after fresh has passed")
	}
	l = oneSlot(gcra.Per(0, time.Second).Burst(3), clk, 5, 2)
	hs = hashesAt(l.block.Load(), 5, 2)
	l.ask(hs[0], 1, gcra.Take)
	if clk.Advance(200 * 24 * time.Hour); l.ask(hs[1], 1, gcra.Take).OK() {
		t.Error("an allowance was forgotten")
	}
}

// A decider stops between load and swap, and meanwhile its key's slot goes to
// another, whose TAT is the same: rule 23. Without the mark the swap would charge
// the other key.
func TestSwapThatComesAfterACancelAndATakeover(t *testing.T) {
	clk := new(hookClock)
	l := oneSlot(gcra.PerSecond(1).Burst(2), clk, 5, 2)
	hs := hashesAt(l.block.Load(), 5, 2)
	granted := 0
	var r spot
	book := func(n int) { r = l.book(hs[0], l.stripe(hs[0]), true, l.core.Turn(), n) }
	book(2) // its TAT is 3
	l.ask(hs[0], 1, between(l.debit, func() {
		l.giveBack(r.gen, hs[0], r.stamp, r.b, 2) // now 1
		clk.Advance(time.Second)                  // now at 2
		for _, n := range []int{1, 2} {           // whichever makes it the same
			granted += l.ask(hs[1], n, gcra.Take).Granted()
		}
	}))
	if granted > 0 {
		t.Errorf("a slot was taken over although a swap may still be waiting to meet its old TAT: %d granted", granted)
	}
	// And once that has passed it is.
	clk.Advance(4*time.Second + 1)
	if d := l.ask(hs[1], 1, gcra.Take); d.Granted() != 1 || l.left(hs[1]) != 1 {
		t.Errorf("after the mark has passed: %v, %d left", d.Err(), l.left(hs[1]))
	}
}

// The same by a reset, and the same with the mark raised to the highest of
// several.
func TestMarkIsTheHighest(t *testing.T) {
	for _, lowered := range []func(l *Table[int], h uint64, clk *hookClock){
		func(l *Table[int], h uint64, _ *hookClock) { l.ask(h, 2, gcra.Take); l.resetHash(h) },
		func(l *Table[int], h uint64, clk *hookClock) {
			l.ask(h, 2, gcra.Take)
			l.resetHash(h)
			l.ask(h, 1, gcra.Take)
			l.resetHash(h)
		},
	} {
		clk := new(hookClock)
		l := oneSlot(gcra.PerSecond(1).Burst(2), clk, 5, 2)
		hs := hashesAt(l.block.Load(), 5, 2)
		lowered(l, hs[0], clk)
		for _, at := range []time.Duration{1, 2*time.Second - 2, 1} {
			if clk.Advance(at); l.ask(hs[1], 1, gcra.Take).OK() {
				t.Errorf("taken over at %v, and the slot's TAT was 2 s", clk.Now())
			}
		}
		if clk.Advance(1); !l.ask(hs[1], 1, gcra.Take).OK() {
			t.Error("not taken over after its highest TAT has passed")
		}
	}
}

func (t *Table[K]) resetHash(h uint64) {
	b, g := t.current()
	t.reset(b, g, h, t.stripe(h))
}

// A decider that stopped before its slot was taken over does not charge the
// next owner, nor tell its balance: whatever it wanted to write or to say.
func TestDecisionAcrossATakeover(t *testing.T) {
	for _, op := range []take{gcra.Take, gcra.TakeUpTo, look} {
		for _, owing := range []int{0, 1, 3} { // of the next owner
			clk := new(hookClock)
			l := oneSlot(gcra.PerSecond(1).Burst(4), clk, 5, 2)
			hs := hashesAt(l.block.Load(), 5, 2)
			l.ask(hs[0], 4, gcra.Take)
			taken := Stats{}
			d := l.ask(hs[0], 1, between(op, func() {
				clk.Advance(5 * time.Second)
				l.ask(hs[1], 1+owing, gcra.Take)
				taken = l.Stats()
			}))
			if taken.Forgotten != 1 {
				t.Fatal("the slot was not taken over")
			}
			if got := l.left(hs[1]); got != 3-owing {
				t.Errorf("the next owner has %d, want %d", got, 3-owing)
			}
			// It is full, and there is no room for what it takes; and a read sees
			// it full.
			peeked := d.OK() && d.Granted() == 0 && d.Remaining() == 4
			if turnedAway := d.Err() == gcra.ErrLimited && l.Stats().Capped == 1; !peeked && !turnedAway {
				t.Errorf("err %v, granted %d, remaining %d", d.Err(), d.Granted(), d.Remaining())
			}
		}
	}
}

// A refusal looks at the TAT again, since it may have been that of the owner
// before, read with the hash of the next: nobody is refused by a TAT that is no
// longer there.
func TestRefusalLooksAgain(t *testing.T) {
	clk := new(hookClock)
	l := NewTable[int](gcra.PerSecond(1), 10, WithClock(clk))
	const h = 1 << 50
	l.ask(h, 1, gcra.Take)
	if d := l.ask(h, 1, between(look, func() { l.resetHash(h) })); !d.OK() {
		t.Errorf("a read was refused by a TAT that was no longer there: retry after %v", d.RetryAfter())
	}
	l.ask(h, 1, gcra.Take)
	if d := l.ask(h, 1, between(gcra.Take, func() { l.resetHash(h) })); !d.OK() {
		t.Errorf("refused by a TAT that was no longer there: retry after %v", d.RetryAfter())
	}
}

// An insert that read the clock before a whole life of its key reads it again.
func TestInsertReadsTheClockUnderTheLock(t *testing.T) {
	for _, turn := range []bool{false, true} {
		clk := new(hookClock)
		l := oneSlot(gcra.PerSecond(1).Burst(2), clk, 5, 2)
		hs := hashesAt(l.block.Load(), 5, 2)
		clk.hook = func() {
			for _, h := range hs {
				if !l.ask(h, 2, gcra.Take).OK() {
					t.Error("no room")
				}
				clk.Advance(2*time.Second + 1)
			}
		}
		if turn {
			l.book(hs[0], l.stripe(hs[0]), true, l.core.Turn(), 2)
		} else {
			l.ask(hs[0], 2, gcra.Take)
		}
		if d := l.ask(hs[0], 1, look); d.OK() || d.RetryAfter() != time.Second {
			t.Errorf("two tokens were charged by a reading from before the key was forgotten: %d left, one in %v", d.Remaining(), d.RetryAfter())
		}
		if n := l.Stats().Forgotten; n != 2 {
			t.Errorf("%d slots taken over, want 2", n)
		}
	}
}

// That reading comes under the lock, so that the key cannot come to be meanwhile,
// and after the scan: a slot that the key had at the reading may have been taken
// over by the time of a scan.
func TestInsertReadsTheClockAfterTheScan(t *testing.T) {
	clk := new(hookClock)
	l := oneSlot(gcra.PerSecond(1).Burst(2), clk, 5, 2)
	h := hashesAt(l.block.Load(), 5, 1)[0]
	st, s := l.stripe(h), &l.block.Load().buckets[5][2]
	locked := false
	clk.hook = func() {
		clk.hook = func() {
			if locked = !st.mu.TryLock(); !locked {
				st.mu.Unlock()
			}
		}
	}
	if l.ask(h, 2, gcra.Take); !locked {
		t.Error("an insert read the clock without its lock")
	}
	clk.Advance(2*time.Second + 1)
	s.hash.Store(12345) // the slot is another's, whose bucket is full
	d := l.ask(h, 1, between(gcra.Take, func() {
		l.ask(h, 2, gcra.Take) // by somebody who was faster to insert it
		clk.hook = func() {    // at the next reading, wherever that is
			clk.Advance(2*time.Second + 1)
			s.hash.Store(12345)
		}
	}))
	if clk.hook != nil || s.hash.Load() != h {
		t.Fatal("the slot did not go to another and back")
	}
	if left := l.left(h); !d.OK() || left != 1 {
		t.Errorf("err %v, %d tokens are left beside the one taken in this instant, of 2: charged by a reading from before", d.Err(), left)
	}
}

// Who came to insert and finds the key inserted decides there.
func TestInsertLooksOnceMore(t *testing.T) {
	var clk clock.Manual
	l := NewTable[int](gcra.PerSecond(1).Burst(2), 10, WithClock(&clk))
	const h = 12345
	inserted := false
	d := l.ask(h, 1, between(gcra.Take, func() { // decided over fresh, not yet under the lock
		inserted = l.ask(h, 2, gcra.Take).OK()
	}))
	if !inserted || d.OK() || l.Len() != 1 {
		t.Errorf("a key that came twice: %v, then %v, and %d slots", inserted, d.OK(), l.Len())
	}
}
