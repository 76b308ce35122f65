package main

import (
	"encoding/xml"
	"fmt"
	"math/bits"
	"strings"
)

// The plot brings its own background and colours, for light and for dark.
const style = `
.lz text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif;fill:#1f2328}
.lz .h{font-size:14.5px;font-weight:600}.lz .s{fill:#59636e}.lz .paper{fill:#fff}
.lz .grid{stroke:#d1d9e0;fill:none}.lz .axis{stroke:#818b98;fill:none}
.lz .l0,.lz .l1{fill:none;stroke-width:2.4;stroke-linejoin:round}
.lz .l0{stroke:#0860ca}.lz .f0{fill:#0860ca}.lz .l1{stroke:#bc4c00;stroke-dasharray:6 3}.lz .f1{fill:#bc4c00}
@media (prefers-color-scheme:dark){
.lz text{fill:#f0f6fc}.lz .s{fill:#9198a1}.lz .paper{fill:#0d1117}
.lz .grid{stroke:#2f353d}.lz .axis{stroke:#6e7681}
.lz .l0{stroke:#4493f8}.lz .f0{fill:#4493f8}.lz .l1{stroke:#f0883e}.lz .f1{fill:#f0883e}
}`

// A panel is one of the four plots: a share, in per cent, by the size of a block.
type panel struct {
	title, below string
	of           func(result) float64
}

func panels(c config) []panel {
	return []panel{
		{"Overshoot", "% of the burst, in the worst window of all keys", func(r result) float64 { return percent(r.overshoot, c.limit.Capacity()) }},
		{"Stranded", "% of leased tokens that expired unspent", func(r result) float64 { return percent(r.expired, r.leased) }},
		{"Lost", "% of what one bucket for all would grant", func(r result) float64 { return max(0, percent(r.exact-r.granted, r.exact)) }},
		{"Questions", "% of requests that ask the store", func(r result) float64 { return percent(r.asked, r.asks) }},
	}
}

const (
	width, height         = 760.0, 620.0
	panelWidth, panelHigh = 290.0, 180.0
)

func draw(c config, curves [2][]result) string {
	var b strings.Builder
	title := "What leases cost, by the size of a block"
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="lz" viewBox="0 0 %[1]g %[2]g" width="%[1]g" height="%[2]g" role="img" aria-label="%[3]s">
<style>%[4]s
</style>
<rect class="paper" width="%[1]g" height="%[2]g" rx="6"/>
`, width, height, title, style)
	text(&b, "h", "start", 20, 28, title)
	text(&b, "s", "start", 20, 47, fmt.Sprintf("%d gateways, %d keys by Zipf's law (%g), %d requests/s in waves; each key %v, leases live %v",
		c.gateways, c.keys, c.skew, c.rate, c.limit, c.life))
	for i, name := range []string{"adaptive: up to the size", "fixed: always of the size"} {
		x := 20 + 200*float64(i)
		fmt.Fprintf(&b, "<path class=\"l%d\" d=\"M%.0f 66h26\"/>\n", i, x)
		text(&b, "", "start", x+33, 70, name)
	}
	for i, p := range panels(c) {
		p.draw(&b, 58+float64(i%2)*(panelWidth+75), 128+float64(i/2)*(panelHigh+80), curves)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// draw puts the panel's upper left corner there.
func (p panel) draw(b *strings.Builder, left, top float64, curves [2][]result) {
	most := 0.0
	for _, curve := range curves {
		for _, r := range curve {
			most = max(most, p.of(r))
		}
	}
	scale := 1.0 // the end of the axis
	for _, s := range []float64{2, 5, 10, 20, 50, 100, 200, 500, 1000} {
		if most > scale {
			scale = s
		}
	}
	last := curves[0][len(curves[0])-1].block
	x := func(block int) float64 {
		return left + panelWidth*float64(bits.Len(uint(block))-1)/float64(max(bits.Len(uint(last))-1, 1))
	}
	y := func(v float64) float64 { return top + panelHigh*(1-min(v/scale, 1)) }
	text(b, "h", "start", left, top-30, p.title)
	text(b, "s", "start", left, top-13, p.below)
	for i := range 5 {
		v := scale * float64(i) / 4
		fmt.Fprintf(b, "<path class=\"grid\" d=\"M%.1f %.1fh%.1f\"/>\n", left, y(v), panelWidth)
		text(b, "s", "end", left-6, y(v)+4, fmt.Sprintf("%g", v))
	}
	fmt.Fprintf(b, "<path class=\"axis\" d=\"M%.1f %.1fh%.1f\"/>\n", left, top+panelHigh, panelWidth)
	for _, r := range curves[0] {
		text(b, "s", "middle", x(r.block), top+panelHigh+17, fmt.Sprint(r.block))
	}
	text(b, "s", "middle", left+panelWidth/2, top+panelHigh+34, "tokens in a block")
	for k := len(curves) - 1; k >= 0; k-- {
		var path strings.Builder
		for i, r := range curves[k] {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], x(r.block), y(p.of(r)))
			fmt.Fprintf(b, "<circle class=\"f%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", k, x(r.block), y(p.of(r)))
		}
		fmt.Fprintf(b, "<path class=\"l%d\" d=\"%s\"/>\n", k, &path)
	}
}

func text(b *strings.Builder, class, anchor string, x, y float64, s string) {
	fmt.Fprintf(b, "<text class=%q text-anchor=%q x=\"%.1f\" y=\"%.1f\">", class, anchor, x, y)
	xml.EscapeText(b, []byte(s))
	b.WriteString("</text>\n")
}
