package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCompletion asks bash what it would complete, with the script that weir prints.
func TestCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here: " + err.Error())
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "weir.bash")
	if err := os.WriteFile(script, []byte(weir("", "completion", "bash").out), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"access.log", "my own.log"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct{ typed, want, why string }{
		{"weir ", "replay|advise|parse|version|completion|help", "the commands"},
		{"weir re", "replay", "one of them"},
		{"weir replay -jo", "-joint", "a flag"},
		{"weir replay --jo", "-joint", "a flag with two dashes, which it may have"},
		{"weir advise -refuse", "-refuse|-refuse-keys", "two flags"},
		{"weir advise -limit", "", "a flag of another command"},
		{"weir replay -format c", "combined|common|caddy|csv", "a format"},
		{"weir completion f", "fish", "a shell"},
		{"weir help v", "version", "a command to explain"},
		{"weir replay -limit 5/s acc", "access.log", "a file"},
		{"weir replay -limit 5/s my", "my own.log", "a file with a space in its name"},
	} {
		words := strings.Split(row.typed, " ")
		args := append([]string{"-c", `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weir; (IFS="|"; echo "${COMPREPLY[*]}")`, script}, words...)
		cmd := exec.Command(bash, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != row.want {
			t.Errorf("%s: %q completes to %q, %v, want %q", row.why, row.typed, got, err, row.want)
		}
	}
}

// TestCompletionIsWhole looks for every flag of every command in the scripts.
func TestCompletionIsWhole(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		got := weir("", "completion", shell)
		if got.code != fine || got.err != "" {
			t.Fatalf("%+v", got)
		}
		flags := 0
		for _, c := range commands() {
			f, _ := c.make(&program{})
			f.VisitAll(func(f *flag.Flag) {
				flags++
				want := " -o " + f.Name + " "
				if shell != "fish" {
					want = "-" + f.Name + " "
				}
				line := slices.ContainsFunc(strings.Split(got.out, "\n"), func(l string) bool {
					return strings.Contains(l, c.name) && strings.Contains(l, want)
				})
				if !line {
					t.Errorf("%s does not complete -%s of %s", shell, f.Name, c.name)
				}
			})
		}
		if flags < 20 {
			t.Errorf("%d flags", flags)
		}
	}
}

// TestFlagHelp looks for every flag in its help, with its default.
func TestFlagHelp(t *testing.T) {
	for _, c := range commands() {
		got := weir("", c.name, "-help").out
		f, _ := c.make(&program{})
		f.VisitAll(func(f *flag.Flag) {
			if !strings.Contains(got, "\n  -"+f.Name+" ") {
				t.Errorf("weir %s -help does not tell -%s", c.name, f.Name)
			}
		})
	}
}
