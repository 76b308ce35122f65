package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/weir-go/weir/cmd/weir/internal/advise"
	"github.com/weir-go/weir/gcra"
)

// A stroke is one line of the plot of bursts by rate.
type stroke struct {
	name  string
	class string
	burst func(*advise.Point) int64
}

// strokes are the quantiles over keys, then what spares most of the requests or keys. Lines that would hide each other become
// one: with a single key that is all quantiles.
func strokes(r *advise.Result) (all []stroke) {
	put := func(name, class string, burst func(*advise.Point) int64) {
		same := slices.IndexFunc(all, func(s stroke) bool {
			return !slices.ContainsFunc(r.Curve, func(p advise.Point) bool { return s.burst(&p) != burst(&p) })
		})
		if same >= 0 {
			all[same].class = class // the stronger one
			all[same].name = name
			return
		}
		all = append(all, stroke{name, class, burst})
	}
	put("50"+nbsp+"%", "q0", func(p *advise.Point) int64 { return p.P50 })
	put("90"+nbsp+"%", "q1", func(p *advise.Point) int64 { return p.P90 })
	put("99"+nbsp+"%", "q2", func(p *advise.Point) int64 { return p.P99 })
	all0 := "all keys"
	if r.Keys == 1 {
		all0 = "the key"
	}
	put(all0, "q3", func(p *advise.Point) int64 { return p.Max })
	few := func(name string, burst func(*advise.Point) int64) {
		if slices.ContainsFunc(r.Curve, func(p advise.Point) bool { return burst(&p) != p.Max }) {
			all = append(all, stroke{name, "dash", burst})
		}
	}
	if r.Refuse != "" {
		few("refuse "+strings.Replace(r.Refuse, "%", nbsp+"%", 1), func(p *advise.Point) int64 { return p.ForShare })
	}
	if r.ForKeys != "" {
		few("keys "+strings.Replace(r.ForKeys, "%", nbsp+"%", 1), func(p *advise.Point) int64 { return p.ForKeys })
	}
	return all
}

// perSecond is a rate as a number, for the plot.
func perSecond(l gcra.Limit) float64 {
	n, period := l.Rate()
	return float64(n) / period.Seconds()
}

// drawCurve plots the smallest burst over the rate, both in equal ratios, with the recommended limits as marks.
func drawCurve(r *advise.Result, s size) template.HTML {
	rate := func(p *advise.Point) float64 { return float64(p.N) / p.Period.Seconds() }
	low, high, least, most := rate(&r.Curve[0]), rate(&r.Curve[0]), 1.0, 1.0
	lines := strokes(r)
	for i := range r.Curve {
		p := &r.Curve[i]
		low, high = min(low, rate(p)), max(high, rate(p))
		most = max(most, float64(p.Max))
	}
	for i := range r.Advice {
		l := r.Advice[i].Limit
		low, high, most = min(low, perSecond(l)), max(high, perSecond(l)), max(most, float64(l.Capacity()))
	}
	least = most
	for i := range r.Curve {
		for _, line := range lines {
			if b := line.burst(&r.Curve[i]); b > 0 {
				least = min(least, float64(b))
			}
		}
	}
	names := 0
	for _, line := range lines {
		names = max(names, len([]rune(line.name)))
	}
	d := &drawing{id: "curve-" + s.name, class: s.name, width: s.width, height: s.curve,
		title: "The smallest burst that refuses nothing, by rate",
		about: "Both axes are logarithmic. One line for each part of the keys: " + strokeNames(lines) + ". The recommended limits are marked. The numbers are in the table below."}
	top, bottom, left := 28.0, s.curve-38, 46.0
	right := s.width - 30 - 6.6*float64(names)
	x := newLogScale(low, high, left+6, right, 0.02)
	y := newLogScale(least, most, bottom, top, 0.08)
	d.text("s", "start", 4, 14, "burst")
	for _, t := range numberTicks(y, above) {
		d.line("grid", left, t.at, right, t.at)
		d.text("s", "end", left-7, t.at+4, t.text)
	}
	d.line("axis", left, bottom, right, bottom)
	for _, t := range rateTicks(x) {
		d.line("axis", t.at, bottom, t.at, bottom+5)
		d.text("s", "middle", t.at, bottom+19, t.text)
	}
	d.text("s", "end", right, s.height(bottom), "rate")

	var labels []label
	var busy []box
	for _, line := range lines {
		var points [][2]float64
		for i := range r.Curve {
			if b := line.burst(&r.Curve[i]); b > 0 {
				points = append(points, [2]float64{x.at(rate(&r.Curve[i])), y.at(float64(b))})
			}
		}
		if points == nil {
			continue
		}
		d.path("line "+line.class, points)
		if len(points) == 1 { // no line
			d.dot("line "+line.class, points[0][0], points[0][1], 2.6, line.name)
		}
		if line.class == "q3" {
			for i := range r.Curve {
				if p := &r.Curve[i]; p.Max > 0 {
					d.dot("point", x.at(rate(p)), y.at(float64(p.Max)), 2.6, fmt.Sprintf("%s: burst %s", p.Rate, num(p.Max)))
				}
			}
		}
		for i := 1; i < len(points); i++ {
			busy = append(busy, along(points[i-1], points[i])...)
		}
		end := points[len(points)-1]
		first := 0 // of equal ones the strongest is the first, then what is dashed
		if line.class == "dash" {
			first = min(1, len(labels))
		}
		labels = slices.Insert(labels, first, label{"l-" + line.class, line.name, end[0], end[1], end[1]})
	}
	placeLabels(labels, 16, top, bottom-6)
	for _, l := range labels {
		d.path("lead", [][2]float64{{l.x + 4, l.from}, {right + 4, l.from}, {right + 11, l.y}, {right + 14, l.y}})
		d.text(l.class, "start", right+17, l.y+4, l.text)
	}
	var marks []mark
	for i := range r.Advice {
		a := &r.Advice[i]
		m := mark{x: x.at(perSecond(a.Limit)), y: y.at(float64(a.Limit.Capacity())), text: a.Name, about: a.Name + ": " + a.Limit.String()}
		if s.wide {
			m.text = a.Name + ": " + a.Limit.String()
		}
		marks = append(marks, m)
	}
	placeMarks(marks, busy, box{left + 4, top - 12, right, bottom - 4})
	for _, m := range marks {
		d.line("lead", m.x, m.y, m.end[0], m.end[1])
	}
	for _, m := range marks {
		d.dot("mark", m.x, m.y, 5.5, m.about)
		d.text("m", m.anchor, m.end[0]+m.shift, m.end[1]+4, m.text)
	}
	return d.HTML()
}

func strokeNames(lines []stroke) string {
	var names []string
	for _, l := range lines {
		names = append(names, l.name)
	}
	return strings.Join(names, ", ")
}
