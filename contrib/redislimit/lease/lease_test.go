package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/contrib/redislimit/lease"
	"github.com/weir-go/weir/gcra"
)

// TestBlocks follows one key: how often the store is asked, and what is left there.
func TestBlocks(t *testing.T) {
	var clk clock.Manual
	b := newBucket(gcra.PerSecond(10).Burst(80), &clk)
	l := newLimiter(t, b, lease.WithClock(&clk))
	for i, row := range []struct {
		wait        time.Duration
		n, takes    int
		asked, left int // afterwards
		why         string
	}{
		{0, 1, 1, 1, 79, "a first block of one"},
		{0, 1, 1, 2, 77, "used up at once: two"},
		{0, 1, 1, 2, 77, "the second of them"},
		{0, 1, 4, 3, 73, "four"},
		{0, 1, 8, 4, 65, "eight"},
		{0, 1, 10, 5, 55, "ten, an eighth of the burst"},
		{0, 1, 1, 6, 45, "ten again"},
		{0, 4, 2, 6, 45, "eight of the nine that are left"},
		{0, 4, 1, 7, 35, "the one that is left, and three of ten"},
		{0, 7, 1, 7, 35, "the seven that are left of them"},
		{500 * time.Millisecond, 1, 1, 8, 30, "five have come, and ten are gone: used up late"},
		{500 * time.Millisecond, 1, 1, 8, 35, "within the lifetime"},
		{500 * time.Millisecond, 1, 1, 9, 38, "eight expired: two, as many as were spent"},
		{500 * time.Millisecond, 1, 1, 9, 43, "used up after half a lifetime"},
		{0, 1, 1, 10, 41, "so two again"},
		{time.Hour, 1, 1, 11, 79, "one was spent: one"},
		{time.Hour, 20, 1, 12, 60, "more than a block: what it asks for"},
		{0, 20, 1, 13, 40, "and that was not a block to be doubled beyond the maximum"},
		{0, 41, 1, 13, 40, "refused, as is known without a question"},
		{0, 81, 1, 14, 40, "never: for the store to say"},
	} {
		clk.Advance(row.wait)
		for range row.takes {
			if d := take(t, l, "k", row.n); d.OK() != (row.n <= 20) {
				t.Fatalf("row %d (%s): Take(%d) = %v", i, row.why, row.n, d.Err())
			}
		}
		if left := b.of.Peek("k", 0).Remaining(); b.asked != row.asked || left != row.left {
			t.Fatalf("row %d (%s): asked %d times, %d left at the store, want %d, %d", i, row.why, b.asked, left, row.asked, row.left)
		}
	}
	if s := l.Stats(); s.Lost != 8+1 || s.Asked != 14 || s.Keys != 1 {
		t.Errorf("%+v, want 9 lost and 14 asked", s)
	}
}

// TestNumbers: what a decision says, where nobody else asks.
func TestNumbers(t *testing.T) {
	var clk clock.Manual
	limit := gcra.PerSecond(3).Burst(24)
	b := newBucket(limit, &clk)
	l := newLimiter(t, b, lease.WithClock(&clk), lease.WithFirstBlock(3))
	for i, row := range []struct {
		at        time.Duration
		n         int
		remaining int
		retry     time.Duration
		reset     time.Duration
		err       error
		why       string
	}{
		{0, 1, 23, 0, 333_333_334, nil, "three leased, and two of them not spent"},
		{0, 1, 22, 0, 666_666_667, nil, "by the lease"},
		{333_333_334, 1, 22, 0, 666_666_667, nil, "one came back, and a fraction of a tick"},
		{333_333_334, 22, 0, 0, 8 * second, nil, "all that is there"},
		{333_333_334, 1, 0, 333_333_333, 8 * second, gcra.ErrLimited, "none"},
		{500_000_000, 1, 0, 166_666_667, 7_833_333_334, gcra.ErrLimited, "remembered, with what refilled"},
		{666_666_667, 1, 0, 0, 8 * second, nil, "at the time that it said"},
		{666_666_667, 25, 0, gcra.Never, 8 * second, gcra.ErrExceedsBurst, "more than the burst"},
		{666_666_667, -1, 0, gcra.Never, 8 * second, gcra.ErrCost, "less than nothing"},
		{666_666_667, 0, 0, 0, 8 * second, nil, "nothing"},
	} {
		clk.Set(row.at)
		d := take(t, l, "k", row.n)
		near := func(a, b time.Duration) bool { return a-b <= 1 && b-a <= 1 } // ns, by which the store's numbers are rounded
		if d.Remaining() != row.remaining || !near(d.RetryAfter(), row.retry) || !near(d.ResetAfter(), row.reset) || d.Err() != row.err {
			t.Errorf("row %d (%s): remaining %d, retry after %d, reset after %d, %v; want %d, %d, %d, %v", i, row.why,
				d.Remaining(), d.RetryAfter(), d.ResetAfter(), d.Err(), row.remaining, row.retry, row.reset, row.err)
		}
		if d.OK() && d.Granted() != row.n || d.Limit() != limit {
			t.Errorf("row %d: granted %d of %d under %v", i, d.Granted(), row.n, d.Limit())
		}
	}
	if b.asked != 3+3 {
		t.Errorf("asked %d times, want 6: for the first, for 22, when one was there, and for those that are no requests", b.asked)
	}
}

// TestExpiry: the lifetime counts from before the store was asked.
func TestExpiry(t *testing.T) {
	var clk clock.Manual
	b := newBucket(gcra.PerHour(1).Burst(100), &clk)
	b.before = func() { clk.Advance(100 * time.Millisecond) }
	b.after = b.before
	l := newLimiter(t, b, lease.WithClock(&clk), lease.WithFirstBlock(10))
	for i, row := range []struct {
		at    time.Duration
		asked int
		why   string
	}{
		{0, 1, "leased, by 200 ms"},
		{999_999_999, 1, "the last nanosecond of the lease"},
		{1_000_000_000, 2, "is past"},
	} {
		clk.Set(row.at)
		take(t, l, "k", 1)
		if b.asked != row.asked {
			t.Errorf("row %d (%s): asked %d times, want %d", i, row.why, b.asked, row.asked)
		}
	}

	// An answer that comes when the lease is over is no grant.
	clk.Set(time.Minute)
	b.after = func() { clk.Advance(time.Second) }
	d, err := l.Take(t.Context(), "other", 1)
	if d.OK() || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the lifetime: %v, %v", d.OK(), err)
	}
	// What a large request took out may expire while the store is asked; then it
	// asks for the rest of it too.
	b.after = nil
	clk.Set(time.Hour)
	take(t, l, "k", 1)
	clk.Advance(800 * time.Millisecond)
	before := b.asked
	b.after = func() { clk.Advance(150 * time.Millisecond) }
	if d := take(t, l, "k", 12); !d.OK() || b.asked != before+2 {
		t.Errorf("a part expired: granted %v, asked %d times, want 2", d.OK(), b.asked-before)
	}
}

// TestPutBack: a refused request costs nothing, neither there nor here.
func TestPutBack(t *testing.T) {
	var clk clock.Manual
	b := newBucket(gcra.PerHour(1).Burst(16), &clk)
	l := newLimiter(t, b, lease.WithClock(&clk), lease.WithShare(1), lease.WithFirstBlock(4))
	take(t, l, "k", 1) // three left here, twelve there
	b.of.Take("k", 10) // somebody else
	if d := take(t, l, "k", 6); d.OK() || d.RetryAfter() != time.Hour {
		t.Errorf("six of five: granted %v, retry after %v, want an hour", d.OK(), d.RetryAfter())
	}
	if left := b.of.Peek("k", 0).Remaining(); left != 2 {
		t.Errorf("%d left at the store, want 2", left)
	}
	failed := errors.New("no answer")
	b.fail = func(context.Context) error { return failed }
	if d, err := l.Take(t.Context(), "k", 4); d.OK() || err != failed {
		t.Errorf("four of five, of a store that fails: %v, %v", d.OK(), err)
	}
	asked := b.asked
	if d := take(t, l, "k", 3); !d.OK() || b.asked != asked {
		t.Errorf("the three that were put back twice, while the store fails: granted %v, asked %d times", d.OK(), b.asked-asked)
	}
	if _, err := l.Take(t.Context(), "k", 1); err != failed {
		t.Errorf("nothing is leased, and the store fails: %v", err)
	}
	b.fail = nil
	if d := take(t, l, "k", 2); !d.OK() || b.of.Peek("k", 0).Remaining() != 0 {
		t.Errorf("two of two, where no block is to be had: granted %v", d.OK())
	}
	b.fail = func(context.Context) error { return failed }
	if d, err := l.Take(t.Context(), "k", 1); d.OK() || err != nil {
		t.Errorf("known to be empty: %v, %v", d.OK(), err)
	}
}

// TestPause: a key whose tokens are in demand is not asked about for each of them, and
// none is lost by that.
func TestPause(t *testing.T) {
	for _, row := range []struct {
		limit gcra.Limit
		share int
		asked int // at most, in two lifetimes
		less  int // tokens that may still come, or be left here
	}{
		{gcra.PerSecond(10_000).Burst(1000), 8, 2*100 + 2*20, 100 + 125},
		{gcra.PerSecond(1000).Burst(6), 1, 2000/3 + 20, 6},
	} {
		var clk clock.Manual
		b := newBucket(row.limit, &clk)
		l := newLimiter(t, b, lease.WithClock(&clk), lease.WithShare(row.share))
		granted := 0
		for range 100_000 { // two seconds, and at least five times the rate
			clk.Advance(20 * time.Microsecond)
			if take(t, l, "k", 1).OK() {
				granted++
			}
		}
		if b.asked > row.asked {
			t.Errorf("%v: asked %d times in two lifetimes, want %d", row.limit, b.asked, row.asked)
		}
		if all := row.limit.Within(clk.Now()); granted > all || granted < all-row.less {
			t.Errorf("%v: granted %d of %d", row.limit, granted, all)
		}
	}
}

// TestPartial: a block that is smaller for want of tokens says nothing of demand.
func TestPartial(t *testing.T) {
	var clk clock.Manual
	b := newBucket(gcra.PerSecond(10).Burst(100), &clk)
	l := newLimiter(t, b, lease.WithClock(&clk), lease.WithShare(1), lease.WithFirstBlock(8))
	b.of.Take("k", 87)
	for range 13 { // 8 of the 8 that were asked for, and 5 of 16
		take(t, l, "k", 1)
	}
	clk.Advance(200 * time.Millisecond)
	b.of.Reset("k")
	take(t, l, "k", 1)
	if left := b.of.Peek("k", 0).Remaining(); left != 100-16 {
		t.Errorf("%d left at the store, want a block of 16 less than 100", left)
	}
}

// TestStranded: what processes that go quiet keep from others, and lose: one block each.
func TestStranded(t *testing.T) {
	for _, row := range []struct {
		processes, share, most int
		block                  int // of a burst of 800
	}{
		{1, 8, 0, 100},
		{4, 8, 0, 100},
		{4, 16, 0, 50},
		{4, 8, 30, 30},
		{3, 800, 0, 1},
		{3, 900, 0, 1},
	} {
		var clk clock.Manual
		b := newBucket(gcra.PerSecond(10_000).Burst(800), &clk)
		opts := []lease.Option{lease.WithClock(&clk), lease.WithShare(row.share)}
		if row.most > 0 {
			opts = append(opts, lease.WithMaxBlock(row.most))
		}
		var all []*lease.Limiter
		for range row.processes {
			all = append(all, newLimiter(t, b, opts...))
		}
		spent := 0
		for range 300 { // busy, at less than the rate
			for _, l := range all {
				spent += take(t, l, "k", 1).Granted()
			}
			clk.Advance(time.Millisecond)
		}
		held, asked := -spent, 0
		for _, l := range all {
			held += int(l.Stats().Leased)
			asked += int(l.Stats().Asked)
		}
		if held > row.processes*row.block || row.block > 1 && held == 0 {
			t.Errorf("%+v: %d are held, want at most a block each", row, held)
		}
		// And then one request in two lifetimes.
		for range 20 {
			clk.Advance(2 * time.Second)
			for _, l := range all {
				take(t, l, "k", 1)
			}
		}
		for _, l := range all {
			s := l.Stats()
			if s.Lost >= int64(row.block) {
				t.Errorf("%+v: one process lost %d in all, want less than a block", row, s.Lost)
			}
			asked -= int(s.Asked)
		}
		if asked != -20*row.processes {
			t.Errorf("%+v: %d questions for %d requests", row, -asked, 20*row.processes)
		}
	}
}

// TestReturn: Close gives back what is left and not refilled, once.
func TestReturn(t *testing.T) {
	for _, row := range []struct {
		spent int
		wait  time.Duration
		back  int // tokens offered
		left  int // at the store afterwards
		why   string
	}{
		{1, 0, 9, 99, "nine of ten"},
		{10, 0, 0, 90, "all were spent"},
		{4, 300 * time.Millisecond, 6, 99, "three were refilled, six come back, and it is one short of full: rule 15"},
		{1, 999 * time.Millisecond, 9, 100, "but for a hundredth of a token all were refilled"},
		{1, 1000 * time.Millisecond, 0, 100, "the lease is over, and all were refilled"},
	} {
		var clk clock.Manual
		b := newBucket(gcra.PerSecond(10).Burst(100), &clk)
		back := 0
		b.back = func(_ string, n int) { back += n }
		l := newLimiter(t, b, lease.WithClock(&clk), lease.WithFirstBlock(10))
		for range row.spent {
			take(t, l, "k", 1)
		}
		clk.Advance(row.wait)
		for range 2 {
			if err := l.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if left := b.of.Peek("k", 0).Remaining(); back != row.back || left != row.left {
			t.Errorf("%s: offered %d, %d left at the store; want %d, %d", row.why, back, left, row.back, row.left)
		}
		for _, key := range []string{"k", "another"} {
			if d, err := l.Take(t.Context(), key, 1); err != lease.ErrClosed || d.OK() {
				t.Errorf("after Close: %v", err)
			}
		}
	}
}
