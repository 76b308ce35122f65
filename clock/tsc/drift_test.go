package tsc

import (
	"math"
	"testing"
)

// A watch makes the two promises at every reading: never less than before, and
// how far from the system's clock at most.
type watch struct {
	*world
	last          int64
	ahead, behind int64 // the furthest
}

func (w *watch) look(t *testing.T) {
	before := w.ns
	now := w.now()
	if now < w.last {
		t.Fatalf("at %d ns: read %d after %d", before, now, w.last)
	}
	w.last = now
	// A reading is right if it is what the system's clock read at any moment
	// of the call.
	w.ahead, w.behind = max(w.ahead, now-w.ns), max(w.behind, before-now)
}

// TestDays lives through days on counters that are not quite steady.
func TestDays(t *testing.T) {
	for _, row := range []struct {
		name  string
		hours float64
		gap   float64 // ns between two readings, at most
		bound int64   // ns
		stall float64
		ppm   func(second float64) float64
	}{
		{"steady", 48, 200 * ms, 8, 0, // the middle of a sample is right to 7
			func(float64) float64 { return 37 }},
		{"idle", 24 * 365, 10 * 3600 * s, 8, 0,
			func(float64) float64 { return -50 }},
		{"wandering by 2.5 ppm a second", 12, 200 * ms, 1000, 0,
			func(second float64) float64 { return 50 * math.Sin(second/20) }},
		{"leaping by 100 ppm", 12, 200 * ms, 5500, 0, // 100 ppm of a life are 5.2 µs
			func(second float64) float64 { return 50 - 100*math.Mod(math.Floor(second/30), 2) }},
		{"slewed by 500 ppm", 12, 200 * ms, 27_000, 0, // 26 µs
			func(second float64) float64 { return 500 * math.Mod(math.Floor(second/30), 2) }},
		{"stopped in one sample of a hundred", 12, 200 * ms, 1000, 5e-3,
			func(float64) float64 { return 0 }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			hours := row.hours * days
			if testing.Short() {
				hours /= 24
			}
			w := watch{world: newWorld(1, 1<<40)}
			w.ppm(row.ppm(0))
			w.begin(t)
			w.stall = row.stall
			for second := int64(0); w.ns < int64(hours*3600*s); {
				w.pass(w.gap(row.gap))
				if now := w.ns / s; now != second {
					second = now
					w.ppm(row.ppm(float64(second)))
				}
				if w.look(t); max(w.ahead, w.behind) > row.bound {
					t.Fatalf("at %d ns: %d ns ahead, %d ns behind", w.ns, w.ahead, w.behind)
				}
			}
			t.Logf("at most %d ns ahead and %d ns behind, in %d lines", w.ahead, w.behind, w.lines())
		})
	}
}

// TestDisturbed has a machine that is put to sleep and moved about. Whatever
// happens, the clock is never ahead by more than a life; it is behind only for
// as long as the counter stood or for a life; and some lives later it is right
// again.
func TestDisturbed(t *testing.T) {
	const within, settle = 1000, 6 // ns, lines
	w := watch{world: newWorld(2, 1<<40)}
	w.begin(t)
	seen := map[string]int{}
	speed := 1.0
	for range 3000 {
		w.pass(w.rng.Int64N(lives(2)))
		slack := lives(1)
		event := ""
		switch w.rng.IntN(5) {
		case 0:
			event = "the counter goes on while the system sleeps"
			w.at += uint64(w.gap(3600 * s))
		case 1:
			event = "the counter begins anew"
			w.at = uint64(w.rng.Int64N(1 << 20)) // before every line
		case 2:
			event = "the counter stands"
			stood := w.gap(10 * s)
			w.ns += stood
			slack += stood
		case 3:
			event = "the counter has another frequency"
			speed = 0.5 + w.rng.Float64()*1.5
			w.ppm((speed - 1) * 1e6)
			slack = 3 * slack
		case 4:
			event = "the counter is moved on within a life"
			w.at += uint64(w.rng.Int64N(life))
		}
		seen[event]++
		w.ahead, w.behind = 0, 0
		for until := w.lines() + settle; w.lines() < until; {
			w.pass(w.gap(5 * ms))
			w.look(t)
		}
		if most := lives(2); w.ahead > most || w.behind > slack {
			t.Fatalf("%s: %d ns ahead, want at most %d; %d behind, want at most %d", event, w.ahead, most, w.behind, slack)
		}
		w.ahead, w.behind = 0, 0
		if w.look(t); w.ahead > within || w.behind > within {
			t.Fatalf("%s: after %d lines %d ns ahead and %d behind", event, settle, w.ahead, w.behind)
		}
	}
	t.Log(seen)
}

// TestCalibratedWrong has a first line that is off by 400 ppm.
func TestCalibratedWrong(t *testing.T) {
	w := watch{world: newWorld(3, 1<<40)}
	w.ppm(400)
	w.begin(t)
	w.ppm(0)
	for w.ns < 3*s {
		w.pass(w.gap(1 * ms))
		w.look(t)
	}
	if most := int64(22_000); max(w.ahead, w.behind) > most {
		t.Errorf("%d ns ahead, %d behind, want at most %d: 400 ppm of a life", w.ahead, w.behind, most)
	}
	w.ahead, w.behind = 0, 0
	for w.ns < 4*s {
		w.pass(w.gap(1 * ms))
		w.look(t)
	}
	if max(w.ahead, w.behind) > 1000 {
		t.Errorf("%d ns ahead, %d behind three seconds later", w.ahead, w.behind)
	}
}
