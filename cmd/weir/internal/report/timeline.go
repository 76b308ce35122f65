package report

import (
	"html/template"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/replay"
)

// A size is a kind of window that drawings are made for.
type size struct {
	name  string
	wide  bool
	width float64
	curve float64 // height of the plot of bursts
}

func (s size) height(bottom float64) float64 { return bottom + 34 }

func sizes() []size {
	return []size{{"narrow", false, 340, 300}, {"wide", true, 760, 360}}
}

// drawTimeline plots the requests over time, and below them what each limit refused, each on a scale of its own: a few refusals
// among many requests shall be seen.
func drawTimeline(t *replay.Timeline, names []string, s size) template.HTML {
	const (
		high, low, none = 110.0, 56.0, 14.0 // of a panel: of requests, of refusals, of no refusal
		head, gap       = 20.0, 16.0
		left            = 4.0
	)
	right := s.width - 4
	length := t.Width * time.Duration(len(t.Requests))
	d := &drawing{id: "time-" + s.name, class: s.name, width: s.width,
		title: "Requests and refusals over time",
		about: "From " + moment(t.Start) + " UTC, " + t.Width.String() + " for each column. One row for the requests, and one for what each limit refused, each on its own scale."}
	ticks := timeTicks(t.Start, length, left, right)
	y := 0.0
	panel := func(name, class string, n []int64, tall float64) {
		most := highest(n)
		what := "at most " + num(most)
		if most == 0 {
			tall, what = none, "nothing"
		}
		d.text("h", "start", left, y+13, name)
		d.text("s", "end", right, y+13, what)
		bottom := y + head + tall
		for _, k := range ticks {
			if k.at >= left && k.at <= right {
				d.line("grid", k.at, y+head, k.at, bottom)
			}
		}
		d.columns(class, bottom, columnsOf(n, most, left, right, y+head, bottom))
		d.line("axis", left, bottom, right, bottom)
		y = bottom + gap
	}
	panel("requests", "req", t.Requests, high)
	for i, n := range t.Refused {
		panel("refused by "+clip(names[i], int(right-left)/7-21), "ref", n, low)
	}
	bottom := y - gap
	for _, k := range ticks {
		d.line("axis", k.at, bottom, k.at, bottom+5)
	}
	for _, k := range inside(ticks, left, right) {
		d.text("s", "middle", k.at, bottom+19, k.text)
	}
	d.height = bottom + 26
	return d.HTML()
}

func highest(n []int64) (most int64) {
	for _, v := range n {
		most = max(most, v)
	}
	return most
}

// columnsOf are the columns of numbers that are not 0, each high and wide enough to be seen.
func columnsOf(n []int64, most int64, left, right, top, bottom float64) (all []column) {
	step := (right - left) / float64(len(n))
	for i, v := range n {
		if v > 0 {
			c := column{left + float64(i)*step, left + float64(i+1)*step, bottom - max(float64(v)/float64(most)*(bottom-top), 1.5)}
			c.right = min(max(c.right, c.left+1.6), right)
			if k := len(all) - 1; k >= 0 && all[k].right > c.left {
				all[k].right = c.left
			}
			all = append(all, c)
		}
	}
	return all
}

// clip cuts what is too long for its place in a drawing; the page has it in full elsewhere.
func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
