package lease_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/contrib/redislimit/lease"
	"github.com/weir-go/weir/gcra"
)

// TestMemory: keys that nobody asks about are forgotten, and others have no room.
func TestMemory(t *testing.T) {
	var clk clock.Manual
	b := newBucket(gcra.PerSecond(1).Burst(100), &clk)
	l := newLimiter(t, b, lease.WithClock(&clk), lease.WithMaxKeys(100), lease.WithFirstBlock(5))
	for i := range 100 {
		take(t, l, strconv.Itoa(i), 1)
	}
	asked := b.asked
	for range 3 {
		take(t, l, "7", 1)
	}
	if b.asked != asked || l.Stats().Keys != 100 {
		t.Errorf("asked %d times for a key that is remembered; %d keys", b.asked-asked, l.Stats().Keys)
	}
	for range 3 {
		if d := take(t, l, "new", 1); !d.OK() {
			t.Error("a key without room is refused")
		}
	}
	if b.asked != asked+3 || l.Stats().Keys != 100 || b.of.Peek("new", 0).Remaining() != 97 {
		t.Errorf("asked %d times for a key without room; %d keys", b.asked-asked, l.Stats().Keys)
	}
	clk.Advance(time.Second)
	for i := range 10 {
		take(t, l, "late"+strconv.Itoa(i), 1)
	}
	if s := l.Stats(); s.Keys != 10 || s.Lost != 99*4+1 {
		t.Errorf("%+v after ten new keys, want the hundred forgotten, with what was left of them", s)
	}
	for i := range 400 {
		clk.Advance(100 * time.Millisecond)
		take(t, l, "on"+strconv.Itoa(i), 1)
	}
	if s := l.Stats(); s.Keys > 25 {
		t.Errorf("%d keys, where ten come in a lifetime", s.Keys)
	}
	take(t, l, "late3", 1) // forgotten, and found again
}

// TestUnleased: limits that are not leased.
func TestUnleased(t *testing.T) {
	var clk clock.Manual
	for _, row := range []struct {
		limit gcra.Limit
		left  int
	}{
		{gcra.Per(0, time.Second).Burst(100), 95},
		{gcra.Unlimited(), gcra.Unlimited().Capacity()},
		{gcra.Limit{}, 0},
	} {
		b := newBucket(row.limit, &clk)
		l := newLimiter(t, b, lease.WithClock(&clk), lease.WithFirstBlock(9))
		for range 5 {
			if d := take(t, l, "k", 1); d.OK() != (row.left > 0) {
				t.Errorf("%v: %v", row.limit, d.Err())
			}
		}
		if b.asked != 5 || b.of.Peek("k", 0).Remaining() != row.left || l.Stats().Keys != 0 {
			t.Errorf("%v: asked %d times, %d left at the store", row.limit, b.asked, b.of.Peek("k", 0).Remaining())
		}
	}
}

// TestChange: a limit that changes at the store.
func TestChange(t *testing.T) {
	var clk clock.Manual
	b := newBucket(gcra.PerSecond(1).Burst(80), &clk)
	l := newLimiter(t, b, lease.WithClock(&clk), lease.WithFirstBlock(10))
	take(t, l, "k", 1)
	b.of.SetLimit(gcra.PerSecond(2).Burst(8))
	if l.Limit() != b.Limit() {
		t.Error("the limit is not the store's")
	}
	for i := range 9 + 8 { // what is leased, and the burst one by one
		if d := take(t, l, "k", 1); !d.OK() {
			t.Fatalf("request %d: %v", i, d.Err())
		}
	}
	if d := take(t, l, "k", 1); d.OK() || d.Limit() != b.Limit() || d.RetryAfter() != 500*time.Millisecond {
		t.Errorf("%v under %v, retry after %v", d.Err(), d.Limit(), d.RetryAfter())
	}
}

// TestSteps: a refusal by a limit whose refill comes in steps lasts until the step.
func TestSteps(t *testing.T) {
	var clk clock.Manual
	clk.Set(1700 * time.Millisecond) // the store's steps are at its whole minutes
	b := newBucket(gcra.Per(6, time.Minute).Burst(12).InSteps(time.Minute), &clk)
	clk.Set(1700*time.Millisecond + 100*time.Hour)
	l := newLimiter(t, b, lease.WithClock(&clk), lease.WithShare(1), lease.WithLifetime(time.Hour))
	for range 12 {
		if !take(t, l, "k", 1).OK() {
			t.Fatal("refused with tokens left")
		}
	}
	d := take(t, l, "k", 1)
	want := b.of.Peek("k", 1)
	if d.OK() || d.RetryAfter() != want.RetryAfter() || d.ResetAfter() != want.ResetAfter() || d.Remaining() != 0 {
		t.Errorf("%v, retry after %v, reset after %v; want %v, %v", d.Err(), d.RetryAfter(), d.ResetAfter(), want.RetryAfter(), want.ResetAfter())
	}
	asked := b.asked
	clk.Advance(want.RetryAfter() - 1)
	if take(t, l, "k", 1).OK() || b.asked > asked+1 {
		t.Errorf("granted before the step, or asked %d times", b.asked-asked)
	}
	clk.Advance(1)
	for i := range 6 {
		if !take(t, l, "k", 1).OK() {
			t.Errorf("request %d after the step is refused", i)
		}
	}
}

// TestAllocs: what decides here does not allocate.
func TestAllocs(t *testing.T) {
	var clk clock.Manual
	b := newBucket(gcra.PerHour(1).Burst(1000), &clk)
	l := newLimiter(t, b, lease.WithClock(&clk), lease.WithShare(1), lease.WithFirstBlock(500))
	ctx := t.Context()
	for range 2 {
		if n := testing.AllocsPerRun(400, func() { l.Take(ctx, "k", 1) }); n > 0.1 {
			t.Errorf("%v allocations a decision", n)
		}
		take(t, l, "k", 80) // and then refusals
		take(t, l, "k", b.of.Peek("k", 0).Remaining())
	}
	if b.asked > 5 {
		t.Errorf("asked %d times", b.asked)
	}
}

func TestOptions(t *testing.T) {
	for _, row := range []struct {
		make func() lease.Option
		says string
	}{
		{func() lease.Option { return lease.WithLifetime(0) }, "WithLifetime(0s)"},
		{func() lease.Option { return lease.WithMaxBlock(0) }, "WithMaxBlock(0)"},
		{func() lease.Option { return lease.WithFirstBlock(0) }, "WithFirstBlock(0)"},
		{func() lease.Option { return lease.WithShare(0) }, "WithShare(0)"},
		{func() lease.Option { return lease.WithMaxKeys(-1) }, "WithMaxKeys(-1)"},
		{func() lease.Option { return lease.WithClock(nil) }, "WithClock(nil)"},
		{func() lease.Option { lease.Redis(nil); return nil }, "Redis(nil)"},
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, row.says) {
					t.Errorf("panics with %q, want %q", text, row.says)
				}
			}()
			row.make()
		}()
	}
	b := newBucket(gcra.PerSecond(1), clock.System())
	if _, err := lease.New(b, lease.WithFirstBlock(3), lease.WithMaxBlock(2)); err == nil || !strings.Contains(err.Error(), "first block of 3") {
		t.Errorf("a first block above the maximum: %v", err)
	}
	if _, err := lease.New(nil); err == nil {
		t.Error("no store is no error")
	}
	l := newLimiter(t, b)
	if !l.Allow(t.Context(), "k") || l.Allow(t.Context(), "k") {
		t.Error("Allow of a burst of one")
	}
	if d, err := l.Decide(t.Context(), "other", 1); err != nil || !d.OK() {
		t.Errorf("Decide: %v, %v", d.Err(), err)
	}
}
