package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A panel is a bar for each library.
type panel struct {
	title, unit string
	bars        []bar
}

type bar struct {
	label string
	class string
	value float64
}

// drawHeap shows what many keys cost beside time: memory, collections, pauses.
// Each panel has a scale of its own that begins at zero.
func drawHeap(results []result) *drawing {
	var panels []panel
	for _, p := range []struct {
		section, prefix, suffix, title, unit string
	}{
		{"memory", "type=string", " most", "Most memory per key", "bytes"},
		{"gc", "keys=", "", "Full garbage collection", "ms"},
		{"growth", "keys=", "", "Longest insert", "ms"},
	} {
		var (
			panel = panel{title: p.title, unit: p.unit}
			group string
		)
		for _, r := range results {
			if r.Section != p.section || !strings.HasPrefix(r.Group, p.prefix) || !strings.HasSuffix(r.Group, p.suffix) {
				continue
			}
			if b, ok := barOf(r); ok {
				group = r.Group
				panel.bars = append(panel.bars, b)
			}
		}
		if len(panel.bars) == 0 {
			continue
		}
		panel.title += ", " + keysIn(group)
		slices.SortStableFunc(panel.bars, func(a, b bar) int { return cmp.Compare(a.value, b.value) })
		panels = append(panels, panel)
	}
	if panels == nil {
		return nil
	}
	const (
		width, left, right = 380.0, 142.0, 328.0
		row, head, gap     = 18.0, 30.0, 12.0
	)
	height := 12.0
	for _, p := range panels {
		height += head + row*float64(len(p.bars)) + gap
	}
	d := newDrawing(width, height, "Memory per key, time of a full garbage collection and longest insert, by library")
	y := 12.0
	for _, p := range panels {
		d.text("h", "start", 12, y+12, p.title)
		d.text("s", "end", width-12, y+12, p.unit)
		y += head
		most := 1e-9 // so that nothing is divided by nothing
		for _, b := range p.bars {
			most = max(most, b.value)
		}
		for _, b := range p.bars {
			length := b.value / most * (right - left)
			d.text(b.class, "end", left-6, y+10, b.label)
			d.rect("bar "+b.class, left, y, max(length, 0.5), row-6)
			d.text(b.class, "start", left+length+5, y+10, valueOf(b.value))
			y += row
		}
		d.line("axis", left, y-row*float64(len(p.bars))-3, left, y-3)
		y += gap
	}
	return d
}

func barOf(r result) (bar, bool) {
	b := bar{label: titles()[r.Lib], value: r.Median}
	switch {
	case r.Lib == "cas":
		return b, false
	case r.Lib == "none":
		b.class = "floor"
		b.label = "an empty heap"
		if r.Section == "growth" {
			b.label = "the machine alone"
		}
	case r.Lib == "xtime":
		b.label = "x/time, sync.Map"
	case r.Lib == "xtime-mutex":
		b.label = "x/time, mutex"
	case r.Lib == "weir-1shard":
		b.label, b.class = "weir, 1 shard", "ours"
	case isOurs(r.Lib):
		b.class = "ours"
	}
	return b, true
}

// keysIn reads the number of keys in a group's name.
func keysIn(group string) string {
	_, keys, _ := strings.Cut(group, "keys=")
	keys, _, _ = strings.Cut(keys, " ")
	return strings.ReplaceAll(keys, "..", " to ") + " keys"
}

func valueOf(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.2g", x)
	}
	return fmt.Sprintf("%.0f", math.Round(x))
}
