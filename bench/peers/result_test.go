package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestInterleave(t *testing.T) {
	var order strings.Builder
	samples := map[string][]float64{"weir": {4, 1, 2}, "a": {9, 8, 1}, "b": {1, 1, 7}}
	taken := 0
	of := func(group, lib string) trial {
		return trial{group: group, lib: lib, run: func() ([]point, error) {
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
	if _, err := interleave([]trial{{group: "g", lib: "a", run: func() ([]point, error) { return nil, broken }}}, 1); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the trial", err)
	}
}

func TestInterleaveFewer(t *testing.T) {
	runs := map[string]int{}
	of := func(lib string, rounds int) trial {
		return trial{group: "g", lib: lib, rounds: rounds, run: func() ([]point, error) {
			runs[lib]++
			return []point{{group: "g", value: 1}}, nil
		}}
	}
	results, err := interleave([]trial{of("a", 1), of("b", 0), of("c", 2)}, 3)
	if err != nil || runs["a"] != 1 || runs["b"] != 3 || runs["c"] != 2 || len(results[0].Samples) != 1 || len(results[1].Samples) != 3 {
		t.Errorf("ran %v, got %+v, %v", runs, results, err)
	}
}
