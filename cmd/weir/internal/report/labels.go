package report

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"
)

// A label stands beside the end of its line, or as near as others let it.
type label struct {
	class, text string
	x, from, y  float64
}

// placeLabels moves labels apart until each has that much room. Those that meet become a group around the middle of where they
// want to be.
func placeLabels(labels []label, room, top, bottom float64) {
	slices.SortStableFunc(labels, func(a, b label) int { return cmp.Compare(a.from, b.from) })
	type group struct{ n, sum float64 } // sum of where its labels would have its first one
	place := func(g group) float64 {
		return min(max(g.sum/g.n, top), bottom-(g.n-1)*room)
	}
	var groups []group
	for _, l := range labels {
		groups = append(groups, group{n: 1, sum: l.from})
		for n := len(groups); n > 1; n = len(groups) {
			a, b := groups[n-2], groups[n-1]
			if place(a)+a.n*room <= place(b) {
				break
			}
			groups = append(groups[:n-2], group{n: a.n + b.n, sum: a.sum + b.sum - b.n*a.n*room})
		}
	}
	i := 0
	for _, g := range groups {
		for k := range int(g.n) {
			labels[i].y = place(g) + float64(k)*room
			i++
		}
	}
}

// A box is what something covers.
type box struct{ left, top, right, bottom float64 }

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

func (b box) within(o box) bool {
	return b.left >= o.left && b.right <= o.right && b.top >= o.top && b.bottom <= o.bottom
}

// along is a line in small boxes.
func along(a, b [2]float64) (all []box) {
	n := math.Ceil(math.Hypot(b[0]-a[0], b[1]-a[1]) / 4)
	for i := range int(n) + 1 {
		f := float64(i) / max(n, 1)
		x, y := a[0]+(b[0]-a[0])*f, a[1]+(b[1]-a[1])*f
		all = append(all, box{x - 1.5, y - 1.5, x + 1.5, y + 1.5})
	}
	return all
}

// A mark is a point with words at the end of a short line.
type mark struct {
	x, y        float64
	text, about string

	end    [2]float64
	anchor string
	shift  float64
}

// placeMarks finds room for the words of each mark: clear of the other marks and their words and of the lines, nearer to its
// own mark than to another, led to across few lines, and else as near as it goes.
func placeMarks(marks []mark, lines []box, inside box) {
	around := func(m *mark) box { return box{m.x - 7, m.y - 7, m.x + 7, m.y + 7} }
	var taken []box
	for i := range marks {
		taken = append(taken, around(&marks[i]))
	}
	hits := func(b box, all []box) (n float64) {
		for _, o := range all {
			if b.meets(o) {
				n++
			}
		}
		return n
	}
	for i := range marks {
		m := &marks[i]
		least, best := math.Inf(1), *m
		for _, far := range []float64{20, 34, 50, 70, 95, 125, 160} {
			for _, angle := range []float64{-50, -35, -65, -20, -80, 0, -130, -155, -105, 180, 40, 65, 140, 115} {
				sin, cos := math.Sincos(angle * math.Pi / 180)
				t := *m
				t.end, t.anchor, t.shift = [2]float64{m.x + far*cos, m.y + far*sin}, "start", 3
				if cos < 0 {
					t.anchor, t.shift = "end", -3
				}
				words := t.words()
				cost := far/10 + 200*hits(words, taken) + 20*hits(words, lines)
				if !words.within(inside) {
					cost += 1000
				}
				leader := along([2]float64{m.x, m.y}, t.end)
				for _, b := range leader[min(3, len(leader)):] { // it may begin on its own line
					cost += 2*min(hits(b, lines), 1) + 30*min(hits(b, taken[len(marks):]), 1)
				}
				for k := range marks {
					o := &marks[k]
					if k == i || around(o).meets(around(m)) {
						continue
					}
					if math.Hypot(o.x-t.end[0], o.y-t.end[1]) < far {
						cost += 6
					}
					if slices.ContainsFunc(leader, around(o).meets) {
						cost += 60
					}
				}
				if cost < least {
					least, best = cost, t
				}
			}
		}
		*m = best
		taken = append(append(taken, m.words()), along([2]float64{m.x, m.y}, m.end)...)
	}
}

// words is what the words of a placed mark cover, at the most.
func (m *mark) words() box {
	width := 7*float64(utf8.RuneCountInString(m.text)) + 4
	if m.anchor == "end" {
		return box{m.end[0] - width, m.end[1] - 9, m.end[0] - 2, m.end[1] + 9}
	}
	return box{m.end[0] + 2, m.end[1] - 9, m.end[0] + width, m.end[1] + 9}
}
