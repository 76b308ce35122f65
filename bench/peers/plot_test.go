package main

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestPlaceLabels(t *testing.T) {
	for _, row := range []struct {
		wants, want []float64
		why         string
	}{
		{[]float64{10, 50}, []float64{10, 50}, "room enough"},
		{[]float64{50, 50}, []float64{45, 55}, "both give way"},
		{[]float64{0, 0, 0}, []float64{0, 10, 20}, "not above the top"},
		{[]float64{100, 100, 99}, []float64{80, 90, 100}, "not below the bottom"},
		{[]float64{50, 52, 58, 90}, []float64{43.33, 53.33, 63.33, 90}, "a block, and one that is not of it"},
	} {
		var labels []label
		for _, y := range row.wants {
			labels = append(labels, label{from: y})
		}
		placeLabels(labels, 10, 0, 100)
		for i, l := range labels {
			if math.Abs(l.y-row.want[i]) > 0.01 {
				t.Errorf("%v: label %d is at %.2f, want %v: %s", row.wants, i, l.y, row.want, row.why)
			}
		}
	}
}

// What there is nothing to draw of is not drawn.
func TestPlotsOfLittle(t *testing.T) {
	none := result{Section: "keys", Group: "keys=1k type=string dist=uniform case=granted cores=1", Lib: "none", Median: 2}
	weir := none
	weir.Lib = "weir"
	gc := result{Section: "gc", Group: "keys=10M type=uint64", Lib: "table", Median: 0.2}
	for _, row := range []struct {
		results []result
		want    []string
		why     string
	}{
		{nil, nil, "nothing"},
		{[]result{none}, nil, "only what is no line"},
		{[]result{none, weir}, []string{"keys"}, "one point"},
		{[]result{gc}, []string{"heap"}, "one bar"},
		{[]result{weir, gc}, []string{"keys", "heap"}, "one of each"},
	} {
		var names []string
		for _, p := range plots(run{Results: row.results}) {
			names = append(names, p.name)
			if text := p.String(); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Errorf("%s: no numbers in\n%s", row.why, text)
			}
		}
		if !slices.Equal(names, row.want) {
			t.Errorf("%s: got %v, want %v", row.why, names, row.want)
		}
	}
}

func TestLogTicks(t *testing.T) {
	for _, row := range []struct {
		least, most float64
		want        []float64
	}{
		{13, 180, []float64{10, 20, 50, 100, 200}},
		{20, 20, []float64{20, 50}},
		{0.7, 3, []float64{0.5, 1, 2, 5}},
		{99, 1001, []float64{50, 100, 200, 500, 1000, 2000}},
	} {
		got := logTicks(row.least, row.most)
		if !slices.EqualFunc(got, row.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%v to %v: %v, want %v", row.least, row.most, got, row.want)
		}
	}
}
