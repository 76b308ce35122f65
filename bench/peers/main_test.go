package main

import (
	"encoding/json"
	"errors"
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
			return []point{{group, samples[lib][(taken-1)/4]}}, nil
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
	for _, perSecond := range paces() {
		for _, p := range pacers() {
			synctest.Test(t, func(t *testing.T) {
				share, err := pace(p, perSecond, time.Second)
				if share != 1 || err != nil {
					t.Errorf("%s at %d/s: delivered %v, %v", p.lib, perSecond, share, err)
				}
			})
		}
	}
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
			_, err := pace(pacer{"twin", func(int) func() error { return row.wait }}, 1000, time.Second)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q: %s", err, row.want, row.why)
			}
		})
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
