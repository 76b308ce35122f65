package gcra_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// debit is what Debit does to the model's bucket: whole tokens, down to debt
// tokens below empty or 2^60 ticks, whichever is less.
func (m *model) debit(elapsed time.Duration, n, debt int) answer {
	if n <= 0 || m.period <= 0 {
		return m.take(elapsed, n)
	}
	now := m.reading(elapsed)
	room := new(big.Rat).SetInt64(int64(max(debt, 0)))
	if most := new(big.Rat).SetFrac(num(1<<60), m.k); room.Cmp(most) > 0 {
		room = most
	}
	room.Add(room, m.there(now))
	fits := int64(0)
	if room.Sign() > 0 {
		whole := new(big.Int).Quo(room.Num(), room.Denom())
		fits = least(num(int64(n)), whole).Int64()
	}
	if fits == 0 {
		return m.answer(elapsed, 0, m.until(m.first(new(big.Rat).SetInt64(1)), elapsed), gcra.ErrLimited)
	}
	m.charge(now, int(fits))
	return m.answer(elapsed, int(fits), 0, nil)
}

// owes plays a random history of debits of one key, with takes between.
func owes(s spec, rng *rand.Rand, length int, seen map[string]int) error {
	l, m := s.limit(), newModel(s)
	if s.period <= 0 {
		m.k = one
	}
	tat := gcra.Fresh(&l, gcra.At(&l, 0))
	now, span := time.Duration(0), s.burst
	for op := range length {
		switch rng.IntN(4) {
		case 0:
			now += time.Duration(rng.Int64() >> (rng.IntN(40) + 20))
		case 1:
			now += min(l.Interval(), 1<<50)
		}
		now = max(now, 0)
		debt := int([...]int64{0, 1, span, span * 2, rng.Int64() >> rng.IntN(63), math.MaxInt, math.MinInt, -1}[rng.IntN(8)])
		n := int([...]int64{0, 1, 2, -1, span, span + 1, rng.Int64() >> rng.IntN(63), math.MaxInt}[rng.IntN(8)])
		at := gcra.At(&l, now)
		var d gcra.Decision
		var want answer
		if rng.IntN(3) == 0 {
			tat, d = gcra.Take(&l, tat, at, n)
			want = m.take(now, n)
		} else {
			tat, d = gcra.Debit(&l, tat, at, n, debt)
			want = m.debit(now, n, debt)
			seen[fmt.Sprint(d.Err(), " in part ", d.OK() && d.Granted() < n)]++
		}
		if want.tat < tat && want.granted == 0 || s.period <= 0 {
			want.tat = tat // a full bucket's TAT may lie anywhere in the past
		}
		if got := answered(tat, d); s.period > 0 && got != want || s.period <= 0 && got.err != want.err {
			return fmt.Errorf("operation %d at %d: debit of %d, debt %d: %v, want %v", op, int64(now), n, debt, got, want)
		}
		if tat > math.MaxInt64-s.burst*m.k.Int64() && s.period > 0 {
			return fmt.Errorf("operation %d: TAT %d is beyond the range", op, tat)
		}
	}
	return nil
}

// TestDebit compares Debit with the model, at every rate and burst.
func TestDebit(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	seen := map[string]int{}
	for range 20 {
		for _, s := range specs(rng) {
			if err := owes(s, rng, 40, seen); err != nil {
				t.Fatalf("%+v: %v", s, err)
			}
		}
	}
	for _, what := range []error{nil, gcra.ErrLimited, gcra.ErrCost, gcra.ErrExceedsBurst} {
		if seen[fmt.Sprint(what, " in part false")] < 50 {
			t.Errorf("%v happened %d times", what, seen[fmt.Sprint(what, " in part false")])
		}
	}
	if seen["<nil> in part true"] < 50 {
		t.Error("hardly a debit fitted in part")
	}
}

func FuzzDebit(f *testing.F) {
	for i, r := range rates {
		f.Add(r.n, int64(r.period), bursts[i%len(bursts)], uint64(i))
	}
	f.Fuzz(func(t *testing.T, n, period, burst int64, seed uint64) {
		s := per(n, time.Duration(period), burst)
		if !s.legal() || !s.fits() {
			t.Skip("no such limit")
		}
		if err := owes(s, rand.New(rand.NewPCG(seed, 1)), 40, map[string]int{}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestDebitRows: one token a second, a burst of 3, charged at one instant.
func TestDebitRows(t *testing.T) {
	for _, r := range []struct {
		taken, n, debt int
		granted        int
		retry          time.Duration // of one token afterwards
		why            string
	}{
		{0, 2, 0, 2, 0, "what is there"},
		{0, 5, 0, 3, sec, "no debt: down to empty"},
		{3, 1, 0, 0, sec, "and no further"},
		{0, 5, 2, 5, 3 * sec, "two below empty"},
		{3, 9, 2, 2, 3 * sec, "as much as fits"},
		{3, 9, -5, 0, sec, "a debt below 0 is none"},
		{3, math.MaxInt, 100, 100, 101 * sec, "a charge that would overflow"},
		{1, 0, 9, 0, 0, "nothing"},
	} {
		l := gcra.PerSecond(1).Burst(3)
		at := gcra.At(&l, 0)
		tat, _ := gcra.Take(&l, at.Tick, at, r.taken)
		tat, d := gcra.Debit(&l, tat, at, r.n, r.debt)
		after := gcra.Peek(&l, tat, at, 1)
		if d.Granted() != r.granted || d.OK() != (r.granted > 0 || r.n == 0) || after.RetryAfter() != r.retry {
			t.Errorf("%d taken, debit of %d, debt %d: %d charged and then a token in %v, want %d and %v (%s)",
				r.taken, r.n, r.debt, d.Granted(), after.RetryAfter(), r.granted, r.retry, r.why)
		}
	}
}

// TestDebitBound is the end of 2^60 ticks, where a token's fraction of room is
// no room: with 3 ticks a token, 2^60/3 tokens of debt are the most.
func TestDebitBound(t *testing.T) {
	l := gcra.Every(3)
	at := gcra.At(&l, 0)
	most := int64(1<<60) / 3
	if int64(int(most)) != most {
		t.Skip("beyond this platform's int")
	}
	tat, _ := gcra.Debit(&l, at.Tick+4, at, int(most)+5, int(most)) // a third of a token below empty
	if owed := tat - at.Tick - 3; owed > 3*most || owed < 3*most-2 {
		t.Errorf("a debt of at most %d tokens of 3 ticks came to %d ticks", most, owed)
	}
	for range 5 {
		tat, _ = gcra.Debit(&l, tat, at, math.MaxInt, math.MaxInt)
		if owed := tat - at.Tick - 3; owed > 1<<60 {
			t.Fatalf("debt of %d ticks", owed)
		}
	}
}
