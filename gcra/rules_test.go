package gcra_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// The exact rules behind the package and the counterexamples of their simpler
// forms, by number. Rule 4 is in ledger_test.go, rule 5 in tight_test.go, rule
// 15 in giveback_test.go.

// tokenOf returns k, the ticks in a token.
func tokenOf(l *gcra.Limit) int64 {
	b, _ := gcra.Book(l, 1, gcra.At(l, 0), 1, 1)
	return b.Cost
}

// TestRule1 lists k and what R makes of a reading.
func TestRule1(t *testing.T) {
	for _, r := range []struct {
		spec
		k    int64
		at   time.Duration
		tick int64 // less the 1 that instants start at
		why  string
	}{
		{per(3, sec, 3), 1e9, 1, 3, "3 tokens a second are 1 in 1/3 ns of a billion ticks: R = 3"},
		{per(1_500_000, sec, 1), 2000, 1, 3, "3 per 2000 ns: R = 3"},
		{per(1, day, 1), 86_400e9, 1, 1, "a whole interval: R = 1"},
		{per(3e8, sec, 1), 10, 1, 3, "3 per 10 ns"},
		{per(7e8, sec, 1), 10, 1, 7, "7 per 10 ns"},
		{per(10, 1, 1), 1, 1, 10, "a token is a tick: R = 10"},
		{per(32, 1, 1), 1, 1, 32, "the finest"},
		{per(33, 1, 1), 1, 1, 33, "above 32 tokens a nanosecond k = 1 and R is the rate"},
		{per(64, 1, 1), 1, 1, 64, "the highest rate"},
		{per(129, 4, 1), 1, 3, 96, "32.25 a nanosecond, 96.75 in three"},
		{per(99, sec, 99), 323e6, 1000, 31_977, "the largest multiple of 10^6 up to 32/99: microseconds are exact"},
		{per(1_000_003, sec, 1), 31_000, 1e6, 31_000_093, "none of 10^6 fits below 31 999, but one of 1000: milliseconds"},
		{per(999_999_937, sec, 1), 32, 1e9, 31_999_997_984, "nor that: the largest count"},
		{per(999, time.Microsecond, 1), 32, 125, 3996, "R = 3996/125"},
		{per(1, day, 1e9), 13 * 86_400_000, 1e6, 13, "2^60/burst holds k down; still exact in milliseconds"},
		{per(1, sec, 1<<60), 1, 2e9 - 1, 1, "down to 1"},
		{per(0, sec, 5), 1, 1, math.MaxInt64 - 2*5 - 1<<60 - 1, "rule 7"},
	} {
		if !r.fits() {
			continue
		}
		l := r.limit()
		if k, tick := tokenOf(&l), gcra.At(&l, r.at).Tick-1; k != r.k || tick != r.tick {
			t.Errorf("%v: %d ticks a token, %d after %d ns; want %d, %d (%s)", &l, k, tick, int64(r.at), r.k, r.tick, r.why)
		}
		if r.burst*r.k > 1<<60 {
			t.Errorf("%v: burst·k is %d", &l, r.burst*r.k)
		}
	}
}

// TestRule2 is the counterexample of fraction bits that are cut off: R =
// 3996/125 at 125 ns reads 3996; cut off at 128 bits it reads 3995.
func TestRule2(t *testing.T) {
	l := gcra.Per(999, time.Microsecond)
	if got := gcra.At(&l, 125).Tick - 1; got != 3996 {
		t.Errorf("read %d, want 3996", got)
	}
	cut := new(big.Int).Lsh(num(3996), 128)
	cut.Quo(cut, num(125)).Mul(cut, num(125)).Rsh(cut, 128)
	if cut.Int64() != 3995 {
		t.Errorf("cut off it reads %d: no counterexample", cut)
	}
	// The same at every reading that is a whole number of ticks.
	m := newModel(per(999, time.Microsecond, 1))
	for e := time.Duration(125); e < 1<<62; e += e/125/7*125 + 125 {
		if got, want := gcra.At(&l, e).Tick, m.reading(e).Int64(); got != want {
			t.Fatalf("at %d ns read %d, want %d", e, got, want)
		}
	}
}

// TestRule3 books as far as the range goes: TAT <= MaxInt64 − burst·k.
func TestRule3(t *testing.T) {
	l := gcra.PerDay(1).Burst(3)
	at := gcra.At(&l, gcra.Never/2)
	tat, k := at.Tick, tokenOf(&l)
	queue := 0
	for {
		b, d := gcra.Book(&l, tat, at, at.Tick, 3)
		if !d.OK() {
			break
		}
		tat, queue = b.End, queue+1
	}
	end := math.MaxInt64 - 2*3*k - 1<<60
	if tat > math.MaxInt64-3*k || tat <= end || queue < 10_000 {
		t.Errorf("%d bookings end at %d, the range at %d", queue, tat, end)
	}
}

// TestRule6 makes the example of design.md at second 1 and asks at second 3
// what came: 6 tokens, since the birth is second 0. From a birth at second 1
// only the 4 of two seconds would have come.
func TestRule6(t *testing.T) {
	l := gcra.Per(6, 3*sec).Burst(10).InSteps(3 * sec).Start(0)
	k := newKey(l, sec)
	if k.born != 0 {
		t.Fatalf("born at %v, want 0", k.born)
	}
	for _, r := range []struct {
		at   time.Duration
		left int
		why  string
	}{
		{sec, 0, "made"},
		{3*sec - 1, 0, "no step yet"},
		{3 * sec, 6, "the first"},
		{6 * sec, 10, "the second fills it"},
	} {
		if got := k.ask(r.at, peek, 0).Remaining(); got != r.left {
			t.Errorf("at %v %d are there, want %d (%s)", r.at, got, r.left, r.why)
		}
	}
	flow := gcra.Per(6, 3*sec).Burst(10)
	if got := (gcra.At(&flow, 2*sec).Tick - 1) / tokenOf(&flow); got != 4 {
		t.Errorf("two seconds bring %d, want 4: no counterexample", got)
	}
	if k.at(sec).Tick != 1 {
		t.Errorf("the first instant is %d, want 1", k.at(sec).Tick)
	}
}

// TestRule7 checks that the clock of a limit without refill stands at the end,
// whatever it reads: a charge is debt to whoever looks at it, at any time.
func TestRule7(t *testing.T) {
	for _, l := range []gcra.Limit{
		gcra.PerSecond(0).Burst(3), gcra.PerDay(0).Burst(3).InSteps(day), gcra.Per(0, 1<<58).Burst(3),
	} {
		const end int64 = math.MaxInt64 - 2*3 - 1<<60
		for _, e := range []time.Duration{math.MinInt64, -sec, -1, 0, 1, sec, year, math.MaxInt64} {
			at := gcra.At(&l, e)
			tat, d := gcra.Take(&l, gcra.Fresh(&l, at), at, 1)
			if at.Tick != end || tat <= end || !d.OK() || d.Remaining() != 2 || d.ResetAfter() != gcra.Never {
				t.Errorf("%v at %d: tick %d, want %d; %v", &l, int64(e), at.Tick, end, answered(tat, d))
			}
		}
	}
}

// TestRule8 lists the TAT of keys never seen: instant + (burst − start)·k.
func TestRule8(t *testing.T) {
	const most = min(math.MaxInt, 1<<60)
	for _, r := range []struct {
		limit gcra.Limit
		fresh int64
		why   string
	}{
		{gcra.Every(10).Burst(4), 101, "full: at the instant"},
		{gcra.Every(10).Burst(4).Start(4), 101, "the same, said"},
		{gcra.Every(10).Burst(4).Start(3), 111, "one token short"},
		{gcra.Every(10).Burst(4).Start(0), 141, "empty: full in four tokens' time"},
		{gcra.Every(10).Start(0).Burst(4), 141, "start does not depend on the order"},
		{gcra.Every(1).Burst(most).Start(most), 101, "full, with the most that an int can say"},
		{gcra.Limit{}, 1, "no bucket"},
		{gcra.Unlimited(), 1, "nor here"},
	} {
		at := gcra.At(&r.limit, 100)
		if got := gcra.Fresh(&r.limit, at); got != r.fresh {
			t.Errorf("%v: %d, want %d (%s)", &r.limit, got, r.fresh, r.why)
		}
	}
}

// TestRule13 lists bookings that keep to a schedule, 10 ticks a token and a
// burst of 1: if the word lies behind by no more than the timers were late,
// the slot follows it, else it starts at now.
func TestRule13(t *testing.T) {
	for _, r := range []struct {
		word, now       int64
		late            time.Duration
		from, slot, end int64
		why             string
	}{
		{31, 31, 5, 31, 31, 41, "on time"},
		{31, 35, 5, 31, 31, 41, "four late: the slot is where the schedule has it"},
		{31, 36, 5, 31, 31, 41, "five late, as the timers"},
		{31, 37, 5, 37, 37, 47, "six: that was a pause"},
		{31, 35, 0, 35, 35, 45, "in strict mode every wait adds its lateness"},
		{31, 35, -1, 35, 35, 45, "no timer is early"},
		{41, 35, 5, 35, 41, 51, "a word ahead: wait for it"},
		{51, 35, 5, 35, 51, 61, "however far"},
		{1, 500, 5, 500, 500, 510, "after a pause nothing is credited"},
		{1, 500, gcra.Never, 1, 1, 11, "but by who says that it was all lateness"},
	} {
		l := gcra.Every(10)
		at := gcra.At(&l, time.Duration(r.now-1))
		from := gcra.Schedule(&l, r.word, at, r.late)
		b, d := gcra.Book(&l, r.word, at, from, 1)
		if want := (gcra.Booking{Cost: 10, From: r.from, Slot: r.slot, End: r.end}); b != want || !d.OK() {
			t.Errorf("word %d, at %d, %d late: %+v, want %+v (%s)", r.word, r.now, int64(r.late), b, want, r.why)
		}
		steps := l.InSteps(1)
		if got := gcra.Schedule(&steps, r.word, at, r.late); got != r.now {
			t.Errorf("word %d, at %d, %d late, in steps: from %d, want now", r.word, r.now, int64(r.late), got)
		}
	}
}

// TestRule25 is the counterexample of giving back at the instant of the
// booking: a burst of 2 would grant 3 tokens in one instant.
func TestRule25(t *testing.T) {
	l := gcra.Every(10).Burst(2)
	at0, at10 := gcra.At(&l, 0), gcra.At(&l, 10)
	joint, _ := gcra.Book(&l, 1, at0, at0.Tick, 1)
	tat, _ := gcra.Take(&l, joint.End, at10, 1)
	tat = gcra.GiveBack(&l, tat, at10, joint, 1) // what the joint took has been refilled
	if _, d := gcra.Take(&l, tat, at10, 2); d.OK() {
		t.Error("three tokens in one instant")
	}
}

// TestRuleReading compares readings with rules 1, 2, 3 and 7 for random limits
// and every magnitude of time.
func TestRuleReading(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 28))
	wide := func() int64 { return rng.Int64() >> rng.IntN(63) }
	for range 20_000 {
		s := spec{wide(), time.Duration(wide()), 1 + wide()>>3, full, time.Duration(wide() * rng.Int64N(2))}
		if rng.IntN(2) == 0 {
			s.n, s.period = rates[rng.IntN(len(rates))].n, rates[rng.IntN(len(rates))].period
		}
		if !s.fits() || !s.legal() {
			continue
		}
		l, m := s.limit(), newModel(s)
		for range 4 {
			// Half of the readings are the first of a tick, or just before.
			e := time.Duration(wide())
			if rng.IntN(2) == 0 {
				e = m.until(m.reading(e), 0) - time.Duration(rng.IntN(2))
			}
			if got, want := gcra.At(&l, e).Tick, m.reading(e).Int64(); got != want {
				t.Fatalf("%+v at %d ns: read %d, want %d", s, int64(e), got, want)
			}
		}
	}
}
