package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// small is a run that measures nothing, quickly.
func small(t *testing.T, args ...string) config {
	cfg, err := parse(append([]string{"-runs", "1", "-time", "1us", "-keys", "512", "-grow", "1000", "-cpu", "1"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestRun(t *testing.T) {
	var table strings.Builder
	if err := run(small(t, "-only", "^(hot|keys|memory|growth)/"), &table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"golang.org/x/time v", "### hot", "### keys", "### memory", "### growth",
		"| case=granted shape=one cores=1 | none |", "| case=refused shape=map cores=1 | weir |",
		"| keys=512 type=string case=granted cores=1 | none |", "|  | sethvargo |", "|  | uber |", "|  | weir-1shard |",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in\n%s", want, &table)
		}
	}
}

func TestRunJSON(t *testing.T) {
	var out strings.Builder
	if err := run(small(t, "-json", "-only", "^keys/.*/(weir|xtime)$"), &out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		CPU     string
		Results []result
	}
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Results) != 2 || got.CPU == "" {
		t.Fatalf("got %+v", got)
	}
	for i, lib := range []string{"weir", "xtime"} {
		r := got.Results[i]
		if r.Section != "keys" || r.Lib != lib || len(r.Samples) != 1 || r.Median != r.Samples[0] || r.Ratio == 0 {
			t.Errorf("got %+v, want one sample of %s", r, lib)
		}
	}
}

func TestParseRejects(t *testing.T) {
	for _, args := range []string{"-runs 0", "-time 0s", "-pace -1s", "-keys 0", "-grow 1", "-cpu 0", "-cpu 1,", "-only (", "-busy yes", "hot"} {
		if _, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}

func TestInterleave(t *testing.T) {
	var order strings.Builder
	samples := map[string][]float64{"weir": {4, 1, 2}, "a": {9, 8, 1}, "b": {1, 1, 7}}
	taken := 0
	of := func(group, lib string) trial {
		return trial{group, lib, func() ([]point, error) {
			order.WriteString(lib + " ")
			taken++
			x := samples[lib][(taken-1)/4]
			return []point{{group, x, []float64{x + 10, -x}}}, nil
		}}
	}
	results, err := interleave([]trial{of("g", "weir"), of("g", "a"), of("h", "b"), of("g", "b")}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("weir a b b ", 3); order.String() != want {
		t.Errorf("ran %q, want %q", &order, want)
	}
	for i, want := range []result{
		{Group: "g", Lib: "weir", Median: 2, Ratio: 1},
		{Group: "g", Lib: "a", Median: 8, Ratio: 4},
		{Group: "g", Lib: "b", Median: 1, Ratio: 0.5},
		{Group: "h", Lib: "b", Median: 1}, // there is none of ours to compare with
	} {
		got := results[i]
		if !slices.Equal(got.More, []float64{want.Median + 10, -want.Median}) {
			t.Errorf("result %d has also %v, want the medians of both columns", i, got.More)
		}
		if got.Group != want.Group || got.Lib != want.Lib || got.Median != want.Median || got.Ratio != want.Ratio {
			t.Errorf("result %d is %+v, want %+v", i, got, want)
		}
	}
	if got := median([]float64{3, 1, 4, 2}); got != 2.5 {
		t.Errorf("median of 1 to 4 is %v", got)
	}
	broken := errors.New("broken")
	if _, err := interleave([]trial{{"g", "a", func() ([]point, error) { return nil, broken }}}, 1); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the trial", err)
	}
}

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

func TestRunPacing(t *testing.T) {
	var table strings.Builder
	if err := run(small(t, "-pace", "1ms", "-only", "^pacing/rate=200000 .*/weir(-strict-spin)?$"), &table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| least | most | to weir | gap p50, µs | p99, µs | longest, µs |\n|---|---|---:|---:|---:|---:|---:|---:|---:|\n",
		"| rate=200000 loops=1 busy=no | weir | ", "|  | weir-strict-spin | ", "| rate=200000 loops=64 busy=no | weir | ",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in\n%s", want, &table)
		}
	}
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
