package gcra_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// TestRangeNeverWraps asks everything, at every edge of cost, TAT and instant,
// of the limits with the widest numbers. Beside the model, it compares what
// [history.ask] does after every request: the TAT does not go down but by
// GiveBack, and stays at or below MaxInt64 − burst·k.
func TestRangeNeverWraps(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for _, s := range []spec{
		per(64, 1, 1<<60), per(64, 1, 1), per(32, 1, 1<<60), per(32, 1, 1e9), per(1, 1, 1<<60),
		per(1, 1<<58, 1<<60), per(1, 1<<58, 1), per(1, 1<<58, 2), per(1<<58+1, 1<<58, 1e9),
		per(999_999_937, sec, 1<<60), per(math.MaxInt64, 1<<58, 1<<60), per(1, day, 1e9),
		per(0, 1, 1<<60), per(0, 1<<58, 1),
		{99, sec, 1e9, 0, math.MaxInt64}, {1, 1 << 58, 1 << 60, 0, 3}, {64, 1, 1 << 60, 1, 1<<62 + 1},
	} {
		if !s.fits() {
			continue
		}
		k := newModel(s).k.Int64()
		span := s.burst * k
		end := math.MaxInt64 - 2*span - 1<<60
		last := newModel(s).until(num(end), 0)
		tats := []int64{
			0, 1, 2, span, end - span, end - 1, end, end + 1, end + span, math.MaxInt64 - span - 1, math.MaxInt64 - span,
		}
		times := []time.Duration{
			math.MinInt64, math.MinInt64 + 1, -1, 0, 1, last - 1, last, last + 1, math.MaxInt64 - 1, math.MaxInt64,
		}
		for _, tat := range tats {
			for _, now := range times {
				for range 5 {
					h := newHistory(s, time.Nanosecond)
					h.tat, h.now = tat, now
					h.model.tokens, h.model.since = h.model.burst, num(tat)
					// One of each kind, and what was booked is given back.
					for _, how := range []byte{89, 139, 169, 179, 181, 182, 184, 255} {
						n := h.cost(byte(rng.Uint32()))
						if err := h.ask(how, n); err != nil {
							t.Fatalf("%+v, TAT %d, %d of it at %d ns: %v", s, tat, n, now, err)
						}
					}
				}
			}
		}
	}
}

// TestRangeEnd walks over the end of the range: the instant stays there,
// nothing refills, nothing is booked past it.
func TestRangeEnd(t *testing.T) {
	for _, s := range []spec{per(3, sec, 5), per(99, sec, 7), per(10, 1, 1e9), per(1, day, 3)} {
		l, m := s.limit(), newModel(s)
		end := m.end.Int64()
		last := m.until(m.end, 0)
		if got := gcra.At(&l, last-1).Tick; got >= end {
			t.Errorf("%v: a nanosecond before the end the tick is %d of %d", &l, got, end)
		}
		tat := end // full just at the end
		if _, d := gcra.Take(&l, tat, gcra.At(&l, last), l.Capacity()); !d.OK() {
			t.Errorf("%v: at the end %v", &l, d.Err())
		}
		tat, _ = gcra.Take(&l, tat, gcra.At(&l, last), l.Capacity())
		for _, now := range []time.Duration{last, last + 1, last + year, math.MaxInt64} {
			at := gcra.At(&l, now)
			_, d := gcra.Take(&l, tat, at, 1)
			if at.Tick != end || d.OK() || d.RetryAfter() != gcra.Never || d.ResetAfter() != gcra.Never {
				t.Errorf("%v: %d ns past the end the tick is %d of %d, %v", &l, now-last, at.Tick, end, answered(tat, d))
			}
			if b, d := gcra.Book(&l, tat, at, at.Tick, 1); d.Err() != gcra.ErrLimited || b != (gcra.Booking{}) {
				t.Errorf("%v: booked %+v past the end, %v", &l, b, d.Err())
			}
		}
		// The last slot is the end itself.
		before := end - m.k.Int64() + s.burst*m.k.Int64()
		at := gcra.At(&l, last-1)
		b, _ := gcra.Book(&l, before, at, at.Tick, 1)
		if b.Slot != end || b.End != end+s.burst*m.k.Int64() || gcra.Until(&l, b.Slot, at) != 1 {
			t.Errorf("%v: the last booking is %+v, want slot %d", &l, b, end)
		}
	}
}

// TestRangeYears holds the package doc to its numbers, in years of 365 days.
func TestRangeYears(t *testing.T) {
	for _, r := range []struct {
		spec
		years int64
		why   string
	}{
		{per(64, 1, 1<<60), 2, "the fastest rate, the largest burst"},
		{per(32, 1, 1<<60), 5, "the finest ticks of the others"},
		{per(999_999_937, sec, 1e9), 7, "as fine, a burst of a second"},
		{per(3, sec, 100), 85, "three ticks a nanosecond"},
		{per(1, 1, 1<<60), 182, "one tick a nanosecond"},
		{per(1, sec, 100), 255, "with a small burst"},
	} {
		if !r.fits() {
			continue
		}
		l := r.limit()
		end := gcra.At(&l, math.MaxInt64).Tick
		if got := int64(gcra.Until(&l, end, gcra.At(&l, 0)) / year); got != r.years {
			t.Errorf("%v lasts %d years, want %d (%s)", &l, got, r.years, r.why)
		}
	}
}

// TestRangeOlder checks law L9: an instant older than one already used finds
// no more tokens than that one left.
func TestRangeOlder(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 26))
	for range 2000 {
		k := newKey(per(1+rng.Int64N(50), sec, 1+rng.Int64N(20)).limit(), 0)
		now := time.Duration(rng.Int64N(int64(time.Minute)))
		left := k.ask(now, take, 1).Remaining()
		older := now - time.Duration(rng.Int64N(int64(2*now+1)))
		if d := k.ask(older, takeUpTo, k.limit.Capacity()); d.Granted() > left {
			t.Fatalf("%v: %d left at %v, but %d granted at %v", &k.limit, left, now, d.Granted(), older)
		}
	}
}
