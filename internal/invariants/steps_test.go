package invariants_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/invariants"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit has 1 000 000 ticks in a token and three tokens in a burst.
var limit = gcra.PerSecond(1000).Burst(3)

const k = 1_000_000

func instant(tick int64) gcra.Instant {
	return gcra.Instant{Tick: tick, Elapsed: time.Duration(tick - 1)}
}

// broken runs f and returns what it panicked with, "" if it did not.
func broken(f func()) (message string) {
	defer func() {
		if p := recover(); p != nil {
			message = p.(string)
		}
	}()
	f()
	return ""
}

type row struct {
	name string // of the invariant that is broken, "" for none
	do   func()
}

func check(t *testing.T, rows []row) {
	t.Helper()
	for i, row := range rows {
		got := broken(row.do)
		if row.name == "" && got != "" || row.name != "" && !strings.HasPrefix(got, "weir: invariant broken: "+row.name+": ") {
			t.Errorf("row %d: panic %q, want that of %q", i, got, row.name)
		}
	}
}

// Each step that breaks an invariant panics, and the right step beside it does
// not.
func TestSteps(t *testing.T) {
	charge := func(at, tat, next int64, granted, debt int) func() {
		return func() { invariants.Charge(&limit, instant(at), tat, next, granted, debt) }
	}
	book := func(at, tat int64, b gcra.Booking, n int) func() {
		return func() { invariants.Book(&limit, instant(at), tat, b, n) }
	}
	back := func(at, tat, next int64, b gcra.Booking, n int) func() {
		return func() { invariants.GiveBack(&limit, instant(at), tat, next, b, n) }
	}
	const (
		idle   = "who takes nothing writes nothing"
		moves  = "a grant moves the TAT by its cost, from now or later"
		order  = "a slot is when the tokens are there, and not before it was booked"
		behind = "a booking comes behind all that were made before"
		never  = "a give-back never stores below now"
		taken  = "no more comes back than was taken"
		over   = "a slot is taken over when all that it ever held has passed"
		reset  = "a reset makes a key one that was never seen"
	)
	one := gcra.Booking{Cost: k, From: 1, Slot: 1, End: 1 + k}
	two := gcra.Booking{Cost: 2 * k, From: 1, Slot: 1, End: 1 + 2*k}
	late := gcra.Booking{Cost: k, From: 1, Slot: 1 + 2*k, End: 1 + 5*k}
	daily := gcra.PerDay(1) // a tick a nanosecond
	slow := gcra.PerSecond(500).Burst(3)
	check(t, []row{
		{"", charge(1, 1, 1+k, 1, 0)},
		{"", charge(5, 1, 5+3*k, 3, 0)},
		{"", charge(1, 1+3*k, 1+6*k, 3, 3)},
		{moves, charge(5, 1, 1+k, 1, 0)}, // from a TAT that has passed
		{moves, charge(1, 1, 1+k-1, 1, 0)},
		{moves, charge(1, 1+k, 1+k, 1, 0)}, // granted and not written
		{idle, charge(1, 1, 2, 0, 0)},      // a refusal that writes
		{"a grant is not negative", charge(1, 1+k, 1, -1, 0)},
		{"what is granted fits the range", func() { invariants.Charge(&daily, instant(1), 1, 1, math.MaxInt, 0) }},
		{"a TAT is at most a burst and the debt ahead of now", charge(1, 2, 2+3*k, 3, 0)},
		{"a TAT is at most a burst and the debt ahead of now", charge(1, 1+3*k, 1+7*k, 4, 3)},
		{"a TAT leaves a burst to the end of the range", charge(math.MaxInt64-4*k, 1, math.MaxInt64-k, 3, 0)},

		{"", book(1, 1, one, 1)},
		{"", book(1, 1+4*k, late, 1)},
		{"", book(1+k, 1, gcra.Booking{Cost: k, From: 1, Slot: 1, End: 1 + k}, 1)},                                                              // to a schedule
		{"", book(1, 7, gcra.Booking{End: 7}, 0)},                                                                                               // nothing
		{idle, book(1, 1, gcra.Booking{End: 2}, 0)},                                                                                             // nothing, and stored
		{"a booking costs its tokens, at most a burst", book(1, 1, one, 2)},                                                                     // half price
		{"a booking is made from now, or from where its key's schedule is", book(1+k, 5, one, 1)},                                               // from the past
		{"a booking is made from now, or from where its key's schedule is", book(1, 1, gcra.Booking{Cost: k, From: 9, Slot: 9, End: 9 + k}, 1)}, // from the future
		{behind, book(1, 1+k, one, 1)},                                                                                                          // over another's
		{order, book(1, 1+4*k, gcra.Booking{Cost: k, From: 1, Slot: 1, End: 1 + 5*k}, 1)},                                                       // at once, though empty
		{order, book(1, 1+4*k, gcra.Booking{Cost: k, From: 1, Slot: 1 + 3*k, End: 1 + 5*k}, 1)},                                                 // later than it has to be
		{"a TAT leaves a burst to the end of the range", book(math.MaxInt64-5*k, math.MaxInt64-2*k, gcra.Booking{Cost: k, From: math.MaxInt64 - 5*k, Slot: math.MaxInt64 - 4*k, End: math.MaxInt64 - k}, 1)}, // past the end

		{"", back(1, 1+2*k, 1+k, one, 1)},
		{"", back(1+k, 1+5*k, 1+4*k, late, 1)}, // the last one, whole
		{"", back(5, 9, 9, one, 1)},
		{"a give-back charges nothing", back(1, 1, 2, one, 1)},
		{never, back(10, 11, 9, one, 1)},
		{taken, back(1, 1+3*k, 1+k, one, 1)},
		{taken, back(1, 1+3*k, 1+k, two, 1)}, // all for a part
		{"no more comes back than is given", back(1, 1+3*k, 1+3*k-k-1, two, 1)},
		{"no slot comes back that somebody waits on top of", back(1, 1+6*k, 1+5*k, one, 1)},
		{"what was refilled since does not come back", back(1+k, 1+3*k, 1+2*k, one, 1)},

		{"", func() { invariants.Forget(&limit, instant(9), 9, 9) }},
		{"only a key whose bucket is full is forgotten", func() { invariants.Forget(&limit, instant(9), 10, 1) }},
		{"nothing is forgotten before keys without a cell are full", func() { invariants.Forget(&limit, instant(9), 9, 10) }},

		{"", func() { invariants.Take(9, 9, 10, 9) }},
		{"", func() { invariants.Take(0, 0, 10, 99) }}, // never used
		{over, func() { invariants.Take(10, 0, 10, 1) }},
		{over, func() { invariants.Take(9, 10, 10, 1) }},
		{over, func() { invariants.Take(9, 0, 10, 10) }},

		{"", func() { invariants.Reset(instant(5), 9, 5, 1) }},
		{reset, func() { invariants.Reset(instant(5), 9, 4, 1) }},
		{reset, func() { invariants.Reset(instant(5), 9, 9, 1) }},
		{reset, func() { invariants.Reset(instant(5), 9, 5, 6) }},

		{"", func() { invariants.Convert(1+k, &limit, instant(1), 1+2*k, &slow, instant(1)) }},
		{"a change of limit keeps a key's tokens, as far as the burst holds them", func() { invariants.Convert(1+3*k, &limit, instant(1), 1+3*k, &slow, instant(1)) }},
		{"a change of limit keeps a key's tokens, as far as the burst holds them", func() { invariants.Convert(1, &limit, instant(1), 1+5*k, &slow, instant(1)) }},
		{"a change of limit stores no credit", func() { invariants.Convert(1, &limit, instant(9), 8, &slow, instant(9)) }},
	})
}

func TestLives(t *testing.T) {
	const (
		over  = "only a cell whose life is over is replaced"
		debt  = "no debt is lost with a cell"
		owned = "a claimed slot ends with its key's hash stored"
		began = "fresh is not before its generation"
	)
	check(t, []row{
		{"", func() { invariants.Publish(0, 7) }},
		{"a generation's instant is read after its publication", func() { invariants.Publish(5, 7) }},
		{"a generation's instant is read before the next one is published", func() { invariants.Publish(0, 0) }},
		{"", func() { invariants.Dated(6, 7) }},
		{"", func() { invariants.Dated(600, 0) }},
		{"a decision is dated before the change that ends its limit", func() { invariants.Dated(7, 7) }},
		{"", func() { invariants.Follow(7, 7) }},
		{"a generation begins after the one before", func() { invariants.Follow(6, 7) }},
		{"a generation begins after the one before", func() { invariants.Follow(0, 0) }},
		{"", func() { invariants.Settled(1, 1, 1) }},
		{"", func() { invariants.Settled(math.MinInt64, 1, 1) }},
		{"", func() { invariants.Follow(math.MinInt64, 7) }},
		{"", func() { invariants.Dated(math.MaxInt64, math.MinInt64) }},
		{"a generation's instant does not change", func() { invariants.Settled(0, 1, 1) }},
		{began, func() { invariants.Settled(1, 2, 1) }},
		{began, func() { invariants.Settled(1, 0, 0) }},
		{"", func() { invariants.Replace(false, 1, 1, 5, 5) }},
		{over, func() { invariants.Replace(true, 1, 1, 5, 5) }},
		{"a cell's generation is not after the one in force", func() { invariants.Replace(false, 2, 1, 5, 5) }},
		{debt, func() { invariants.Replace(false, 1, 1, 5, 4) }},
		{"", func() { invariants.Owned(true, 7, 7) }},
		{owned, func() { invariants.Owned(false, 7, 7) }},
		{owned, func() { invariants.Owned(true, 6, 7) }},
		{owned, func() { invariants.Owned(true, 0, 0) }},
	})
}

// Without the tag nothing is counted.
func TestCountsSince(t *testing.T) {
	before := invariants.Counts{Lost: map[string]int64{"a": 1, "b": 2}}
	before.Events[invariants.Takeover] = 3
	now := invariants.Counts{Lost: map[string]int64{"a": 1, "b": 5, "c": 1}}
	now.Events[invariants.Takeover] = 7
	since := now.Since(before)
	if len(since.Lost) != 2 || since.Lost["b"] != 3 || since.LostInAll() != 4 || since.Events[invariants.Takeover] != 4 {
		t.Errorf("%+v", since)
	}
	got := invariants.Read()
	if invariants.Happened(invariants.Retried); !invariants.On && got.LostInAll() != 0 {
		t.Errorf("counted %+v without the tag", got)
	}
	if got := invariants.Read().Since(got).Events[invariants.Retried]; (got == 1) != invariants.On {
		t.Errorf("one event counts %d, with invariants on: %v", got, invariants.On)
	}
}
