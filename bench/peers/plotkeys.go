package main

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
)

// A line is one library in the plot of times by number of keys.
type line struct {
	lib, label string
	class      int // the colour
	ours       bool
	dashed     bool
}

func lines() []line {
	return []line{
		{"cas", "bare CAS", 2, false, false},
		{"xsync", "one xsync map", 9, false, false},
		{"throttled", "throttled", 7, false, false},
		{"sethvargo", "sethvargo", 4, false, false},
		{"xtime", "x/time, sync.Map", 3, false, false},
		{"xtime-mutex", "x/time, mutex", 5, false, false},
		{"ulule", "ulule", 6, false, false},
		{"tollbooth", "tollbooth", 8, false, false},
		{"weir", "weir Limiter", 1, true, false},
		{"table", "weir Table", 0, true, false},
		{"table-tsc", "weir Table, TSC", 0, true, true},
	}
}

var inKeys = regexp.MustCompile(`^keys=(\S+) type=string dist=uniform case=granted cores=(\d+)$`)

// coresOf returns the numbers of cores that keys were timed on, most first.
func coresOf(results []result) (cores []int) {
	for _, r := range results {
		if m := inKeys.FindStringSubmatch(r.Group); m != nil {
			if n, err := strconv.Atoi(m[2]); err == nil && !slices.Contains(cores, n) {
				cores = append(cores, n)
			}
		}
	}
	slices.Sort(cores)
	slices.Reverse(cores)
	return cores
}

// drawKeys plots the time of a request over the number of keys, both in ever
// larger steps: one key, and what was timed of strings.
func drawKeys(results []result, cores int) *drawing {
	columns := []string{"1"}
	at := map[string]map[string]float64{} // by lib, then by column
	put := func(column string, r result) {
		if at[r.Lib] == nil {
			at[r.Lib] = map[string]float64{}
		}
		at[r.Lib][column] = r.Median
	}
	for _, r := range results {
		switch m := inKeys.FindStringSubmatch(r.Group); {
		case r.Section == "hot" && r.Group == fmt.Sprintf("shape=map case=granted cores=%d", cores):
			put("1", r)
		case r.Section == "keys" && m != nil && m[2] == strconv.Itoa(cores):
			if !slices.Contains(columns, m[1]) {
				columns = append(columns, m[1])
			}
			put(m[1], r)
		}
	}
	lines := slices.DeleteFunc(lines(), func(l line) bool { return at[l.lib] == nil })
	if len(lines) == 0 {
		return nil
	}
	least, most := math.Inf(1), 0.0
	for _, l := range lines {
		for _, ns := range at[l.lib] {
			least, most = min(least, ns), max(most, ns)
		}
	}
	const (
		width, height            = 380.0, 474.0
		left, right, top, bottom = 45.0, 210.0, 96.0, 430.0
	)
	how := "1 goroutine on 1 core"
	if cores > 1 {
		how = fmt.Sprintf("%d goroutines on %[1]d cores: time over all their decisions", cores)
	}
	d := newDrawing(width, height, "Time of a decision by number of keys, "+how)
	d.text("h", "start", 12, 22, "Time of a decision by number of keys")
	d.text("s", "start", 12, 40, "string keys, evenly asked, all granted;")
	d.text("s", "start", 12, 56, how)
	ticks := logTicks(least, most)
	low, high := math.Log(ticks[0]), math.Log(ticks[len(ticks)-1])
	y := func(ns float64) float64 { return bottom - (math.Log(ns)-low)/(high-low)*(bottom-top) }
	x := func(column int) float64 {
		return left + 14 + float64(column)/float64(max(len(columns)-1, 1))*(right-left-28)
	}
	for _, ns := range ticks {
		d.line("grid", left, y(ns), right, y(ns))
		d.text("s", "end", left-5, y(ns)+4, short(ns))
	}
	d.text("s", "start", 12, top-14, "ns, log scale")
	for i, column := range columns {
		d.line("axis", x(i), bottom, x(i), bottom+4)
		d.text("", "middle", x(i), bottom+17, column)
	}
	d.line("axis", left, bottom, right, bottom)
	d.text("s", "middle", (left+right)/2, bottom+33, "keys")

	var labels []label
	for _, l := range lines {
		class := ""
		if l.ours {
			class = " ours"
		}
		var points [][2]float64
		ns := 0.0
		for i, column := range columns {
			if v, ok := at[l.lib][column]; ok {
				ns = v
				points = append(points, [2]float64{x(i), y(v)})
			}
		}
		stroke := fmt.Sprintf("line c%d%s", l.class, class)
		if l.dashed {
			stroke += " dash"
		}
		d.path(stroke, points)
		for _, p := range points {
			d.dot(fmt.Sprintf("d%d", l.class), p[0], p[1], 2+float64(len(class))/5)
		}
		end := points[len(points)-1]
		labels = append(labels, label{fmt.Sprintf("d%d%s", l.class, class), l.label + "  " + whole(ns), end[0], end[1], end[1]})
	}
	placeLabels(labels, 15, top, bottom)
	for _, l := range labels {
		d.path("lead", [][2]float64{{l.x + 5, l.from}, {right + 2, l.from}, {right + 10, l.y}, {right + 13, l.y}})
		d.text(l.class, "start", right+16, l.y+4, l.text)
	}
	return d
}

// logTicks are 1, 2 and 5 times powers of ten, from below the least to above
// the most: two at the least.
func logTicks(least, most float64) (ticks []float64) {
	for e := math.Floor(math.Log10(least)); ; e++ {
		for _, m := range []float64{1, 2, 5} {
			t := m * math.Pow(10, e)
			if t <= least {
				ticks = ticks[:0]
			}
			ticks = append(ticks, t)
			if t >= most && len(ticks) > 1 {
				return ticks
			}
		}
	}
}

// whole writes no more digits than a reader of a plot wants.
func whole(x float64) string {
	switch {
	case x < 10:
		return fmt.Sprintf("%.1f", x)
	case x < 1000:
		return fmt.Sprintf("%.0f", x)
	}
	return strconv.Itoa(int(math.Round(x/10)) * 10)
}

// A label stands beside the end of its line, or as near as others let it.
type label struct {
	class, text string
	x, from, y  float64
}

// placeLabels moves labels apart until each has that much room: those that meet
// become a block around the middle of where they want to be.
func placeLabels(labels []label, room, top, bottom float64) {
	slices.SortStableFunc(labels, func(a, b label) int { return cmp.Compare(a.from, b.from) })
	type block struct {
		n          int
		sum, start float64 // of what its labels want, each less its place in it
	}
	var blocks []block
	for _, l := range labels {
		b := block{1, l.from, l.from}
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.start+float64(last.n)*room <= b.start {
				break
			}
			b.sum += last.sum - float64(b.n)*float64(last.n)*room
			b.n += last.n
			b.start = b.sum / float64(b.n)
			b.start = min(max(b.start, top), bottom-float64(b.n-1)*room)
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	i := 0
	for _, b := range blocks {
		for k := range b.n {
			labels[i].y = b.start + float64(k)*room
			i++
		}
	}
}
