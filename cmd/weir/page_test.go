package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pageLog writes a small log and returns its name.
func pageLog(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("time,key\n")
	for _, at := range []string{"10:00:00", "10:00:01", "10:00:02", "10:01:30", "10:01:31"} {
		b.WriteString("2026-01-02T" + at + "Z,customer-7\n")
	}
	b.WriteString("never,customer-8\n")
	file := filepath.Join(t.TempDir(), "acme.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// runPage runs the command.
func runPage(args ...string) (code int, stdout, stderr string) {
	var out, complaints bytes.Buffer
	p := &program{stdin: strings.NewReader(""), stdout: &out, stderr: &complaints}
	code = p.run(args)
	return code, out.String(), complaints.String()
}

// -html writes a page beside the text, of the same result, and again.
func TestPage(t *testing.T) {
	log := pageLog(t)
	page := filepath.Join(t.TempDir(), "report.html")
	for _, row := range []struct {
		args []string
		code int
		has  string
		not  string
		why  string
	}{
		{[]string{"replay", "-limit", "1/s burst 2", log}, fine, "What limits would have refused", "Which limit fits", "a replay"},
		{[]string{"advise", "-rate", "1/m", log}, fine, "customer-7", "What limits would have refused", "an advice in its place"},
		{[]string{"advise", "-json", "-rate", "1/m", log}, fine, "acme.csv", "nothing of that kind", "with JSON as well"},
		{[]string{"advise", "-anonymize", "-rate", "1/m", log}, fine, "file 1", "customer", "hidden keys"},
		{[]string{"replay", "-anonymize", "-limit", "1/m", log}, fine, "key-", "acme", "hidden files"},
		{[]string{"replay", "-strict", "-limit", "1/m", log}, failed, "1 line broken", "file 1", "broken lines are no reason for no page"},
	} {
		plainCode, plain, _ := runPage(row.args...)
		code, out, complaints := runPage(append(row.args, "-html", page)...)
		if code != row.code || code != plainCode {
			t.Errorf("%s: exit code %d, want %d, and %d without: %s", row.why, code, row.code, plainCode, complaints)
		}
		if len(out) != len(plain) { // hashes differ
			t.Errorf("%s: the text is another with a page:\n%s\nand without:\n%s", row.why, out, plain)
		}
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(data, []byte(row.has)) || bytes.Contains(data, []byte(row.not)) {
			t.Errorf("%s: the page lacks %q or has %q:\n%s", row.why, row.has, row.not, data)
		}
	}
}

// What cannot be written is found out before anything is read or printed.
func TestPageRefuses(t *testing.T) {
	log := pageLog(t)
	dir := t.TempDir()
	for _, row := range []struct {
		page string
		code int
		says string
		why  string
	}{
		{"-", misuse, "standard output has the text", "standard output is taken"},
		{dir, misuse, "not a regular file", "a folder"},
		{filepath.Join(dir, "none", "r.html"), misuse, "does not exist", "no folder"},
		{filepath.Join(log, "r.html"), failed, "not a directory", "a file as a folder"},
		{log, misuse, "that is an input", "it would be replaced"},
		{filepath.Dir(log) + "/../" + filepath.Base(filepath.Dir(log)) + "/acme.csv", misuse, "that is an input", "by another name"},
	} {
		for _, args := range [][]string{{"replay", "-limit", "1/s"}, {"advise"}} {
			before, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			code, out, complaints := runPage(append(args, "-html", row.page, log)...)
			if code != row.code || out != "" || !strings.Contains(complaints, row.says) {
				t.Errorf("%s: exit code %d, want %d; %q, want %q; printed %q", row.why, code, row.code, complaints, row.says, out)
			}
			if after, err := os.ReadFile(log); err != nil || !bytes.Equal(before, after) {
				t.Errorf("%s: the input is another: %v", row.why, err)
			}
		}
	}
}

// A page would replace the file that standard output goes to, and the text in it.
func TestPageIsNotOutput(t *testing.T) {
	log := pageLog(t)
	file := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var complaints bytes.Buffer
	p := &program{stdin: strings.NewReader(""), stdout: out, stderr: &complaints}
	if code := p.run([]string{"advise", "-html", file, log}); code != misuse || !strings.Contains(complaints.String(), "standard output") {
		t.Errorf("exit code %d, %q", code, complaints.String())
	}
}

// A reader is whoever stdout goes to: it goes away, and wants the page to be there by then.
type reader struct {
	t    *testing.T
	page string
}

func (r reader) Write([]byte) (int, error) {
	if _, err := os.Stat(r.page); err != nil {
		r.t.Errorf("the text comes before the page: %v", err)
	}
	return 0, os.ErrClosed
}

func TestPageBeforeText(t *testing.T) {
	log := pageLog(t)
	for _, args := range [][]string{{"replay", "-limit", "1/s"}, {"advise"}} {
		page := filepath.Join(t.TempDir(), "report.html")
		p := &program{stdin: strings.NewReader(""), stdout: reader{t, page}, stderr: new(bytes.Buffer)}
		if code := p.run(append(args, "-html", page, log)); code != failed {
			t.Errorf("weir %q: exit %d", args, code)
		}
	}
}
