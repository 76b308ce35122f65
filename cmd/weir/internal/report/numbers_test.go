package report

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-go/weir/cmd/weir/internal/replay"
	"github.com/weir-go/weir/cmd/weir/internal/text"
	"github.com/weir-go/weir/gcra"
)

// inputNamed is one of inputs.
func inputNamed(t *testing.T, name string) input {
	t.Helper()
	all := inputs(t)
	i := slices.IndexFunc(all, func(in input) bool { return in.name == name })
	if i < 0 {
		t.Fatalf("no input %s", name)
	}
	return all[i]
}

// stats are the pairs of a card.
func stats(n *node) map[string]string {
	all := map[string]string{}
	for _, d := range n.all("div") {
		if dt, dd := d.all("dt"), d.all("dd"); len(dt) == 1 && len(dd) == 1 {
			all[dt[0].clean()] = dd[0].clean()
		}
	}
	return all
}

// digits is a number as people group it, without the groups.
func digits(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(strings.ReplaceAll(s, " ", ""), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// grouped is a number in groups of three, made by another way than the page's.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

// checkPaste compares what a card has to paste with its limit.
func checkPaste(t *testing.T, got map[string]string, l gcra.Limit, name string) {
	t.Helper()
	if parsed, err := gcra.Parse(got["text"]); err != nil || parsed != l {
		t.Errorf("%q is not the limit %v: %v", got["text"], l, err)
	}
	if want := text.GoCode(l); got["Go"] != want {
		t.Errorf("Go is %q, want %q", got["Go"], want)
	}
	want := ""
	if p := text.Policy(l, name); p != "" {
		want = "RateLimit-Policy: " + p
	}
	if got["HTTP"] != want {
		t.Errorf("HTTP is %q, want %q", got["HTTP"], want)
	}
}

// checkTop compares the tables of keys with the verdicts.
func checkTop(t *testing.T, root *node, all []replay.Verdict) {
	t.Helper()
	var tables []*node
	for _, s := range root.all("section") {
		if s.attr["id"] == "keys" {
			tables = s.all("table")
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(v replay.Verdict) bool { return len(v.MostRefused) == 0 })
	if len(tables) != len(all) {
		t.Fatalf("%d tables of keys, want %d", len(tables), len(all))
	}
	for i, v := range all {
		rows := tables[i].cells()[1:]
		if len(rows) != len(v.MostRefused) {
			t.Fatalf("%d keys, want %d", len(rows), len(v.MostRefused))
		}
		for j, k := range v.MostRefused {
			if rows[j][0] != k.Key || digits(t, rows[j][1]) != k.Refused || digits(t, rows[j][2]) != k.Requests {
				t.Errorf("row %q, want %v", rows[j], k)
			}
			if want := math.Round(1000*float64(k.Refused)/float64(k.Requests)) / 10; strings.TrimSuffix(rows[j][3], " %") != strconv.FormatFloat(want, 'f', 1, 64) && want != 100 && want >= 0.1 {
				t.Errorf("share %q of %v, want %v", rows[j][3], k, want)
			}
		}
	}
}

// The numbers of a replay are in its page.
func TestReplayNumbers(t *testing.T) {
	for _, name := range []string{"replay", "joint", "replay-one"} {
		t.Run(name, func(t *testing.T) {
			in := inputNamed(t, name)
			r := in.replay(t)
			root := read(t, in.page(t))
			cards := root.all(".card")
			all := r.Limits
			if r.Joint {
				all = append([]replay.Verdict{*r.Together}, all...)
			}
			if len(cards) != len(all) {
				t.Fatalf("%d cards, want %d", len(cards), len(all))
			}
			for i, v := range all {
				got := stats(cards[i])
				if d := digits(t, got["granted"]); d != v.Granted {
					t.Errorf("card %d: granted %d, want %d", i, d, v.Granted)
				}
				want := fmt.Sprintf("refuses %s of %s request", grouped(v.Refused), grouped(r.Requests))
				if s := cards[i].one(t, ".verdict").clean(); strings.TrimSuffix(s, "s") != want {
					t.Errorf("card %d: %q, want %q", i, s, want)
				}
				if got["longest wait"] != v.LongestWait.String() {
					t.Errorf("card %d: longest wait %q, want %v", i, got["longest wait"], v.LongestWait)
				}
				if v.Never > 0 != (got["would never pass"] != "") {
					t.Errorf("card %d: would never pass: %q, want %d", i, got["would never pass"], v.Never)
				}
				if v.Key == "" {
					continue // all together have no limit
				}
				if want := grouped(v.RefusedKeys) + " of " + grouped(v.Keys); got["keys refused"] != want {
					t.Errorf("card %d: keys refused %q, want %q", i, got["keys refused"], want)
				}
				if v.Cost != "1" && (digits(t, got["tokens refused"]) != v.RefusedTokens || digits(t, got["tokens granted"]) != v.GrantedTokens) {
					t.Errorf("card %d: tokens %q and %q, want %d and %d", i, got["tokens refused"], got["tokens granted"], v.RefusedTokens, v.GrantedTokens)
				}
				checkPaste(t, got, v.Limit, cmp.Or(v.Name, "default"))
			}
			checkTop(t, root, r.Limits)
			checkTimeline(t, root, r.Timeline)
		})
	}
}

// The numbers of an advice are in its page.
func TestAdviceNumbers(t *testing.T) {
	for _, name := range []string{"busy", "cost", "few-rates", "one"} {
		t.Run(name, func(t *testing.T) {
			in := inputNamed(t, name)
			r := in.advise(t)
			root := read(t, in.page(t))
			cards := root.all(".card")
			if len(cards) != len(r.Advice) || len(cards) == 0 {
				t.Fatalf("%d cards, want %d", len(cards), len(r.Advice))
			}
			var verdicts []replay.Verdict
			for i, a := range r.Advice {
				verdicts = append(verdicts, a.Verdict)
				got := stats(cards[i])
				want := fmt.Sprintf("would have refused %s of %s request", grouped(a.Verdict.Refused), grouped(r.Requests))
				if s := cards[i].one(t, ".verdict").clean(); strings.TrimSuffix(s, "s") != want {
					t.Errorf("card %d: %q, want %q", i, s, want)
				}
				number := func(name string, want int64) {
					t.Helper()
					s, _, _ := strings.Cut(strings.TrimSuffix(got[name], "s"), " token")
					s, _, _ = strings.Cut(s, " request")
					if d := digits(t, s); d != want {
						t.Errorf("card %d: %s %d, want %d", i, name, d, want)
					}
				}
				number("seconds with refusals", a.Seconds)
				number("burst never used", a.Headroom)
				number("refused in it", a.Worst.Tokens)
				number("would wait", a.Pacing.Waited)
				if a.Worst.Tokens > 0 && got["worst second"] != a.Worst.At.UTC().Format("2006-01-02 15:04:05") {
					t.Errorf("card %d: worst second %q, want %v", i, got["worst second"], a.Worst.At)
				}
				checkPaste(t, got, a.Limit, "default")
			}
			checkTop(t, root, verdicts)
			checkTimeline(t, root, r.Timeline)
			checkCurve(t, root, r)
		})
	}
}

// What was read is told: files, broken lines, the notes of the text.
func TestInput(t *testing.T) {
	in := inputNamed(t, "hostile")
	r := in.replay(t)
	root := read(t, in.page(t))
	var section *node
	for _, s := range root.all("section") {
		if s.attr["id"] == "input" {
			section = s
		}
	}
	if r.Input.Broken != 3 || len(section.one(t, "ol").all("li")) != 3 {
		t.Errorf("%d lines are broken, %q", r.Input.Broken, section.clean())
	}
	for _, want := range []string{"3 lines broken", "csv", grouped(r.Input.Lines), "whole seconds", `<script>`} {
		if !strings.Contains(section.clean(), want) {
			t.Errorf("%q is not in %q", want, section.clean())
		}
	}
	notes := section.one(t, ".notes").clean()
	for _, n := range text.Notes(&r.Input) {
		if n = strings.Join(strings.Fields(strings.ReplaceAll(n, "rate x", "rate ×")), " "); !strings.HasPrefix(n, "\"/") && !strings.Contains(notes, n) {
			t.Errorf("%q is not in %q", n, notes)
		}
	}
}

// What an advice left out or could not do is told.
func TestAdviceNotes(t *testing.T) {
	r := inputNamed(t, "cost").advise(t)
	r.Skipped, r.Spooled, r.LeftOut = []string{"1/d", "2/d"}, 12345, 7
	page, err := Advice(r, Options{})
	if err != nil {
		t.Fatal(err)
	}
	root := read(t, page)
	for _, want := range []string{"Rates left out: 1/d, 2/d.", "the burst for 0.1% satisfies the share", "12 345 bytes did not fit"} {
		if !strings.Contains(root.one(t, ".notes").clean(), want) {
			t.Errorf("%q is not in %q", want, root.one(t, ".notes").clean())
		}
	}
	if facts := stats(root.one(t, ".facts")); !strings.HasPrefix(facts["left out"], "7 requests") || facts["tokens"] != grouped(r.Tokens)+" by cost, at most "+grouped(r.Largest)+" at once" {
		t.Errorf("the facts are %q", facts)
	}
}

// The policy lets the page's own style through and nothing else.
func TestPolicy(t *testing.T) {
	page := inputNamed(t, "one").page(t)
	root := read(t, page)
	sum := sha256.Sum256([]byte(root.one(t, "style").text))
	i := slices.IndexFunc(root.all("meta"), func(n *node) bool { return n.attr["http-equiv"] == "Content-Security-Policy" })
	want := "default-src 'none'; img-src data:; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	if i < 0 || root.all("meta")[i].attr["content"] != want {
		t.Errorf("the policy is not %s", want)
	}
	if bytes.Index(page, []byte("Content-Security-Policy")) > bytes.Index(page, []byte("<link")) {
		t.Error("the policy comes after what it is to stop")
	}
}

// The same traffic gives the same bytes.
func TestSame(t *testing.T) {
	for _, in := range inputs(t) {
		if !bytes.Equal(in.page(t), in.page(t)) {
			t.Errorf("%s: two pages of the same traffic differ", in.name)
		}
	}
}
