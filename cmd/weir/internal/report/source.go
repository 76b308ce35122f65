package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-go/weir/cmd/weir/internal/advise"
	"github.com/weir-go/weir/cmd/weir/internal/logs"
	"github.com/weir-go/weir/cmd/weir/internal/text"
)

// hidden is the summary of what was read as the page may tell it: with Options.Hide the files are numbered.
func hidden(in logs.Summary, o Options) logs.Summary {
	if !o.Hide {
		return in
	}
	old := in.Files
	in.Files, in.Faults = slices.Clone(old), slices.Clone(in.Faults)
	for i := range in.Files {
		in.Files[i].Name = fmt.Sprintf("file %d", i+1)
	}
	for i := range in.Faults {
		k := slices.IndexFunc(old, func(f logs.File) bool { return f.Name == in.Faults[i].File })
		in.Faults[i].File = "a file"
		if k >= 0 {
			in.Faults[i].File = in.Files[k].Name
		}
	}
	return in
}

// lead says in a sentence what the traffic is.
func lead(in logs.Summary) string {
	return fmt.Sprintf("%s from %s to %s UTC, %s.", count(in.Requests, "request"), moment(in.First), moment(in.Last), span(in.Last.Sub(in.First)))
}

func files(in logs.Summary) *table {
	t := &table{Title: "Files", Head: []string{"file", "format", "lines"}, Keys: true}
	for _, f := range in.Files {
		name, format := visible(f.Name), f.Format
		if f.Name == "-" {
			name = "standard input"
		}
		if format == "" {
			format = "empty"
		}
		t.row(name, format, num(f.Lines))
	}
	if len(in.Files) > 1 {
		t.row("all", "", num(in.Lines))
	}
	t.About = fmt.Sprintf("%s, %s broken, %s blank or headers.", count(in.Requests, "request"), count(in.Broken, "line"), num(in.Blank))
	return t
}

// A note is a sentence, perhaps with lines that it announces.
type note struct {
	Text  string
	Lines []string
}

// notes are the sentences that the text has as well.
func notes(in logs.Summary) (all []note) {
	faults := in.Faults
	for _, s := range text.Notes(&in) {
		if !strings.HasPrefix(s, " ") {
			all = append(all, note{Text: strings.ReplaceAll(s, "rate x 1s", "rate × 1s")})
		} else if n := len(all) - 1; n >= 0 && len(faults) > 0 {
			f := faults[0]
			faults = faults[1:]
			all[n].Lines = append(all[n].Lines, visible(f.File)+":"+fmt.Sprint(f.Line)+": "+strings.ToValidUTF8(f.Reason, "�"))
		}
	}
	return all
}

// facts is what the traffic of an advice asked for.
func facts(r *advise.Result) []pair {
	by := "1 a request"
	if r.Cost != "1" {
		by = "by " + visible(r.Cost)
	}
	all := []pair{
		{"keys", num(r.Keys) + ", by " + visible(r.Key)},
		{"tokens", num(r.Tokens) + ", " + by + "; the largest request takes " + num(r.Largest)},
		{"busiest key", visible(r.Busiest.Key) + " with " + count(r.Busiest.Tokens, "token")},
		{"peak second", count(r.Peak.Tokens, "token") + " of " + visible(r.Peak.Key) + " at " + moment(r.Peak.At)},
	}
	if r.Keys != 1 {
		all = append(all, pair{"of all keys", count(r.PeakAll.Tokens, "token") + " at " + moment(r.PeakAll.At)})
	}
	if r.LeftOut > 0 {
		all = append(all, pair{"left out", count(r.LeftOut, "request") + " of keys for which there was no room: see -max-keys"})
	}
	return all
}
