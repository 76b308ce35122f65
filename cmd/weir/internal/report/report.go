package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"path/filepath"
	"strings"

	"github.com/weir-go/weir/cmd/weir/internal/advise"
	"github.com/weir-go/weir/cmd/weir/internal/logs"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
)

// Options say what a page may tell.
type Options struct {
	Hide bool // number the files instead of naming them
}

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageStyle string
)

// A page is what the template shows.
type page struct {
	Title, Command, Heading string
	Lead                    []string
	Facts                   []pair
	About                   string // of the limits
	Cards                   []card
	Curve                   []template.HTML
	Table                   *table // the numbers of the curve
	Delays                  *table
	When                    []template.HTML
	WhenAbout               string
	Top                     []*table
	Files                   *table
	Notes                   []note
	None                    string // why there is no limit
}

// A pair is a line of a list. What More says is smaller, and each of its pieces stays in one line if it can.
type pair struct {
	Name, Text string
	More       []string
}

// Breaks is the text cut where a line may end first of all: before the next call.
func (p pair) Breaks() []string { return strings.SplitAfter(p.Text, ")") }

// A table has its first column to the left, and numbers in the others.
type table struct {
	Title string
	About string
	Head  []string
	Rows  []row
	Keys  bool // the first column holds keys
}

type row struct {
	Cells []string
	Bar   string // a part of 100, for a bar under the row; "" for none
}

func (t *table) row(cells ...string) { t.Rows = append(t.Rows, row{Cells: cells}) }

// Replay is the page of a replay. It fails for no result of package replay.
func Replay(r *replay.Result, o Options) ([]byte, error) {
	in := hidden(r.Input, o)
	p := newPage("weir replay", "What limits would have refused", in)
	p.Lead = lead(in)
	p.About = "Each limit decided all requests, in their own time."
	all := r.Limits
	if r.Joint {
		p.About = "The limits decided together: a request passed if all had room, and was refused by the one that had to be waited for longest."
		all = append(all[:len(all):len(all)], *r.Together)
		c := newCard(r.Together, r.Requests)
		c.Together = true
		p.Cards = append(p.Cards, c)
	}
	var names []string
	for i := range all {
		names = append(names, title(&all[i]))
	}
	for i := range r.Limits {
		p.Cards = append(p.Cards, newCard(&r.Limits[i], r.Requests))
		p.topKeys(&r.Limits[i])
	}
	p.when(r.Timeline, names)
	return p.render()
}

// Advice is the page of an advice. It fails for no result of package advise.
func Advice(r *advise.Result, o Options) ([]byte, error) {
	in := hidden(r.Input, o)
	p := newPage("weir advise", "Which limit fits", in)
	p.Lead = lead(in)
	p.Facts = facts(r)
	p.About = "For each " + visible(r.Key) + " a limit of its own: found from this traffic, and tried on it."
	if r.Key == "all" {
		p.About = "One limit for everything: found from this traffic, and tried on it."
	}
	var names []string
	for i := range r.Advice {
		a := &r.Advice[i]
		names = append(names, a.Name+": "+a.Limit.String())
		p.Cards = append(p.Cards, newAdvice(a, r))
		p.topKeys(&a.Verdict)
	}
	if len(r.Advice) == 0 {
		p.None = "There is no advice: no request costs a token, or no limit has the bursts."
	}
	if len(r.Curve) > 0 {
		for _, s := range sizes() {
			p.Curve = append(p.Curve, drawCurve(r, s))
		}
		p.Table, p.Delays = bursts(r), delays(r)
	}
	p.when(r.Timeline, names)
	say := func(text string) { p.Notes = append(p.Notes, note{Text: text}) }
	if len(r.Skipped) > 0 {
		say("Rates left out: " + strings.Join(r.Skipped, ", ") + ". The bursts, or the time from first to last, are beyond what such a limit counts.")
	}
	if r.Refuse != "" && r.Cost != "1" {
		say("Costs differ, so that a larger burst can refuse more: the burst for " + r.Refuse + " satisfies the share and one token less does not, but a smaller one might by chance.")
	}
	if r.Spooled > 0 {
		say(count(r.Spooled, "byte") + " did not fit into memory and were read from a temporary file, which is gone.")
	}
	return p.render()
}

func newPage(command, heading string, in logs.Summary) *page {
	what := fmt.Sprintf("%d files", len(in.Files))
	if len(in.Files) == 1 {
		what = fileName(filepath.Base(in.Files[0].Name))
	}
	return &page{Title: command + ": " + what, Command: command, Heading: heading, Files: files(in), Notes: notes(in)}
}

func (p *page) when(t *replay.Timeline, names []string) {
	if t == nil || len(t.Requests) == 0 {
		return
	}
	for _, s := range sizes() {
		p.When = append(p.When, drawTimeline(t, names, s))
	}
	p.WhenAbout = fmt.Sprintf("From %s UTC, %v a column. Each row has its own scale.", moment(t.Start), t.Width)
}

// Policy is the content security policy of the page: nothing is fetched, and only the page's own style applies.
func (p *page) Policy() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; img-src data:; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

func (p *page) Style() template.CSS { return template.CSS(pageStyle) }

func (p *page) render() ([]byte, error) {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// title is what a limit is called in one line.
func title(v *replay.Verdict) string {
	if v.Key == "" { // all of them
		return v.Name
	}
	text := visible(v.Key) + ": " + v.Limit.String()
	if v.Name != "" {
		text = v.Name + " = " + text
	}
	return strings.TrimSpace(text)
}
