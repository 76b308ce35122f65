package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// small is a run that measures nothing, quickly.
func small(t *testing.T, args ...string) config {
	cfg, err := parse(append([]string{"-runs", "1", "-time", "1us", "-pace", "1ms", "-keys", "512",
		"-remember", "500", "-grow", "1000", "-collect", "1000", "-flood", "1000", "-cpu", "1"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestParseRejects(t *testing.T) {
	for _, args := range []string{
		"-runs 0", "-time 0s", "-pace -1s", "-keys 0", "-keys 1,", "-grow 1", "-remember 0", "-flood 0", "-collect 0", "-cpu 0", "-cpu 1,", "-only (", "-busy yes", "hot",
	} {
		if _, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}

// One run of all sections, in every form.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	saved, page := filepath.Join(dir, "run.json"), filepath.Join(dir, "page.html")
	var table strings.Builder
	cfg := small(t, "-only", "^(hot|keys|law|allocs|memory|gc|growth|flood)/|^pacing/rate=200000 .*/weir(-strict-spin)?$",
		"-save", saved, "-report", page, "-plots", dir)
	if err := execute(cfg, &table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"golang.org/x/time v", "### hot", "### keys", "### law", "### allocs", "### memory", "### gc", "### growth", "### flood", "### pacing", "### goals",
		"| shape=one case=granted cores=1 | none |", "| shape=map case=refused cores=1 | weir |",
		"| keys=512 type=string dist=uniform case=granted cores=1 | none |", "| keys=512 type=string dist=uniform case=mixed cores=1 | weir |",
		"| keys=512 type=uint64 dist=zipf case=granted cores=1 | none |",
		"|  | sethvargo |", "|  | throttled |", "|  | ulule |", "|  | tollbooth |", "|  | uber |", "|  | xtime-mutex |", "|  | weir-1shard |", "|  | table-batch |",
		"| keys=1k flood=200k/s before | none |", "| keys=1k flood=200k/s during | none |", "| keys=1k flood=full-speed beside | none |",
		"|  | weir-refuse |", "|  | weir-admit |", "|  | table-admit |", "| p50, ns | p99, ns | longest, ns | asked, k/s | new keys, k/s |",
		"| p99.9 of a decision during a flood at full-speed against before it: weir Table, Admit | <= 3 × |",
		"- tollbooth: no mixed and refused cases",
		"| least | most | runs | to weir | gap p50, µs | p99, µs | longest, µs |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
		"| rate=200000 loops=1 busy=no | weir | ", "|  | weir-strict-spin | ", "| rate=200000 loops=64 busy=no | weir | ",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in\n%s", want, &table)
		}
	}
	text := read(t, page)
	for _, want := range []string{"prefers-color-scheme:dark", "width=device-width", "weir Table", "x/time/rate", "<svg ", "missed"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	checkSelfContained(t, text)
	for _, name := range []string{"keys.svg", "heap.svg"} {
		text := read(t, filepath.Join(dir, name))
		checkSelfContained(t, text)
		for dec := xml.NewDecoder(strings.NewReader(text)); ; {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if !strings.Contains(text, "prefers-color-scheme:dark") || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s: no dark colours, or no numbers, in\n%s", name, text)
		}
	}
	// From what was saved the same page is made.
	again := filepath.Join(dir, "again.html")
	if err := execute(small(t, "-from", saved, "-report", again), io.Discard); err != nil {
		t.Fatal(err)
	}
	if read(t, again) != text {
		t.Error("-from makes another page than the run")
	}
}

func read(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkSelfContained looks for what a browser would fetch or run.
func checkSelfContained(t *testing.T, text string) {
	for _, found := range regexp.MustCompile(`(?i)<(script|link|img|iframe|object|embed)[^>]*>|@import|url\(|src=|href="[^"]*"`).FindAllString(text, -1) {
		if !strings.Contains(found, `href="data:,"`) {
			t.Errorf("not self-contained: %s", found)
		}
	}
}

func TestRunJSON(t *testing.T) {
	var out strings.Builder
	if err := execute(small(t, "-json", "-runs", "2", "-only", "^keys/.*string dist=uniform case=granted/(weir|xtime)$"), &out); err != nil {
		t.Fatal(err)
	}
	var got run
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Results) != 2 || got.CPU == "" {
		t.Fatalf("got %+v", got)
	}
	for i, lib := range []string{"weir", "xtime"} {
		r := got.Results[i]
		if r.Section != "keys" || r.Lib != lib || len(r.Samples) != 2 || r.Median != (r.Samples[0]+r.Samples[1])/2 || r.Ratio == 0 || r.More[0] != 512 || r.More[1] != 100 {
			t.Errorf("got %+v, want two samples of %s, of 512 keys, all granted", r, lib)
		}
	}
}

func TestTitles(t *testing.T) {
	libs := map[string]bool{"weir-1shard": true}
	for _, s := range append(single(), stringKeyed()...) {
		libs[s.lib] = true
	}
	for _, f := range floods() {
		libs[f.lib] = true
	}
	for _, p := range pacers() {
		libs[p.lib] = true
	}
	for lib := range libs {
		if titles()[lib] == "" {
			t.Errorf("%s has no title", lib)
		}
	}
}
