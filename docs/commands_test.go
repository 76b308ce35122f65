package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestCommands looks at every go command that the documents name, also those
// that take too long to run here: its package is there, has the tests or the
// benchmarks that it names, and knows its flags.
func TestCommands(t *testing.T) {
	seen := 0
	for _, document := range documents(t) {
		text, err := os.ReadFile(filepath.Join(root, document))
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range goCommands(string(text)) {
			seen++
			if err := checkCommand(command); err != nil {
				t.Errorf("%s: %s: %v", document, command, err)
			}
		}
	}
	if seen < 30 {
		t.Errorf("found %d commands only", seen)
	}
}

// TestCommandsRefuse shows that the check can fail.
func TestCommandsRefuse(t *testing.T) {
	for _, row := range []struct {
		command string
		ok      bool
		why     string
	}{
		{"go run ./bench", true, "a program"},
		{"go run ./bench -trace FILE [-limit …]", true, "with its flags, one of them as the reader likes"},
		{"go run ./bench -tracks FILE", false, "it has no such flag"},
		{"go run ./branch", false, "no such folder"},
		{"go run ./gcra", false, "no program"},
		{"go test work", true, "all modules"},
		{"go test -run '^$' -bench Joint -cpu 2 ./shard", true, "quoted as for a shell"},
		{"go test -bench '^Benchmark(Save|Load)$' ./shard", true, "an expression"},
		{"go test -bench '^BenchmarkSaved$' ./shard", false, "no such benchmark"},
		{"go test ./stress -run Soak -decisions 5", true, "a flag of the tests"},
		{"go test ./stress -run Soak -decide 5", false, "none of theirs, nor of go test"},
		{"go test ./stress -run 'Soap'", false, "no such test"},
		{"go test -run Soak", false, "where?"},
		{"go doctor", false, "no command of go"},
	} {
		if err := checkCommand(row.command); err == nil != row.ok {
			t.Errorf("%s: %v, want ok: %v: %s", row.command, err, row.ok, row.why)
		}
	}
}

// documents returns the texts that are written for readers.
func documents(t *testing.T) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != "." {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var (
	inline = regexp.MustCompile("`(go\\s+(?:run|test|install)\\s[^`]*)`")
	lines  = regexp.MustCompile(`(?m)^(go (?:run|test|install) .*)$`)
	fenced = regexp.MustCompile("(?ms)^```.*?^```$")
)

// goCommands returns the commands within sentences and in blocks for a shell.
// Those of five letters and a flag, `go test -fuzz`, are no commands but names.
func goCommands(text string) []string {
	var all []string
	for _, b := range fenced.FindAllString(text, -1) {
		if strings.HasPrefix(b, "```sh\n") {
			all = append(all, lines.FindAllString(b, -1)...)
		}
	}
	for _, m := range inline.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		all = append(all, strings.Join(strings.Fields(m[1]), " "))
	}
	return slices.DeleteFunc(all, func(c string) bool { return !strings.Contains(c, "./") && c != "go test work" })
}

// Flags of the go command that are named, and whether a value follows.
var goFlags = map[string]bool{
	"run": true, "bench": true, "fuzz": true, "fuzztime": true, "benchtime": true, "count": true, "cpu": true, "tags": true, "timeout": true,
	"exec": true, "v": false, "race": false, "short": false, "benchmem": false,
}

func checkCommand(command string) error {
	args := shellWords(command)
	if len(args) < 3 || args[0] != "go" || !slices.Contains([]string{"run", "test", "install"}, args[1]) {
		return fmt.Errorf("unknown")
	}
	sub, args := args[1], args[2:]
	var dir string
	patterns := map[string]string{}
	var flags []string
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "-")
		name, value, has := strings.Cut(name, "=")
		valued, known := goFlags[name]
		switch {
		case isFlag && known && (dir == "" || sub == "test"):
			if valued && !has {
				if i++; i == len(args) {
					return fmt.Errorf("-%s has no value", name)
				}
				value = args[i]
			}
			patterns[name] = value
		case isFlag:
			flags = append(flags, name)
		case dir == "":
			dir = args[i]
		}
	}
	if dir == "work" {
		return nil
	}
	if !strings.HasPrefix(dir, "./") {
		return fmt.Errorf("no package")
	}
	return checkPackage(sub, filepath.Join(root, strings.TrimSuffix(dir, "...")), strings.HasSuffix(dir, "..."), patterns, flags)
}

// checkPackage looks for what the command needs in the package's source.
func checkPackage(sub, dir string, below bool, patterns map[string]string, flags []string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 && !below {
		return fmt.Errorf("%s has no Go files", dir)
	}
	var names, declared []string
	program := false
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		test := strings.HasSuffix(path, "_test.go")
		program = program || !test && f.Name.Name == "main"
		if test != (sub == "test") {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				names = append(names, n.Name.Name)
			case *ast.CallExpr:
				declared = append(declared, literals(n.Args)...)
			}
			return true
		})
	}
	if sub != "test" && !program {
		return fmt.Errorf("%s is no program", dir)
	}
	for _, f := range flags {
		if !slices.Contains(declared, f) {
			return fmt.Errorf("-%s is no flag of %s", f, dir)
		}
	}
	for flag, prefix := range map[string]string{"run": "Test", "bench": "Benchmark", "fuzz": "Fuzz"} {
		pattern, given := patterns[flag]
		if !given || pattern == "^$" || below {
			continue
		}
		top, _, _ := strings.Cut(pattern, "/")
		re, err := regexp.Compile(top)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(names, func(n string) bool {
			return (strings.HasPrefix(n, prefix) || flag == "run" && strings.HasPrefix(n, "Example")) && re.MatchString(n)
		}) {
			return fmt.Errorf("-%s %s: nothing of that name in %s", flag, pattern, dir)
		}
	}
	return nil
}

// literals returns the strings among the arguments of a call: a flag's name is
// one of the first two.
func literals(args []ast.Expr) []string {
	var found []string
	for _, a := range args[:min(len(args), 2)] {
		if lit, ok := a.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				found = append(found, s)
			}
		}
	}
	return found
}

// shellWords splits a command as a shell does, and drops the brackets around
// what a reader may leave out.
func shellWords(command string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`'([^']*)'|"([^"]*)"|(\S+)`).FindAllStringSubmatch(command, -1) {
		all = append(all, m[1]+m[2]+strings.Trim(m[3], "[]"))
	}
	return all
}
