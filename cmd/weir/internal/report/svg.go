package report

import (
	"encoding/xml"
	"fmt"
	"html/template"
	"strconv"
	"strings"
)

// A drawing is an inline SVG. Its colours and its type are the page's, by class.
type drawing struct {
	body          strings.Builder
	id            string // within the page
	class         string // of the whole: which windows it is for
	width, height float64
	title, about  string // for those who do not see it
}

func (d *drawing) HTML() template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="plot %[1]s" viewBox="0 0 %[2]s %[3]s" role="img" aria-labelledby="%[4]s-t %[4]s-d">
<title id="%[4]s-t">%[5]s</title><desc id="%[4]s-d">%[6]s</desc>
%[7]s</svg>
`, d.class, at(d.width), at(d.height), d.id, escape(d.title), escape(d.about), d.body.String()))
}

// at is a coordinate: a tenth of a pixel is enough.
func at(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	d.path(class, [][2]float64{{x1, y1}, {x2, y2}})
}

// path goes through the points.
func (d *drawing) path(class string, points [][2]float64) {
	fmt.Fprintf(&d.body, "<path class=%q d=\"", class)
	for i, p := range points {
		fmt.Fprintf(&d.body, "%c%s %s", "ML"[min(i, 1)], at(p[0]), at(p[1]))
	}
	d.body.WriteString("\"/>\n")
}

// columns fills rectangles that stand on a line.
func (d *drawing) columns(class string, bottom float64, all []column) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(&d.body, "<path class=%q d=\"", class)
	for i := 0; i < len(all); {
		fmt.Fprintf(&d.body, "M%s %s", at(all[i].left), at(bottom))
		for first := true; i < len(all) && (first || all[i].left <= all[i-1].right); i++ {
			fmt.Fprintf(&d.body, "V%sH%s", at(all[i].top), at(all[i].right))
			first = false
		}
		fmt.Fprintf(&d.body, "V%sZ", at(bottom))
	}
	d.body.WriteString("\"/>\n")
}

type column struct{ left, right, top float64 }

// dot is a point that says what it is when pointed at.
func (d *drawing) dot(class string, x, y, r float64, about string) {
	fmt.Fprintf(&d.body, "<circle class=%q cx=%q cy=%q r=%q><title>%s</title></circle>\n", class, at(x), at(y), at(r), escape(about))
}

// text is anchored at its start, middle or end.
func (d *drawing) text(class, anchor string, x, y float64, text string) {
	fmt.Fprintf(&d.body, "<text class=%q text-anchor=%q x=%q y=%q>%s</text>\n", class, anchor, at(x), at(y), escape(text))
}

func escape(text string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(text)) // to memory: it cannot fail
	return b.String()
}
