package report

import (
	"fmt"
	"path/filepath"
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

// lead says in a sentence what the traffic is, in pieces that each stay in one line.
func lead(in logs.Summary) []string {
	what := num(int64(len(in.Files))) + nbsp + "files"
	if len(in.Files) == 1 {
		what = fileName(filepath.Base(in.Files[0].Name))
	}
	return []string{count(in.Requests, "request") + " in", what + ",", "from " + moment(in.First), "to " + moment(in.Last) + nbsp + "UTC:", span(in.Last.Sub(in.First)) + "."}
}

// fileName is a file's name as the reader knows it.
func fileName(s string) string {
	if s == "-" {
		return "standard input"
	}
	return visible(s)
}

func files(in logs.Summary) *table {
	t := &table{Title: "Files", Head: []string{"file", "format", "lines"}, Keys: true}
	for _, f := range in.Files {
		format := f.Format
		if format == "" {
			format = "empty"
		}
		t.row(fileName(f.Name), format, num(f.Lines))
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
	by := "one for each request"
	if r.Cost != "1" {
		by = "by " + visible(r.Cost) + ","
	}
	all := []pair{
		{"keys", num(r.Keys), []string{"by " + visible(r.Key)}},
		{"tokens", num(r.Tokens), []string{by}},
		{"busiest key", visible(r.Busiest.Key), []string{count(r.Busiest.Tokens, "token")}},
		{"peak second of a key", count(r.Peak.Tokens, "token"), []string{visible(r.Peak.Key), moment(r.Peak.At)}},
	}
	if r.Cost != "1" {
		all[1].More = append(all[1].More, "at most "+num(r.Largest)+" at once")
	}
	if r.Keys != 1 {
		all = append(all, pair{"peak second of all", count(r.PeakAll.Tokens, "token"), []string{moment(r.PeakAll.At)}})
	}
	if r.LeftOut > 0 {
		all = append(all, pair{"left out", count(r.LeftOut, "request"), []string{"of keys for which there was no room:", "see -max-keys"}})
	}
	return all
}
