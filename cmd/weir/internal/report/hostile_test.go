package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weir-go/weir/cmd/weir/internal/advise"
	"github.com/weir-go/weir/cmd/weir/internal/logs"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
	"github.com/weir-go/weir/gcra"
)

// Hostile keys are shown, each as something of its own, and do nothing.
func TestHostileKeys(t *testing.T) {
	counts := func() (all []replay.KeyCount) {
		for i, key := range evil() {
			all = append(all, replay.KeyCount{Key: key, Refused: int64(100 - i), Requests: 200})
		}
		return all
	}
	r := inputNamed(t, "replay-one").replay(t)
	r.Limits[0].MostRefused = counts()
	r.Limits[0].Key, r.Limits[0].Name = `header:"><script>`, "<b>"
	page, err := Replay(r, Options{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, page)
	if len(page) > 60_000 {
		t.Errorf("the page has %d bytes: long keys were not cut", len(page))
	}
	seen := map[string]bool{}
	for _, tab := range read(t, page).all(".keys") {
		for _, row := range tab.all("tr")[1:] {
			cell := row.kids[0].one(t, "bdi").text // letters from right to left turn nothing beside them
			if seen[cell] {
				t.Errorf("two keys are shown as %q", cell)
			}
			seen[cell] = true
		}
	}
	for _, key := range evil() {
		if !seen[visible(key)] {
			t.Errorf("%.40q is not shown as %q", key, visible(key))
		}
	}
}

func TestVisible(t *testing.T) {
	long := strings.Repeat("é", 200)
	for _, row := range []struct{ in, want, why string }{
		{"10.0.0.1", "10.0.0.1", "harmless"},
		{"GET /a b", "GET /a b", "a space is"},
		{"Ünïcode/世界", "Ünïcode/世界", "so are letters"},
		{"", `""`, "nothing is seen"},
		{" a", `" a"`, "a space at an end is"},
		{"a  b", `"a  b"`, "and two, which a page makes one"},
		{`say "x"`, `"say \"x\""`, "or it could be taken for a quoted one"},
		{"a\tb", `"a\tb"`, "not printable"},
		{"\u202ecod", `"\u202ecod"`, "turns the line"},
		{"\xff", `"\xff"`, "not UTF-8"},
		{"\ufffd", `"�"`, "nor that, but it is told from broken UTF-8"},
		{strings.Repeat("x", 184), strings.Repeat("x", 184), "long"},
		{strings.Repeat("x", 184) + "y", strings.Repeat("x", 72) + "…" + strings.Repeat("x", 19) + "y (185 bytes)", "too long: both ends"},
		{long, strings.Repeat("é", 36) + "…" + strings.Repeat("é", 10) + " (400 bytes)", "not cut within a letter"},
		{"a" + long, "a" + strings.Repeat("é", 35) + "…" + strings.Repeat("é", 10) + " (401 bytes)", "nor there"},
		{strings.Repeat("\x00", 1234), `"` + strings.Repeat(`\x00`, 72) + `"…"` + strings.Repeat(`\x00`, 20) + `" (1` + nbsp + `234 bytes)`, "binary"},
	} {
		if got := visible(row.in); got != row.want {
			t.Errorf("visible(%.40q) = %s, want %s: %s", row.in, got, row.want, row.why)
		}
	}
}

func FuzzVisible(f *testing.F) {
	for _, key := range evil() {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		s := visible(key)
		if !utf8.ValidString(s) || len(s) > 12*(keyHead+keyTail)+1000 || s == "" {
			t.Errorf("%.100q is shown as %q", key, s)
		}
		var b strings.Builder
		(&page{Title: s, Notes: []note{{Text: s}}, Files: &table{Title: "x", Keys: true, Head: []string{"a"}, Rows: []row{{Cells: []string{s}}}}}).writeTo(t, &b)
		check(t, []byte(b.String()))
		if got := read(t, []byte(b.String())).one(t, "tbody").one(t, "th").text; got != s {
			t.Errorf("%q is read back as %q", s, got)
		}
	})
}

func (p *page) writeTo(t *testing.T, w io.Writer) {
	t.Helper()
	data, err := p.render()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
}

// No key, no file name and no word of a line is in a page that hides them, in whatever form.
func TestHide(t *testing.T) {
	n := 0
	secret := map[string]string{}
	hash := func(key []byte) string {
		if len(key) == 0 {
			return "all"
		}
		if secret[string(key)] == "" {
			n++
			secret[string(key)] = fmt.Sprintf("key-%04d", n)
		}
		return secret[string(key)]
	}
	for _, in := range inputs(t) {
		if in.name == "one" || in.name == "replay-one" || in.name == "free" || in.name == "years" || in.name == "llm" {
			continue // few keys, or such as are words of any page: "a", "code"
		}
		shown := in.page(t)
		in.secret = hash
		page := in.page(t)
		check(t, page)
		keys := keysOf(t, in)
		found := 0
		for _, key := range keys {
			if len(key) < 3 {
				continue // too short to be told from anything
			}
			for _, form := range []string{key, html.EscapeString(key), fmt.Sprintf("%q", key), html.EscapeString(visible(key))} {
				if bytes.Contains(page, []byte(form)) {
					t.Errorf("%s: the key %.60q is in the page", in.name, key)
				}
				if bytes.Contains(shown, []byte(form)) {
					found++
				}
			}
		}
		if len(keys) < 10 || found == 0 && in.name != "cost" { // which has one key for all
			t.Errorf("%s: of %d keys none is in the page that does not hide them", in.name, len(keys))
		}
		for _, word := range []string{filepath.Base(in.file), filepath.Dir(in.file), html.EscapeString(filepath.Base(in.file)), "evil", "yesterday"} {
			if bytes.Contains(page, []byte(word)) {
				t.Errorf("%s: %q is in the page", in.name, word)
			}
		}
		if !bytes.Contains(page, []byte("file 1")) {
			t.Errorf("%s: the file has no number", in.name)
		}
	}
}

// keysOf reads the keys of an input by other means than the command's.
func keysOf(t *testing.T, in input) (keys []string) {
	t.Helper()
	data, err := os.ReadFile(in.file)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	put := func(key string) {
		if !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	if !strings.HasSuffix(in.file, ".csv") {
		for line := range strings.Lines(string(data)) {
			words := strings.Fields(line)
			put(words[0])
			if len(words) > 6 && len(words[6]) > 12 && in.key != "" {
				put(words[6]) // the path
			}
		}
		return keys
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.LazyQuotes, r.FieldsPerRecord = true, -1
	for {
		rec, err := r.Read()
		if err == io.EOF {
			return slices.Clip(keys)
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(rec) > 1 && rec[1] != "key" {
			put(rec[1])
		}
	}
}

// Files are numbered in their order, and faults follow.
func TestHidden(t *testing.T) {
	in := logs.Summary{
		Files:  []logs.File{{Name: "acme.log"}, {Name: "-"}, {Name: "acme.log"}},
		Faults: []logs.Fault{{File: "-", Line: 3}, {File: "acme.log", Line: 1}, {File: "elsewhere", Line: 9}},
	}
	out := hidden(in, Options{Hide: true})
	var got []string
	for _, f := range out.Files {
		got = append(got, f.Name)
	}
	for _, f := range out.Faults {
		got = append(got, f.String())
	}
	if want := []string{"file 1", "file 2", "file 3", "file 2:3: ", "file 1:1: ", "a file:9: "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if in.Files[0].Name != "acme.log" || in.Faults[0].File != "-" {
		t.Error("the result itself was changed")
	}
	if out := hidden(in, Options{}); out.Files[0].Name != "acme.log" {
		t.Error("hidden without being asked")
	}
}

// Results at the ends of their ranges make pages that are sound.
func TestExtremes(t *testing.T) {
	const most = 1<<63 - 1
	limit := func(s string) gcra.Limit {
		l, err := gcra.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	huge := replay.Verdict{Key: "client", Cost: "bytes", Limit: limit("64/ns burst 2147483647"), Granted: most, Refused: most, Never: most, GrantedTokens: most, RefusedTokens: most,
		LongestWait: most, Keys: 1, KeysAtMost: most, RefusedKeys: 1, RefusedKeysMost: most, Unstored: most, MayLack: most, MostRefused: []replay.KeyCount{{Key: "k", Refused: most, Requests: most}, {Key: "l", Refused: 1, Requests: most}, {Key: "m", Refused: most - 1, Requests: most}}}
	long := &replay.Timeline{Start: time.Unix(0, -1<<63).UTC(), Width: 1 << 56, Requests: slices.Repeat([]int64{most, 0, 1}, 85)}
	long.Refused = [][]int64{long.Requests}
	short := &replay.Timeline{Start: time.Unix(0, 0).UTC(), Width: time.Second / 8, Requests: []int64{1}, Refused: [][]int64{{0}}}
	point := func(rate string, bursts ...int64) advise.Point {
		l := limit(rate)
		n, period := l.Rate()
		return advise.Point{Rate: rate, N: int64(n), Period: period, P50: bursts[0], P90: bursts[1], P99: bursts[2], Max: bursts[3], Key: "k"}
	}
	for i, r := range []*replay.Result{
		{Limits: []replay.Verdict{huge}, Requests: most, Timeline: long},
		{Limits: []replay.Verdict{huge}, Requests: most, Timeline: short, Joint: true, Together: &replay.Verdict{Name: "all together"}},
		{Limits: []replay.Verdict{{Key: "all", Cost: "1", Limit: gcra.Unlimited()}}},
		{},
	} {
		page, err := Replay(r, Options{})
		if err != nil {
			t.Fatalf("replay %d: %v", i, err)
		}
		check(t, page)
	}
	for i, r := range []*advise.Result{
		{Curve: []advise.Point{point("1/365d", 1, 2, 3, most), point("64/ns", 0, 0, 0, 1)}, Advice: []advise.Advice{{Name: "tight", Limit: limit("1/365d burst 1"), Verdict: huge}}, Timeline: long, Keys: most},
		{Curve: []advise.Point{point("1/s", 0, 0, 0, 0)}, Advice: []advise.Advice{{Name: "tight", Limit: limit("1/s")}}, Timeline: short},
		{Curve: []advise.Point{point("1/s", 0, 0, 1, 5), point("2/s", 0, 0, 0, 0), point("3/s", 0, 0, 0, 1)}, Keys: 1},
		{Curve: []advise.Point{point("1/s", 1, 1, 1, 1), point("2/s", 1, 1, 1, 1)}, Spooled: most, LeftOut: most},
		{},
	} {
		r.Cost = "1"
		page, err := Advice(r, Options{})
		if err != nil {
			t.Fatalf("advice %d: %v", i, err)
		}
		check(t, page)
	}
}
