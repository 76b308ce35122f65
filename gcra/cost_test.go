package gcra_test

import (
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/gcra"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDecisionSize(t *testing.T) {
	if size := unsafe.Sizeof(gcra.Decision{}); size > 40 {
		t.Errorf("a Decision has %d bytes, want at most 40", size)
	}
}

// TestNoAllocations covers every outcome: the decision and all that it can be
// asked.
func TestNoAllocations(t *testing.T) {
	var sum int64
	for _, text := range []string{
		"100/s burst 20", "999999937/s burst 1000", "6/3s burst 10 step 3s start 0", "0/s burst 5", "unlimited", "none",
	} {
		l, err := gcra.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Duration(0)
		tat := gcra.Fresh(&l, gcra.At(&l, now))
		use := func(d gcra.Decision) {
			sum += int64(d.Granted()) + int64(d.Remaining()) + int64(d.RetryAfter()) + int64(d.ResetAfter())
			if d.OK() != (d.Err() == nil) || d.Limit() != l {
				t.Error("the decision contradicts itself")
			}
		}
		if n := testing.AllocsPerRun(100, func() {
			now += time.Millisecond
			at := gcra.At(&l, l.Birth(now))
			for _, cost := range []int{-1, 0, 1, 4, 1 << 20} {
				next, d := gcra.Take(&l, tat, at, cost)
				use(d)
				next, d = gcra.TakeUpTo(&l, next, at, cost)
				use(d)
				use(gcra.Peek(&l, next, at, cost))
				use(gcra.Refuse(&l, at, cost))
				b, d := gcra.Book(&l, next, at, at.Tick, cost)
				use(d)
				sum += int64(gcra.Until(&l, b.Slot, at))
				if d.OK() {
					next = b.End
				}
				tat = gcra.GiveBack(&l, next, at, b, cost)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

// TestZero checks that zero values can be used.
func TestZero(t *testing.T) {
	var l gcra.Limit
	var d gcra.Decision
	if answered(0, d) != (answer{}) || !d.OK() || d.Limit() != l {
		t.Errorf("the zero Decision is %v of %v", answered(0, d), d.Limit())
	}
	if got := gcra.GiveBack(&l, 7, gcra.At(&l, 5), gcra.Booking{}, 1); got != 7 {
		t.Errorf("the zero Booking gave %d back", 7-got)
	}
}

var benchmarked = []struct{ name, limit string }{
	{"100_per_s", "100/s burst 1000000000"},
	{"1e10_per_s", "10/ns burst 1000000000"},
	{"999999937_per_s", "999999937/s burst 1000000000"},
	{"6_per_3s_in_steps", "6/3s burst 1000000000 step 3s"},
}

func BenchmarkAt(b *testing.B) {
	for _, c := range benchmarked {
		b.Run("limit="+c.name, func(b *testing.B) {
			l, err := gcra.Parse(c.limit)
			if err != nil {
				b.Fatal(err)
			}
			now, sum := time.Duration(0), int64(0)
			for b.Loop() {
				now += 1001
				sum += gcra.At(&l, now).Tick
			}
			if sum == 0 {
				b.Error("no ticks")
			}
		})
	}
}

// BenchmarkTake reads no clock: an instant and a decision, all granted or all
// refused.
func BenchmarkTake(b *testing.B) {
	for _, c := range benchmarked {
		for _, granted := range []bool{true, false} {
			name := "limit=" + c.name + "/granted=0%"
			if granted {
				name = "limit=" + c.name + "/granted=100%"
			}
			b.Run(name, func(b *testing.B) {
				l, err := gcra.Parse(c.limit)
				if err != nil {
					b.Fatal(err)
				}
				now, step, tat := time.Duration(0), l.Interval(), int64(1)
				if !granted {
					step, tat = 0, gcra.Fresh(&l, gcra.At(&l, 0))
					tat, _ = gcra.Take(&l, tat, gcra.At(&l, 0), l.Capacity())
				}
				asked, grants := 0, 0
				for b.Loop() {
					now += step
					next, d := gcra.Take(&l, tat, gcra.At(&l, now), 1)
					if d.OK() {
						grants++
					}
					tat = next
					asked++
				}
				if granted && grants != asked || !granted && grants != 0 {
					b.Errorf("%d of %d granted", grants, asked)
				}
			})
		}
	}
}
