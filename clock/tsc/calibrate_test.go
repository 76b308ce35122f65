package tsc

import (
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A spoilt source is a world with another system's clock or counter.
type spoilt struct {
	*world
	counter func(w *world, at uint64) uint64
	clock   func(ns int64) int64
}

func (s spoilt) count() uint64 {
	if s.counter == nil {
		return s.world.count()
	}
	return s.counter(s.world, s.world.count())
}

func (s spoilt) system() int64 {
	if s.clock == nil {
		return s.world.system()
	}
	return s.clock(s.world.system())
}

func TestCalibrate(t *testing.T) {
	for _, row := range []struct {
		name  string
		src   spoilt
		err   error
		says  string
		spent time.Duration
	}{
		{"a steady counter", spoilt{}, nil, "", 6 * time.Millisecond},
		{"one that stands", spoilt{counter: func(*world, uint64) uint64 { return 5 }},
			ErrUnsteady, "0 counts in 25", 30 * time.Millisecond},
		{"one that goes back", spoilt{counter: func(_ *world, at uint64) uint64 { return -at }},
			ErrUnsteady, "in 5 attempts", 30 * time.Millisecond},
		{"one that gets faster and faster", spoilt{counter: func(w *world, at uint64) uint64 { return at + uint64(w.ns*w.ns/1e8) }},
			ErrUnsteady, "counts in", 30 * time.Millisecond},
		{"one too slow to be a processor's", spoilt{counter: func(_ *world, at uint64) uint64 { return at / 20 }},
			ErrUnsteady, "in 5 attempts", 30 * time.Millisecond},
		{"a system's clock that stands", spoilt{clock: func(int64) int64 { return 7 }},
			ErrUnsteady, "moved by 0s", time.Minute},
		{"one that moves in steps, as on Windows", spoilt{clock: func(ns int64) int64 { return ns - ns%500_000 }},
			ErrUnsupported, "in steps of 500µs", 30 * time.Millisecond},
	} {
		row.src.world = newWorld(4, 1<<30)
		l, err := calibrate(row.src)
		if !errors.Is(err, row.err) || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v, want %v that says %q", row.name, err, row.err, row.says)
		}
		if spent := time.Duration(row.src.ns); spent > row.spent {
			t.Errorf("%s: it took %v, want at most %v", row.name, spent, row.spent)
		}
		if err != nil {
			continue
		}
		// A sample is exact to 20 ns, so two are to 8 ppm of 5 ms.
		want := math.Round(life / cyclesPerNs)
		if got := float64(l.span); math.Abs(got/want-1) > 8e-6 {
			t.Errorf("%s: %v ns a life, want %v", row.name, got, want)
		}
		if off := l.now - row.src.ns; off < -100 || off > 0 {
			t.Errorf("%s: the first line is off by %d ns", row.name, off)
		}
	}
}

// TestCalibrateStalls has a machine so busy that half of all samples are
// disturbed: the calibration is right, or an error, but never wrong.
func TestCalibrateStalls(t *testing.T) {
	good := 0
	for seed := range uint64(500) {
		w := newWorld(seed, 1<<30)
		w.stall = 0.5
		l, err := calibrate(w)
		if err != nil {
			continue // that it is so busy looks like this or like that
		}
		good++
		if off := math.Abs(float64(l.span)*cyclesPerNs/life - 1); off > 500e-6 {
			t.Errorf("seed %d: off by %.0f ppm", seed, off*1e6)
		}
	}
	if good < 400 {
		t.Errorf("only %d of 500 came to an end", good)
	}
	t.Logf("%d of 500 were calibrated", good)
}

func TestSample(t *testing.T) {
	w := newWorld(5, 1<<30)
	w.stall = 0.4
	for range 1000 {
		before := w.ns
		r := sample(w)
		if r.sys < before || r.sys > w.ns {
			t.Fatalf("sampled %d between %d and %d", r.sys, before, w.ns)
		}
	}
	back := uint64(1 << 40)
	falling := spoilt{world: w, counter: func(*world, uint64) uint64 { back -= 100; return back }}
	if r := sample(falling); r.count != back || r.sys == 0 {
		t.Errorf("on a counter that falls to %d: %+v", back, r)
	}
}

func TestTrusted(t *testing.T) {
	for _, row := range []struct {
		list string
		want bool
	}{
		{"tsc kvm-clock \n", true},
		{"kvm-clock tsc hpet acpi_pm \n", true},
		{"hpet acpi_pm \n", false},
		{"tsc-early hpet\n", false}, // while it boots
		{"hyperv_clocksource_tsc_page\n", false},
		{"", false},
	} {
		if got := trusted([]byte(row.list)); got != row.want {
			t.Errorf("trusted(%q) = %v", row.list, got)
		}
	}
}

// TestNewInBubble shows that New comes to an end where the system's time does
// not pass.
func TestNewInBubble(t *testing.T) {
	want := ErrUnsteady
	if supported() != nil {
		want = ErrUnsupported
	}
	synctest.Test(t, func(t *testing.T) {
		if c, err := New(); c != nil || !errors.Is(err, want) {
			t.Errorf("New() = %v, %v, want %v", c, err, want)
		}
	})
}
