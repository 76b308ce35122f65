package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-go/weir/cmd/weir/internal/advise"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
)

// checkTimeline compares the columns with the bins.
func checkTimeline(t *testing.T, root *node, tl *replay.Timeline) {
	t.Helper()
	for _, s := range sizes() {
		svg := root.all("svg")[slices.IndexFunc(root.all("svg"), func(n *node) bool {
			return n.attr["class"] == "plot "+s.name && n.all("title")[0].attr["id"] == "time-"+s.name+"-t"
		})]
		rows := append([][]int64{tl.Requests}, tl.Refused...)
		drawn := append(svg.all(".req"), svg.all(".ref")...)
		rows = slices.DeleteFunc(rows, func(n []int64) bool { return highest(n) == 0 })
		if len(drawn) != len(rows) {
			t.Fatalf("%s: %d rows of columns, want %d", s.name, len(drawn), len(rows))
		}
		for i, n := range rows {
			checkColumns(t, drawn[i].attr["d"], n)
		}
	}
}

// checkColumns measures the columns of a path.
func checkColumns(t *testing.T, d string, bins []int64) {
	t.Helper()
	var want []int64
	for _, v := range bins {
		if v > 0 {
			want = append(want, v)
		}
	}
	var heights []float64
	for _, shape := range strings.Split(strings.TrimSuffix(d, "Z"), "Z") {
		start, rest, _ := strings.Cut(strings.TrimPrefix(shape, "M"), "V")
		_, low, _ := strings.Cut(start, " ")
		bottom, err := strconv.ParseFloat(low, 64)
		if err != nil {
			t.Fatal(err)
		}
		steps := strings.Split(rest, "V")
		for _, step := range steps[:len(steps)-1] { // the last closes it
			high, _, _ := strings.Cut(step, "H")
			top, err := strconv.ParseFloat(high, 64)
			if err != nil {
				t.Fatal(err)
			}
			heights = append(heights, bottom-top)
		}
	}
	if len(heights) != len(want) {
		t.Fatalf("%d columns, want %d", len(heights), len(want))
	}
	tall := slices.Max(heights)
	for i, v := range want {
		h := max(tall*float64(v)/float64(slices.Max(want)), 1.5)
		if math.Abs(heights[i]-h) > 0.11 { // coordinates are rounded to a tenth
			t.Errorf("column %d of %d is %.1f high, want %.1f", i, v, heights[i], h)
		}
	}
}

// checkCurve compares the table and the lines with the points.
func checkCurve(t *testing.T, root *node, r *advise.Result) {
	t.Helper()
	tables := root.one(t, "main").all("table")
	rows, waits := tables[0].cells()[1:], tables[1].cells()[1:]
	if len(rows) != len(r.Curve) || len(waits) != len(r.Curve) {
		t.Fatalf("%d and %d rows, want %d", len(rows), len(waits), len(r.Curve))
	}
	for i, p := range r.Curve {
		want := []int64{p.P50, p.P90, p.P99, p.Max}
		if r.Refuse != "" {
			want = append(want, p.ForShare)
		}
		for j, b := range want {
			if digits(t, rows[i][j+1]) != b {
				t.Errorf("%s: column %d is %q, want %d", p.Rate, j+1, rows[i][j+1], b)
			}
		}
		if rows[i][0] != p.Rate || waits[i][0] != p.Rate || rows[i][len(rows[i])-1] != p.Key {
			t.Errorf("rows %q and %q, want %s and the key %s", rows[i], waits[i], p.Rate, p.Key)
		}
	}
	for _, line := range root.all(".q3") {
		if line.name == "path" {
			checkLine(t, line.attr["d"], r.Curve)
		}
	}
	if n := len(root.all(".mark")); n != 2*len(r.Advice) { // in a narrow and in a wide drawing
		t.Errorf("%d marks, want %d", n, 2*len(r.Advice))
	}
}

// checkLine measures a line: equal ratios are equal distances.
func checkLine(t *testing.T, d string, curve []advise.Point) {
	t.Helper()
	points := strings.Split(strings.TrimPrefix(d, "M"), "L")
	if len(points) != len(curve) {
		t.Fatalf("%d points, want %d", len(points), len(curve))
	}
	var x, y []float64
	for _, p := range points {
		var px, py float64
		if _, err := fmt.Sscan(p, &px, &py); err != nil {
			t.Fatal(err)
		}
		x, y = append(x, px), append(y, py)
	}
	last := len(curve) - 1
	rate := func(i int) float64 { return math.Log(float64(curve[i].N) / curve[i].Period.Seconds()) }
	burst := func(i int) float64 { return math.Log(float64(curve[i].Max)) }
	for i := range curve {
		if last == 0 || burst(last) == burst(0) {
			continue
		}
		px := x[0] + (x[last]-x[0])*(rate(i)-rate(0))/(rate(last)-rate(0))
		py := y[0] + (y[last]-y[0])*(burst(i)-burst(0))/(burst(last)-burst(0))
		if math.Abs(px-x[i]) > 0.2 || math.Abs(py-y[i]) > 0.2 { // coordinates are rounded to a tenth
			t.Errorf("%s burst %d is at %.1f %.1f, want %.1f %.1f", curve[i].Rate, curve[i].Max, x[i], y[i], px, py)
		}
	}
	if last > 0 && (x[last] <= x[0] || y[last] < y[0]) {
		t.Error("it does not go to the right, and down")
	}
}
