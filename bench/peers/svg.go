package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A drawing is an SVG that brings its own background and its own colours, for
// light and for dark, so that it can stand in a page or be an image.
type drawing struct {
	body          strings.Builder
	width, height float64
	title         string
}

// style is for all drawings. The names of classes are short and of no use to
// what is around them.
const style = `
.wp text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif;fill:#1f2328}
.wp .h{font-size:14.5px;font-weight:600}
.wp .s{fill:#59636e}
.wp .paper{fill:#fff}
.wp .grid{stroke:#d1d9e0;stroke-width:1;fill:none}
.wp .axis{stroke:#818b98;stroke-width:1;fill:none}
.wp .lead{stroke:#818b98;stroke-width:.6;fill:none}
.wp .line{fill:none;stroke-width:1.4;stroke-linejoin:round}
.wp .ours.line{stroke-width:3}
.wp .dash{stroke-dasharray:6 3}
.wp .ours text,.wp text.ours{font-weight:600}
.wp .bar{fill:#9aa4af}.wp .bar.ours{fill:#0860ca}.wp .bar.floor{fill:#d1d9e0}
.wp .c0{stroke:#0860ca}.wp .d0{fill:#0860ca}.wp .c1{stroke:#1a7f37}.wp .d1{fill:#1a7f37}
.wp .c2{stroke:#59636e}.wp .d2{fill:#59636e}.wp .c3{stroke:#bc4c00}.wp .d3{fill:#bc4c00}
.wp .c4{stroke:#8250df}.wp .d4{fill:#8250df}.wp .c5{stroke:#953800}.wp .d5{fill:#953800}
.wp .c6{stroke:#bf3989}.wp .d6{fill:#bf3989}.wp .c7{stroke:#9a6700}.wp .d7{fill:#9a6700}
.wp .c8{stroke:#cf222e}.wp .d8{fill:#cf222e}.wp .c9{stroke:#0a7b83}.wp .d9{fill:#0a7b83}
@media (prefers-color-scheme:dark){
.wp text{fill:#f0f6fc}
.wp .s{fill:#9198a1}
.wp .paper{fill:#0d1117}
.wp .grid{stroke:#2f353d}.wp .axis{stroke:#6e7681}.wp .lead{stroke:#6e7681}
.wp .bar{fill:#656c76}.wp .bar.ours{fill:#4493f8}.wp .bar.floor{fill:#3d444d}
.wp .c0{stroke:#4493f8}.wp .d0{fill:#4493f8}.wp .c1{stroke:#3fb950}.wp .d1{fill:#3fb950}
.wp .c2{stroke:#9198a1}.wp .d2{fill:#9198a1}.wp .c3{stroke:#f0883e}.wp .d3{fill:#f0883e}
.wp .c4{stroke:#bc8cff}.wp .d4{fill:#bc8cff}.wp .c5{stroke:#d9a07a}.wp .d5{fill:#d9a07a}
.wp .c6{stroke:#f778ba}.wp .d6{fill:#f778ba}.wp .c7{stroke:#d29922}.wp .d7{fill:#d29922}
.wp .c8{stroke:#ff7b72}.wp .d8{fill:#ff7b72}.wp .c9{stroke:#4ac1c9}.wp .d9{fill:#4ac1c9}
}`

func newDrawing(width, height float64, title string) *drawing {
	return &drawing{width: width, height: height, title: title}
}

func (d *drawing) String() string {
	const zoom = 1.6 // where nothing else says how large
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="wp" viewBox="0 0 %[1]g %[2]g" width="%[3]g" height="%[4]g" role="img" aria-label="%[5]s">
<style>%[6]s
</style>
<rect class="paper" width="%[1]g" height="%[2]g" rx="6"/>
%[7]s</svg>
`, d.width, d.height, zoom*d.width, zoom*d.height, escape(d.title), style, d.body.String())
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&d.body, "<path class=%q d=\"M%.1f %.1fL%.1f %.1f\"/>\n", class, x1, y1, x2, y2)
}

// path goes through the points.
func (d *drawing) path(class string, points [][2]float64) {
	fmt.Fprintf(&d.body, "<path class=%q d=\"", class)
	for i, p := range points {
		fmt.Fprintf(&d.body, "%c%.1f %.1f", "ML"[min(i, 1)], p[0], p[1])
	}
	d.body.WriteString("\"/>\n")
}

func (d *drawing) dot(class string, x, y, r float64) {
	fmt.Fprintf(&d.body, "<circle class=%q cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", class, x, y, r)
}

func (d *drawing) rect(class string, x, y, width, height float64) {
	fmt.Fprintf(&d.body, "<rect class=%q x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", class, x, y, width, height)
}

// text is anchored at its start, middle or end.
func (d *drawing) text(class, anchor string, x, y float64, text string) {
	fmt.Fprintf(&d.body, "<text class=%q text-anchor=%q x=\"%.1f\" y=\"%.1f\">%s</text>\n", class, anchor, x, y, escape(text))
}

func escape(text string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(text))
	return b.String()
}

// A plot is a drawing and what its file is called. Those without a name are for
// the page only.
type plot struct {
	name string
	*drawing
}

// plots are those that the results suffice for.
func plots(r run) (all []plot) {
	put := func(name string, d *drawing) {
		if d != nil {
			all = append(all, plot{name, d})
		}
	}
	cores := coresOf(r.Results)
	if len(cores) > 0 {
		put("keys", drawKeys(r.Results, cores[0]))
	}
	put("heap", drawHeap(r.Results))
	for _, n := range cores[min(1, len(cores)):] {
		put("", drawKeys(r.Results, n))
	}
	return all
}

func writePlots(folder string, r run) error {
	for _, p := range plots(r) {
		if p.name == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, p.name+".svg"), []byte(p.String()), 0o666); err != nil {
			return err
		}
	}
	return nil
}
