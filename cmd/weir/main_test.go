package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/cmd/weir/internal/advise"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
	"github.com/weir-go/weir/cmd/weir/internal/text"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A result is what a run left behind.
type result struct {
	code     int
	out, err string
}

func weir(stdin string, args ...string) result {
	var out, errs bytes.Buffer
	p := &program{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs, columns: "100"}
	code := p.run(args)
	return result{code, out.String(), errs.String()}
}

// decode reads stdout, which has to hold one JSON document and nothing else.
func decode[T any](t *testing.T, r result) (v T) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(r.out))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil || r.code != fine {
		t.Fatalf("%v, exit %d, %s", err, r.code, r.err)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Errorf("more than one document in %q", r.out)
	}
	return v
}

// words splits a command line as a shell does, if it has no quotes but double ones, up to a redirection.
func words(line string) (args []string, stdin string) {
	line, stdin, _ = strings.Cut(line, " < ")
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	return args, strings.TrimSpace(stdin)
}

// TestHelp runs every example that help tells, on the files in
// testdata.
func TestHelp(t *testing.T) {
	dir := t.TempDir() // some write a file
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	run := 0
	for _, name := range append([]string{""}, names(commands())...) {
		args := []string{name, "-help"}
		if name == "" {
			args = args[1:]
		}
		got := weir("", args...)
		if got.code != fine || got.err != "" || !strings.Contains(got.out, "exit code is 0") {
			t.Errorf("weir %q: %+v", args, got)
		}
		if again := weir("", "help", name); name != "" && again != got {
			t.Errorf("weir help %s is something else", name)
		}
		examples := 0
		_, after, _ := strings.Cut(got.out, "Examples:")
		for line := range strings.Lines(after) {
			line, ok := strings.CutPrefix(line, "  weir ")
			if !ok {
				continue
			}
			args, from := words(line)
			stdin := ""
			if from != "" {
				data, err := os.ReadFile(from)
				if err != nil {
					t.Fatal(err)
				}
				stdin = string(data)
			}
			got := weir(stdin, args...)
			if got.code != fine || got.out == "" || got.err != "" {
				t.Errorf("weir %s: exit %d, %s", line, got.code, got.err)
			}
			examples++
		}
		if examples < 2 {
			t.Errorf("weir %s -help has %d examples", name, examples)
		}
		run += examples
	}
	if run < 15 {
		t.Errorf("%d examples were run", run)
	}
	if got := weir("", "-h"); got.code != fine || got.out != mainHelp() {
		t.Errorf("-h: %+v", got)
	}
	if got := weir(""); got.code != misuse || got.err != mainHelp() || got.out != "" {
		t.Errorf("nothing: %+v", got)
	}
}

func TestMisuse(t *testing.T) {
	log := filepath.Join("testdata", "access.log")
	for _, row := range []struct {
		args  []string
		code  int
		names string
		why   string
	}{
		{[]string{"fly"}, misuse, `weir: unknown command "fly"`, "no command"},
		{[]string{"replay", log}, misuse, "-limit", "no limit"},
		{[]string{"replay", "-limit", "5/s"}, misuse, "name a file", "no file"},
		{[]string{"replay", "-limit", "5/x", log}, misuse, `-limit: limit "5/x", "5/x" at byte 0: period`, "no limit, said once"},
		{[]string{"replay", "-nonsense", log}, misuse, "-nonsense", "no flag"},
		{[]string{"replay", "-limit", "a=5/s", "-limit", "a=6/s", log}, misuse, `"a"`, "a name twice"},
		{[]string{"replay", "-limit", "5/s", "-key", "client,", log}, misuse, "-key", "no key"},
		{[]string{"replay", "-limit", "5/s", "-cost", "-", log}, misuse, "-cost", "no cost"},
		{[]string{"replay", "-limit", "5/s", "-format", "xml", log}, misuse, `"xml"`, "no format"},
		{[]string{"replay", "-limit", "5/s", "-time-format", "x", log}, misuse, `time format "x"`, "no format of times"},
		{[]string{"replay", "-limit", "5/s", "-field", "clent=ip", log}, misuse, `field "clent"="ip"`, "a name that nothing has"},
		{[]string{"replay", "-limit", "user:5/s", "-field", "cost=n", "-cost", "1", log}, misuse, `field "cost"="n"`, "a cost that is another one"},
		{[]string{"replay", "-limit", "5/s", "-window", "-1s", log}, misuse, "-window", "a negative window"},
		{[]string{"replay", "-limit", "5/s", "-max-keys", "0", log}, misuse, "-max-keys", "no keys"},
		{[]string{"replay", "-limit", "5/s", "-top", "0", log}, misuse, "-top", "none told"},
		{[]string{"replay", "-limit", "5/s", "-field", "time", log}, misuse, "NAME=FIELD", "no mapping"},
		{[]string{"replay", "-limit", "5/s", "no such file"}, failed, "no such file", "no file"},
		{[]string{"replay", "-limit", "5/s", "testdata"}, failed, "weir replay: read testdata: is a directory", "a folder"},
		{[]string{"replay", "-limit", "5/s", "-key", "header:X", log}, failed, "header:X", "not in that format"},
		{[]string{"replay", "-limit", "5/s", "-strict", log}, failed, "3 of 303 lines are broken, the first: " + log + ":52:", "broken lines"},
		{[]string{"advise", "-rate", "fast", log}, misuse, "-rate", "no rate"},
		{[]string{"advise", "-refuse", "2", log}, misuse, "-refuse", "more than all"},
		{[]string{"advise", "-refuse-keys", "x", log}, misuse, "-refuse-keys", "no share"},
		{[]string{"advise", "-refuse", "1%", "-refuse-keys", "1%", log}, misuse, "one of them", "both"},
		{[]string{"advise", "-memory", "0", log}, misuse, "-memory", "no memory"},
		{[]string{"advise", "-"}, failed, "no records", "nothing on standard input"},
		{[]string{"parse"}, misuse, "no limit", "nothing"},
		{[]string{"parse", "5/x"}, misuse, `"5/x"`, "no limit"},
		{[]string{"version", "x"}, misuse, `"x"`, "an argument"},
		{[]string{"completion"}, misuse, "bash", "no shell"},
		{[]string{"completion", "cmd"}, misuse, `"cmd"`, "no such shell"},
		{[]string{"re\nplay"}, misuse, `re\nplay`, "stays one line"},
	} {
		got := weir("", row.args...)
		if got.code != row.code || strings.Count(got.err, "\n") != 1 || !strings.HasPrefix(got.err, "weir: ") && !strings.HasPrefix(got.err, "weir "+row.args[0]+": ") || !strings.Contains(got.err, row.names) {
			t.Errorf("weir %q: %+v: %s", row.args, got, row.why)
		}
		if strict := slices.Contains(row.args, "-strict"); (got.out != "") != strict {
			t.Errorf("weir %q printed %q", row.args, got.out)
		}
	}
}

// TestFlagsAnywhere puts flags before, between and after the files, and a file that looks like one.
func TestFlagsAnywhere(t *testing.T) {
	t.Chdir("testdata")
	want := weir("", "replay", "-limit", "1/s", "-json", "access.log.1.gz", "access.log")
	for _, args := range [][]string{
		{"replay", "access.log.1.gz", "-limit", "1/s", "access.log", "-json"},
		{"replay", "-limit=1/s", "--json", "--", "access.log.1.gz", "access.log"},
		{"replay", "access.log.1.gz", "-json", "-limit", "1/s", "--", "access.log"},
	} {
		if got := weir("", args...); got != want || want.code != fine {
			t.Errorf("weir %q: %+v", args, got)
		}
	}
	if got := weir("", "replay", "-limit", "1/s", "--", "-json"); got.code != failed || !strings.Contains(got.err, "open -json") {
		t.Errorf("%+v", got)
	}
}

// TestFileOrder names a log before the one that was rotated away earlier, as a shell writes access.log*.
func TestFileOrder(t *testing.T) {
	t.Chdir("testdata")
	said := "access.log.1.gz begins earlier than access.log, which was read before it: name the older file first."
	for _, row := range []struct {
		files []string
		said  bool
	}{{[]string{"access.log", "access.log.1.gz"}, true}, {[]string{"access.log.1.gz", "access.log"}, false}} {
		for _, args := range [][]string{{"replay", "-limit", "1/s"}, {"advise"}} {
			got := weir("", append(args, row.files...)...)
			if out := strings.Join(strings.Fields(got.out), " "); got.code != fine || strings.Contains(out, said) != row.said ||
				!strings.Contains(out, " too far out of order: see the notes below") || strings.Contains(out, " 3 lines broken, 0 requests too far") == row.said {
				t.Errorf("weir %q of %q: %s%s", args, row.files, got.out, got.err)
			}
		}
	}
}

// TestPastRange gives a log that spans more than a limit counts: a stamp of 1970 at its top.
func TestPastRange(t *testing.T) {
	log := "time,key\n0,a\n" + strings.Repeat("1700000000,a\n", 3)
	r := decode[replay.Result](t, weir(log, "replay", "-json", "-limit", "31/s", "-limit", "1/s", "-limit", "0/s burst 9", "-limit", "unlimited", "-"))
	for i, want := range []int64{3, 0, 0, 0} {
		if got := r.Limits[i].PastRange; got != want {
			t.Errorf("%v: %d requests are past its range, want %d", r.Limits[i].Limit, got, want)
		}
	}
	if got := weir(log, "replay", "-limit", "31/s", "-").out; !strings.Contains(got, "key: 31/s burst 1: 3 requests so long after the first that nothing refills") {
		t.Error(got)
	}
	a := decode[advise.Result](t, weir(log, "advise", "-json", "-rate", "1/s,31/s", "-"))
	if len(a.Curve) != 1 || a.Curve[0].Rate != "1/s" || !slices.Equal(a.Skipped, []string{"31/s"}) {
		t.Errorf("%+v, left out %q", a.Curve, a.Skipped)
	}
}

// TestFormatsAgree reads the same requests from three formats.
func TestFormatsAgree(t *testing.T) {
	t.Chdir("testdata")
	var first replay.Result
	for i, args := range [][]string{
		{"caddy.json"}, {"envoy.json"}, {"other.json", "-field", "time=when", "-field", "client=peer"},
	} {
		got := decode[replay.Result](t, weir("", append([]string{"replay", "-json", "-limit", "10/m burst 2"}, args...)...))
		if i == 0 {
			first = got
		}
		if got.Limits[0].Refused == 0 || !reflect.DeepEqual(got.Limits, first.Limits) || !reflect.DeepEqual(got.Timeline, first.Timeline) {
			t.Errorf("%q: %+v, want %+v", args, got.Limits, first.Limits)
		}
	}
}

// TestAnonymize looks for what stands in the log in all that is printed.
func TestAnonymize(t *testing.T) {
	t.Chdir("testdata")
	secrets := []string{"192.0.2.", "2001:db8", "\\x16\\x03"}
	for _, args := range [][]string{
		{"replay", "-limit", "1/m", "access.log"}, {"replay", "-limit", "1/m", "-joint", "-json", "access.log"}, {"advise", "access.log"}, {"advise", "-json", "access.log"},
	} {
		open, hidden := weir("", args...), weir("", append(args, "-anonymize")...)
		for _, s := range secrets {
			if json := slices.Contains(args, "-json"); !strings.Contains(strings.ReplaceAll(open.out, `\\`, `\`), s) && s != "2001:db8" {
				t.Errorf("weir %q does not even say %q (JSON: %v)", args, s, json)
			}
			if strings.Contains(strings.ReplaceAll(hidden.out+hidden.err, `\\`, `\`), s) {
				t.Errorf("weir %q tells %q", args, s)
			}
		}
		if !strings.Contains(hidden.out, "key-") || hidden.code != fine {
			t.Errorf("weir %q: %+v", args, hidden)
		}
		if again := weir("", append(args, "-anonymize")...); again.out == hidden.out {
			t.Errorf("weir %q: two runs have the same hashes, so that whoever has the program can try all addresses", args)
		}
	}
	one := decode[replay.Result](t, weir("", "replay", "-json", "-limit", "1/m", "access.log"))
	two := decode[replay.Result](t, weir("", "replay", "-json", "-limit", "1/m", "-anonymize", "access.log"))
	if len(one.Limits[0].MostRefused) != len(two.Limits[0].MostRefused) || one.Limits[0].Refused != two.Limits[0].Refused {
		t.Error("hiding keys changes numbers")
	}
}

// TestTextIsTheResult holds what people see against what programs get.
func TestTextIsTheResult(t *testing.T) {
	t.Chdir("testdata")
	style := text.Style{Width: 100}
	args := []string{"replay", "-limit", "1/s burst 2", "-limit", "all: 3/s burst 5", "-joint", "access.log"}
	r := decode[replay.Result](t, weir("", append(args, "-json")...))
	if got := weir("", args...).out; got != text.Replay(&r, style) {
		t.Errorf("%s\n%s", got, text.Replay(&r, style))
	}
	a := decode[advise.Result](t, weir("", "advise", "-json", "requests.csv", "-key", "tenant", "-cost", "tokens"))
	if got := weir("", "advise", "requests.csv", "-key", "tenant", "-cost", "tokens").out; got != text.Advice(&a, style) {
		t.Errorf("%s\n%s", got, text.Advice(&a, style))
	}
	ascii := weir("", append(args, "-ascii")...).out
	for _, r := range ascii {
		if r > '~' {
			t.Fatalf("%q is not ASCII in\n%s", r, ascii)
		}
	}
}

func TestProgress(t *testing.T) {
	t.Chdir("testdata")
	if got := weir("", "advise", "-progress", "access.log"); !strings.Contains(got.err, "following the queues\n") || got.code != fine {
		t.Errorf("%q", got.err)
	}
	if got := weir("", "advise", "access.log"); got.err != "" {
		t.Errorf("%q, and stderr is no terminal", got.err)
	}
}

func TestVersion(t *testing.T) {
	v := versionOf(&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-05T08:00:00Z"}, {Key: "vcs.modified", Value: "true"},
	}})
	if got := v.String(); !strings.HasPrefix(got, "weir v1.2.3, revision abc of 2026-01-05T08:00:00Z, modified, go") {
		t.Error(got)
	}
	if got := versionOf(nil).String(); !strings.HasPrefix(got, "weir (devel), go") {
		t.Error(got)
	}
	decode[version](t, weir("", "version", "-json"))
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestUnwritableResult(t *testing.T) {
	for _, args := range [][]string{{"-help"}, {"replay", "-help"}, {"parse", "1/s"}, {"version"}, {"completion", "bash"}, {"replay", "-limit", "1/s", "testdata/access.log"}, {"advise", "-json", "testdata/access.log"}} {
		var errs bytes.Buffer
		p := &program{stdin: strings.NewReader(""), stdout: fullDisk{}, stderr: &errs}
		if code := p.run(args); code != failed || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("weir %q: exit %d, %q", args, code, errs.String())
		}
	}
}
