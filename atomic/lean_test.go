package atomic

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goTool runs a command of Go for one platform, whatever the test runs on.
func goTool(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// What a plain decision runs is small, and the compiler says so: a change that
// makes one of these too large to be inlined makes every caller slower.
func TestPlainPathIsInlined(t *testing.T) {
	report := goTool(t, "build", "-gcflags=-m", "../gcra", ".", "../shard")
	inlined := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)can inline (\S+)`).FindAllStringSubmatch(report, -1) {
		inlined[m[1]] = true
	}
	for _, name := range []string{
		"(*Limiter).Allow", "Allow", "At", "(*Limit).count", "Decision.OK", "Decision.DryRun", "Turn.At", "(*Core).Settled",
		"(*block).home", "(*bucket).find", "(*bucket).unused",
	} {
		if !inlined[name] {
			t.Errorf("%s is not inlined", name)
		}
	}
}

// A decision divides nothing, and is short. That is read off what was compiled,
// the whole way from Limiter.Allow down, but for the clock.
func TestPlainPathIsLean(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "test")
	goTool(t, "test", "-c", "-o", binary, ".")
	path := []string{"(*Limiter).AllowN", "(*Limiter).find", "(*Generation).At", "(*Cell).Allow", "(*Limit).tick"}
	const module = `github\.com/weir-go/weir/(atomic|gcra)\.`
	var symbols []string
	for _, name := range path {
		symbols = append(symbols, regexp.QuoteMeta(name))
	}
	code := goTool(t, "tool", "objdump", "-s", "^"+module+"("+strings.Join(symbols, "|")+")$", binary)
	functions := strings.Split(code, "TEXT ")[1:]
	if len(functions) != len(path) {
		t.Fatalf("found %d functions of %d: %s", len(functions), len(path), code)
	}
	total := 0
	for _, f := range functions {
		name, body, _ := strings.Cut(f, "\n")
		n := strings.Count(body, "\n")
		total += n
		t.Logf("%d instructions: %s", n, name)
		if div := regexp.MustCompile(`\bI?DIV[BWLQ]?\b`).FindString(body); div != "" {
			t.Errorf("%s divides: %s", name, div)
		}
	}
	const most = 220 // it is 183 with Go 1.26
	if total > most {
		t.Errorf("%d instructions from Allow down, want at most %d", total, most)
	}
}
