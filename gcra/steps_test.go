package gcra_test

import (
	"math"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// TestSteps lists limits whose refill arrives in lumps.
func TestSteps(t *testing.T) {
	for _, v := range []vector{
		{"6/3s burst 10 step 3s", sec, []row{
			{1 * sec, takeUpTo, 3, 3, 7, 0, "made at second 1 starting full"},
			{2 * sec, takeUpTo, 5, 5, 2, 0, "nothing came yet"},
			{3 * sec, takeUpTo, 7, 7, 1, 0, "six came: eight were there"},
			{4 * sec, takeUpTo, 9, 1, 0, 0, "the rest"},
			{4 * sec, take, 1, 0, 0, 2 * sec, "at second 6 there are more"},
			{6*sec - 1, take, 1, 0, 0, 1, "not before"},
			{6 * sec, take, 6, 6, 0, 0, "all six at once"},
			{6 * sec, take, 7, 0, 0, 6 * sec, "seven take two steps"},
			{1000*sec + 1, peek, 10, 0, 10, 0, "full and no further"},
		}},
		{"3/d burst 5 step 1d start 0", 0, []row{
			{0, peek, 1, 0, 0, day, "empty at the start"},
			{1 * day, peek, 3, 0, 3, 0, "day 1: 3 there"},
			{1 * day, take, 2, 2, 1, 0, "2 eaten"},
			{2 * day, peek, 5, 0, 4, day, "day 2: 4 there, 5 come"},
			{2 * day, takeUpTo, 5, 4, 0, 0, "4 eat"},
			{3*day - 1, peek, 1, 0, 0, 1, "none until midnight"},
			{3 * day, peek, 3, 0, 3, 0, "day 3: 3"},
			{4 * day, peek, 5, 0, 5, 0, "day 4: 5, not 6"},
			{4 * day, take, 5, 5, 0, 0, "which is all"},
		}},
		{"2/10s burst 8 step 10s", 0, []row{
			{0, take, 8, 8, 0, 0, "emptied"},
			{5 * sec, take, 1, 0, 0, 5 * sec, "no token half-way"},
			{10 * sec, take, 1, 1, 1, 0, "two came"},
			{39 * sec, peek, 8, 0, 5, 11 * sec, "1 + 2 + 2; three are missing: the step at 50 s brings the last"},
			{49 * sec, peek, 8, 0, 7, sec, "one is missing"},
			{50 * sec, peek, 8, 0, 8, 0, "full"},
		}},
		{"2/2s burst 5 step 2s", 0, []row{
			{0, takeUpTo, 5, 5, 0, 0, "5 granted"},
			{1 * sec, takeUpTo, 3, 0, 0, sec, "nothing between the steps"},
			{2 * sec, takeUpTo, 3, 2, 0, 0, "then 2 of 3"},
			{12 * sec, takeUpTo, 5, 5, 0, 0, "then 5 after ten seconds"},
		}},
		{"1/s burst 3 step 1500ms start 0", 0, []row{
			{1500*msec - 1, peek, 1, 0, 0, 1, "before the first step"},
			{1500 * msec, peek, 2, 0, 1, 1500 * msec, "one and a half came; the half is kept"},
			{3000 * msec, take, 3, 3, 0, 0, "three at 3 s"},
		}},
		{"3/s burst 3 step 1ms start 0", 0, []row{
			{0, take, 1, 0, 0, 334 * msec, "the step after a third of a second"},
			{334*msec - 1, take, 1, 0, 0, 1, "on any clock"},
			{334 * msec, take, 1, 1, 0, 0, "as on a clock of milliseconds"},
		}},
		{"5/s burst 5 step 10s start 2", 1234567 * msec, []row{
			{1234567 * msec, take, 3, 0, 2, 5433 * msec, "steps are multiples on the clock's own scale"},
			{1240 * sec, take, 5, 5, 0, 0, "there it is"},
		}},
	} {
		v.check(t)
	}
}

// TestBirth lists what an engine with InSteps subtracts from its readings.
func TestBirth(t *testing.T) {
	for _, r := range []struct {
		step, now, born time.Duration
		why             string
	}{
		{0, 12_345, 12_345, "continuous: the reading itself"},
		{0, -5, -5, "also below 0"},
		{3 * sec, sec, 0, "down to a step"},
		{3 * sec, 3*sec - 1, 0, "just before the next"},
		{3 * sec, 3 * sec, 3 * sec, "a step is its own"},
		{3 * sec, 0, 0, "the epoch is one"},
		{3 * sec, -1, -3 * sec, "down, not towards 0"},
		{3 * sec, -3 * sec, -3 * sec, "a step below 0"},
		{7, math.MaxInt64, math.MaxInt64 / 7 * 7, "at the end of the clock"},
		{7, math.MinInt64, math.MinInt64 / 7 * 7, "at its other end: the first step there is"},
		{math.MaxInt64, 5, 0, "one step for ever"},
		{math.MaxInt64, -5, -math.MaxInt64, "and one before"},
	} {
		l := gcra.PerSecond(1)
		if r.step > 0 {
			l = l.InSteps(r.step)
		}
		if got := l.Birth(r.now); got != r.born {
			t.Errorf("step %d, at %d: born at %d, want %d (%s)", r.step, r.now, got, r.born, r.why)
		}
	}
}

// TestStepsRange checks that the end of the range comes at a step too: between
// two of them the clock stands, however close the end is.
func TestStepsRange(t *testing.T) {
	const step = 100 * year
	l := gcra.PerDay(1).Burst(30).InSteps(step)
	for _, r := range []struct {
		at, seen time.Duration
		why      string
	}{
		{step - 1, 0, "before the first"},
		{2*step + 50*year, 2 * step, "in the third"},
		{2*step + 60*year, 2 * step, "past E in ticks, but not in steps"},
		{math.MaxInt64, 2 * step, "292 years: the fourth never comes"},
	} {
		if got := gcra.At(&l, r.at).Tick; got != int64(r.seen)+1 {
			t.Errorf("at %d the tick is %d, want %d (%s)", r.at, got, int64(r.seen)+1, r.why)
		}
	}
}
