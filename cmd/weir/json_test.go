package main

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weir-go/weir/cmd/weir/internal/advise"
	"github.com/weir-go/weir/cmd/weir/internal/logs"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
	"github.com/weir-go/weir/cmd/weir/internal/text"
)

// TestJSONIsDocumented holds the tables of docs/json.md against the types that are printed, name by name, in their order.
func TestJSONIsDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string][]string{}
	for _, part := range strings.Split(string(data), "\n## ")[1:] {
		title, _, _ := strings.Cut(part, "\n")
		for _, row := range regexp.MustCompile("(?m)^\\| `([^`]*)` \\| [^|]+ \\|$").FindAllStringSubmatch(part, -1) {
			told[title] = append(told[title], row[1])
		}
	}
	types := map[string]any{
		"weir replay": replay.Result{}, "Input": logs.Summary{}, "File": logs.File{}, "Fault": logs.Fault{}, "Verdict": replay.Verdict{},
		"Key count": replay.KeyCount{}, "Timeline": replay.Timeline{}, "weir advise": advise.Result{}, "Second": advise.Second{},
		"Point": advise.Point{}, "Pacing": advise.Pacing{}, "Advice": advise.Advice{}, "weir parse": text.Explanation{}, "weir version": version{},
	}
	if a, b := slices.Sorted(maps.Keys(told)), slices.Sorted(maps.Keys(types)); !slices.Equal(a, b) {
		t.Errorf("the tables are %q, the types %q", a, b)
	}
	for title, v := range types {
		var names []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
		if !slices.Equal(told[title], names) {
			t.Errorf("%s tells\n%q, printed are\n%q", title, told[title], names)
		}
	}
	for _, schema := range []string{replay.Schema, advise.Schema} {
		if !strings.Contains(string(data), "| `"+schema+"` |") {
			t.Errorf("the schema %s is not told", schema)
		}
	}
}

// TestJSONHasNoNull looks for lists that a program could not walk through.
func TestJSONHasNoNull(t *testing.T) {
	const log = "time,key,cost\n1,a,0\n2,a,0\n"
	for _, row := range []struct {
		args  []string
		nulls int
	}{
		{[]string{"replay", "-json", "-limit", "1/s", "-"}, 0},
		{[]string{"replay", "-json", "-limit", "1/s", "-limit", "all: 2/s", "-joint", "-"}, 0},
		{[]string{"advise", "-json", "-cost", "1", "-"}, 0},
		{[]string{"advise", "-json", "-"}, 1}, // its timeline
		{[]string{"parse", "-json", "unlimited"}, 0},
		{[]string{"version", "-json"}, 0},
	} {
		if got := weir(log, row.args...); got.code != fine || strings.Count(got.out, "null") != row.nulls {
			t.Errorf("weir %q: exit %d, want %d nulls in\n%s%s", row.args, got.code, row.nulls, got.out, got.err)
		}
	}
}
