package main

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// In a bubble no timer is late, so every pacer delivers its rate.
func TestPace(t *testing.T) {
	for _, loops := range loops() {
		for _, perSecond := range paces() {
			for _, p := range pacers() {
				synctest.Test(t, func(t *testing.T) {
					got, err := pace(p, perSecond, loops, time.Second/20)
					interval := time.Second / time.Duration(perSecond)
					off := got.longest - interval // a nanosecond where xtime rounds floats
					if got.share != 1 || got.p50 != interval || got.p99 != interval || off < 0 || off > 1 || err != nil {
						t.Errorf("%s at %d/s to %d loops: delivered %+v, %v", p.lib, perSecond, loops, got, err)
					}
				})
			}
		}
	}
}

// A pacer that stops for 40 intervals, twice, and makes up for 20 of them.
func TestPaceTellsGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		got, err := pace(pacer{lib: "twin", open: func(int) func() error {
			return func() error {
				switch n++; {
				case n == 302, n == 602:
					time.Sleep(40 * time.Millisecond)
				case n > 302 && n <= 322, n > 602 && n <= 622:
				default:
					time.Sleep(time.Millisecond)
				}
				return nil
			}
		}}, 1000, 1, time.Second)
		want := delivery{p50: time.Millisecond, p99: time.Millisecond, longest: 40 * time.Millisecond}
		want.share = float64(962) / 1000
		if got != want || err != nil {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	})
}

func TestPaceRejects(t *testing.T) {
	failing := errors.New("failing")
	for _, row := range []struct {
		wait func() error
		want string
		why  string
	}{
		{func() error { return nil }, "granted in", "does not wait"},
		{func() error { time.Sleep(time.Second / 1100); return nil }, "granted in", "a tenth too fast"},
		{func() error { return failing }, "failing", "does not grant"},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, err := pace(pacer{lib: "twin", open: func(int) func() error { return row.wait }}, 1000, 1, time.Second)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q: %s", err, row.want, row.why)
			}
		})
	}
	// Each loop by itself keeps to the rate.
	synctest.Test(t, func(t *testing.T) {
		each := func() error { time.Sleep(time.Millisecond); return nil }
		_, err := pace(pacer{lib: "twin", open: func(int) func() error { return each }}, 1000, 2, time.Second)
		if err == nil || !strings.Contains(err.Error(), "granted in") {
			t.Errorf("got %v: two loops get twice the rate", err)
		}
	})
}

// goleak finds what does not stop.
func TestOccupyStops(t *testing.T) {
	stop, err := occupy(busyGoroutines, 2)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	spinUntilEOF(strings.NewReader("x"))
}
