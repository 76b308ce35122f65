package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"html/template"
	"maps"
	"os"
	"slices"
)

// pageText is self-contained: its style is inside, it has no script, and it
// fetches nothing.
//
//go:embed page.html
var pageText string

// A page is what the template shows.
type page struct {
	run
	Modules  []string // with their versions
	Met      int
	Plots    []template.HTML
	Sections []pageSection
}

type pageSection struct {
	Name, Unit, About string
	Columns           []string
	Notes             []string
	Groups            []pageGroup
}

// A pageGroup is one table: the libraries in one case.
type pageGroup struct {
	Name string
	Rows []pageRow
}

type pageRow struct {
	result
	Title string
	Ours  bool
	Bar   float64 // percent of the longest in the group
}

// Keywords of the template.
func (r pageRow) Mid() string   { return short(r.Median) }
func (r pageRow) Least() string { return short(r.least()) }
func (r pageRow) Most() string  { return short(r.most()) }
func (r pageRow) Times() string {
	if r.Ratio == 0 {
		return ""
	}
	return short(r.Ratio)
}

func (r pageRow) Others() (all []string) {
	for _, x := range r.More {
		all = append(all, short(x))
	}
	return all
}

func newPage(r run) page {
	p := page{run: r}
	for _, path := range slices.Sorted(maps.Keys(r.Libraries)) {
		p.Modules = append(p.Modules, path+" "+r.Libraries[path])
	}
	for _, v := range r.Goals {
		if v.Verdict == met {
			p.Met++
		}
	}
	for _, plot := range plots(r) {
		p.Plots = append(p.Plots, template.HTML(plot.String()))
	}
	for _, s := range sections() {
		ps := pageSection{Name: s.name, Unit: s.unit, About: s.about, Columns: s.more, Notes: r.Notes[s.name]}
		for _, res := range r.Results {
			if res.Section != s.name {
				continue
			}
			if n := len(ps.Groups); n == 0 || ps.Groups[n-1].Name != res.Group {
				ps.Groups = append(ps.Groups, pageGroup{Name: res.Group})
			}
			g := &ps.Groups[len(ps.Groups)-1]
			g.Rows = append(g.Rows, pageRow{result: res, Title: cmp.Or(titles()[res.Lib], res.Lib), Ours: isOurs(res.Lib)})
		}
		if ps.Groups == nil {
			continue
		}
		for _, g := range ps.Groups {
			most := 0.0
			for _, row := range g.Rows {
				most = max(most, row.Median)
			}
			for i := range g.Rows {
				if most > 0 {
					g.Rows[i].Bar = 100 * g.Rows[i].Median / most
				}
			}
		}
		p.Sections = append(p.Sections, ps)
	}
	return p
}

func writeReport(file string, r run) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, newPage(r)); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o666)
}
