//go:build unix

package report

import (
	"bytes"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"
)

// looked is what a script finds wrong in the layout of a page, and where things are.
type looked struct {
	Scroll, Width int      // of the document
	Wrong         []string // in words
	Plots         []struct {
		ID                  string
		X, Y, Width, Height float64
	}
	Paper string
}

// lookScript finds, with all details open: what is wider than the window, text outside of its drawing or cut off, labels that overlap.
const lookScript = `(() => {
	const wrong = [];
	const root = document.documentElement;
	const closed = [...document.querySelectorAll('details:not([open])')];
	closed.forEach(d => { d.open = true; });
	for (const e of document.querySelectorAll('body *')) {
		const style = getComputedStyle(e);
		const r = e.getBoundingClientRect();
		if (r.width === 0 || e.closest('.scroll') || e.closest('caption') || e.closest('svg')) continue;
		if (r.right > root.clientWidth + 0.5 || r.left < -0.5) wrong.push(e.tagName + '.' + e.className + ' beyond the window');
		if (style.overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1) wrong.push(e.tagName + '.' + e.className + ' cut off');
	}
	for (const e of document.querySelectorAll('.scroll')) {
		if (getComputedStyle(e).overflowX !== 'auto' && e.scrollWidth > e.clientWidth + 1) wrong.push('table cut off');
		const r = e.getBoundingClientRect();
		if (r.right > root.clientWidth + 0.5) wrong.push('table beyond the window');
	}
	for (const svg of document.querySelectorAll('svg.plot')) {
		const s = svg.getBoundingClientRect();
		if (s.width === 0) continue;
		const texts = [...svg.querySelectorAll('text')].map(t => [t, t.getBoundingClientRect()]);
		texts.forEach(([t, r], i) => {
			if (r.left < s.left - 0.5 || r.right > s.right + 0.5 || r.top < s.top - 2 || r.bottom > s.bottom + 2) wrong.push(t.textContent + ' outside of its drawing');
			if (parseFloat(getComputedStyle(t).fontSize) * s.width / svg.viewBox.baseVal.width < 9) wrong.push(t.textContent + ' too small');
			for (const [u, q] of texts.slice(i + 1)) {
				if (r.left < q.right + 3 && q.left < r.right + 3 && r.top < q.bottom - 4 && q.top < r.bottom - 4) wrong.push(t.textContent + ' over ' + u.textContent);
			}
		});
	}
	const found = {Scroll: root.scrollWidth, Width: root.clientWidth, Wrong: wrong, Plots: [], Paper: getComputedStyle(document.body).backgroundColor};
	closed.forEach(d => { d.open = false; });
	for (const svg of document.querySelectorAll('svg.plot')) {
		const s = svg.getBoundingClientRect();
		if (s.width > 0) found.Plots.push({ID: svg.querySelector('title').id.replace(/-t$/, ''), X: s.x + scrollX, Y: s.y + scrollY, Width: s.width, Height: s.height});
	}
	return found;
})()`

func (b *browser) look() (l looked) {
	b.t.Helper()
	b.eval(lookScript, &l)
	return l
}

// drawn counts the pixels of a plot that are clearly not of the paper.
func drawn(img image.Image, x, y, width, height float64) (n int) {
	paper := img.At(int(x)+1, int(y)+1)
	for j := int(y); j < int(y+height); j++ {
		for i := int(x); i < int(x+width); i++ {
			if contrast(img.At(i, j), paper) > 2 {
				n++
			}
		}
	}
	return n
}

// TestBrowser starts one browser for all that is looked at.
func TestBrowser(t *testing.T) {
	b := newBrowser(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, *browser)
	}{{"look", testLook}, {"refuses", testLookRefuses}, {"print", testPrint}} {
		t.Run(part.name, func(t *testing.T) {
			b.t = t
			part.test(t, b)
		})
	}
	b.t = t
}

// Every page is looked at as on a phone and as in a wide window, by light and dark.
func testLook(t *testing.T, b *browser) {
	for _, p := range pages(t) {
		for i, v := range views() {
			if p.brief && i != 1 && i != 6 {
				continue
			}
			b.open(p.html, v)
			l := b.look()
			if l.Scroll > l.Width || l.Width != v.width {
				t.Errorf("%s %v: the page is %d wide in a window of %d", p.name, v, l.Scroll, l.Width)
			}
			for _, w := range l.Wrong {
				t.Errorf("%s %v: %s", p.name, v, w)
			}
			if dark := l.Paper != "rgb(255, 255, 255)"; dark != (v.scheme == "dark") {
				t.Errorf("%s %v: the paper is %s", p.name, v, l.Paper)
			}
			for _, f := range b.fetched() {
				t.Errorf("%s %v: %s", p.name, v, f)
			}
			if v.width != 360 && v.width != 1200 {
				continue // no picture
			}
			img, err := png.Decode(bytes.NewReader(b.shot(p.name + "-" + v.String())))
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, s := range l.Plots {
				ids = append(ids, s.ID[:strings.IndexByte(s.ID, '-')])
				// More than the words make: they are a few hundred, a plot's lines and columns thousands.
				if n, want := drawn(img, s.X, s.Y, s.Width, s.Height), int(s.Width*3); n < want {
					t.Errorf("%s %v: %d pixels are drawn in %s, want %d", p.name, v, n, s.ID, want)
				}
			}
			if !slices.Equal(ids, p.plots) {
				t.Errorf("%s %v: shows the plots %q, want %q", p.name, v, ids, p.plots)
			}
		}
	}
}

// The look finds what is wrong: each row breaks a good page.
func testLookRefuses(t *testing.T, b *browser) {
	good := string(inputNamed(t, "busy").page(t))
	for _, row := range []struct {
		old, new string
		wrong    string
	}{
		{"<main>", `<main><div class="facts">` + strings.Repeat("\u00a0W", 200) + `</div><table><tr><td>` + strings.Repeat("W", 300) + `</td></tr></table>`, "beyond the window"},
		{`<p class="eyebrow">`, `<p class="tables scroll">` + strings.Repeat("x", 5) + `</p><img src="http://127.0.0.1:9/x.png"/><p>`, "127.0.0.1"},
		{`<p class="eyebrow">`, `<p>x</p><script>document.body.remove()</script><p>`, "script"},
		{`<text class="s" text-anchor="start" x="4"`, `<text class="s" text-anchor="end" x="4"`, "outside of its drawing"},
		{`<text class="s" text-anchor="start" x="4"`, `<text class="s" x="4" y="20">Overlapping</text><text class="s" text-anchor="start" x="4"`, " over "},
		{`text-anchor="start" x="4"`, `font-size="1" text-anchor="start" x="-400"`, "outside of its drawing"},
	} {
		broken := strings.ReplaceAll(good, row.old, row.new)
		if broken == good {
			t.Errorf("%q is not in the page", row.old)
		}
		b.open([]byte(broken), views()[0])
		found := append(b.look().Wrong, b.fetched()...)
		if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, row.wrong) }) {
			t.Errorf("%.60q: found %q, want something %s", row.new, found, row.wrong)
		}
	}
}

// On paper it is light, whatever the screen is, and all of it is there.
func testPrint(t *testing.T, b *browser) {
	for _, p := range pages(t) {
		b.open(p.html, view{718, "dark", "print"})
		l := b.look()
		if l.Paper != "rgb(255, 255, 255)" {
			t.Errorf("%s: the paper is %s", p.name, l.Paper)
		}
		for _, w := range l.Wrong {
			t.Errorf("%s: %s", p.name, w)
		}
		b.shot(p.name + "-print")
		var tables [2]int
		b.eval(`(() => {const all = [...document.querySelectorAll('table')]; return [all.length, all.filter(e => e.getBoundingClientRect().height > 20 && e.checkVisibility({contentVisibilityAuto: true})).length]})()`, &tables)
		if tables[0] == 0 || tables[0] != tables[1] {
			t.Errorf("%s: %d of %d tables are printed", p.name, tables[1], tables[0])
		}
		for _, s := range l.Plots {
			if !strings.HasSuffix(s.ID, "-wide") {
				t.Errorf("%s: prints %s", p.name, s.ID)
			}
		}
	}
}
