package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("runtime.handleEvent")) // the runtime's own, under js/wasm
}

// A result is what a run left behind.
type result struct {
	code        int
	out, errors string
}

func weir() program {
	return program{
		keyed:  func(l gcra.Limit, c clock.Clock) keyed { return shard.New[uint64](l, shard.WithClock(c)) },
		traced: func(l gcra.Limit, c clock.Clock) traced { return shard.New[string](l, shard.WithClock(c)) },
	}
}

func (p program) try(args ...string) result {
	var out, errs bytes.Buffer
	p.stdout, p.stderr = &out, &errs
	code := p.run(args)
	return result{code, out.String(), errs.String()}
}

// document decodes stdout, which has to hold one JSON document and nothing else.
func (r result) document(t *testing.T) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(r.out))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil {
		t.Fatalf("%v in %q, stderr %q", err, r.out, r.errors)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Errorf("more than one document in %q", r.out)
	}
	return doc
}

func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.csv")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	headless := filepath.Join(dir, "headless.csv")
	if err := os.WriteFile(headless, []byte("when,who\n1,a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		args  string
		names string // what the complaint has to name
		why   string
	}{
		{"-nonsense", "-nonsense", "unknown flag"},
		{"stray", `"stray"`, "an argument without a flag"},
		{"-json stray", `"stray"`, "and after one"},
		{"-keys 0", "-keys 0", "no keys"},
		{"-keys -5", "-keys -5", "fewer than none"},
		{"-keys 100000001", "-keys 100000001", "more than fit into memory"},
		{"-keys many", `"many"`, "no number"},
		{"-keys 99999999999999999999", `"99999999999999999999"`, "no int"},
		{"-keys", "-keys", "no value"},
		{"-duration -1s", "-duration -1s", "negative"},
		{"-duration 0", "-duration 0s", "nothing to measure"},
		{"-duration 25h", "-duration 25h", "a slip"},
		{"-duration 3", `"3"`, "no unit"},
		{"-limit fast", `"fast"`, "no limit"},
		{"-limit 5/x", `"x"`, "no period"},
		{"-limit ", `""`, "an empty limit"},
		{"-limit -5/s", `"-5"`, "a negative rate"},
		{"-json=maybe", `"maybe"`, "no truth value"},
		{"-trace ", `-trace ""`, "no name"},
		{"-trace " + filepath.Join(dir, "none.csv"), "none.csv", "no such file"},
		{"-trace " + dir, dir, "a directory"},
		{"-trace " + empty, "empty.csv", "an empty file"},
		{"-trace " + headless, `"when"`, "no columns of a trace"},
		{"-trace " + empty + " -keys 5", "-keys 5", "belongs to the main job"},
		{"-trace " + empty + " -duration 1s", "-duration 1s", "belongs to the main job"},
		{"-no\nsense", `-no\nsense`, "stays one line"},
	} {
		got := weir().try(strings.Split(row.args, " ")...)
		if got.code != unable || got.out != "" || strings.Count(got.errors, "\n") != 1 ||
			!strings.HasPrefix(got.errors, "bench: ") || !strings.Contains(got.errors, row.names) {
			t.Errorf("bench %q: %+v: %s", row.args, got, row.why)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"-help"}, {"-h"}, {"--help"}, {"-keys", "5", "-help"}} {
		got := weir().try(args...)
		if got.code != sound || got.out != help || got.errors != "" {
			t.Errorf("bench %q: %+v", args, got)
		}
	}
}

// TestHelpIsTrue reads the examples and the defaults in the help.
func TestHelpIsTrue(t *testing.T) {
	examples := 0
	for line := range strings.Lines(help) {
		args, ok := strings.CutPrefix(strings.TrimSpace(line), "go run ./bench")
		if !ok || strings.Contains(args, "[") {
			continue
		}
		examples++
		args, _, _ = strings.Cut(args, " > ")
		var words []string
		for i, part := range strings.Split(args, `"`) {
			if i%2 == 0 {
				words = append(words, strings.Fields(part)...)
			} else {
				words = append(words, part)
			}
		}
		if _, err := parse(words); err != nil {
			t.Errorf("example %q: %v", line, err)
		}
	}
	if examples < 5 {
		t.Errorf("%d examples", examples)
	}
	for _, want := range []string{"2/s burst 20", "30/m burst 5", "default 1000000", "default 3s", "100000000"} {
		if !strings.Contains(help, want) {
			t.Errorf("help does not mention %q", want)
		}
	}
	work, err1 := parse(nil)
	replay, err2 := parse([]string{"-trace", "x"})
	if err := errors.Join(err1, err2); err != nil || work.limit.String() != "2/s burst 20" || replay.limit.String() != "30/m burst 5" ||
		work.keys != 1_000_000 || work.duration.String() != "3s" {
		t.Errorf("%+v, %+v, %v", work, replay, err)
	}
}

func TestCommand(t *testing.T) {
	for _, row := range []struct {
		args []string
		want string
		why  string
	}{
		{nil, "go run ./bench", "bare"},
		{[]string{"-keys", "5", "-duration=1.5s"}, "go run ./bench -keys 5 -duration=1.5s", "needs no quotes"},
		{[]string{"-limit", "100/s burst 20"}, "go run ./bench -limit '100/s burst 20'", "a space"},
		{[]string{"-limit", ""}, "go run ./bench -limit ''", "nothing"},
		{[]string{"-trace", "it's $HOME"}, `go run ./bench -trace 'it'\''s $HOME'`, "a quote and a dollar"},
	} {
		if got := (options{args: row.args}).command(); got != row.want {
			t.Errorf("%q: %s, want %s: %s", row.args, got, row.want, row.why)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestUnwritableResult(t *testing.T) {
	for _, args := range [][]string{{"-help"}, {"-trace", "trace/testdata/small.csv"}, {"-trace", "trace/testdata/small.csv", "-json"}} {
		var errs bytes.Buffer
		p := weir()
		p.stdout, p.stderr = fullDisk{}, &errs
		if code := p.run(args); code != unable || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("bench %q: %d, %s", args, code, &errs)
		}
	}
}

// missing returns the names that are not in the document.
func missing(doc map[string]any, names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { _, ok := doc[name]; return ok })
}
