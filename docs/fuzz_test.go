package docs_test

import (
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFuzzCorpora finds the fuzz targets, whatever their module: each has inputs
// that are committed, which every run of the tests plays.
func TestFuzzCorpora(t *testing.T) {
	targets := 0
	err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if n := d.Name(); dir != root && (strings.HasPrefix(n, ".") || strings.HasPrefix(n, "_") || n == "testdata") {
			return filepath.SkipDir
		}
		files, err := testFiles(dir)
		for _, name := range fuzzTargets(files) {
			targets++
			corpus := filepath.Join(dir, "testdata", "fuzz", name)
			if why := poor(corpus); why != "" {
				t.Errorf("%s: %s", corpus, why)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if targets < 14 {
		t.Errorf("found %d fuzz targets only", targets)
	}
}

// TestFuzzCorporaRefuses shows that the check can fail.
func TestFuzzCorporaRefuses(t *testing.T) {
	const head = "go test fuzz v1\n"
	for _, row := range []struct {
		why   string
		files map[string]string
		want  bool
	}{
		{"as it should be", map[string]string{"a": head + "int64(1)\n", "b": head + "int64(2)\n", "c": head + "int64(3)\n"}, true},
		{"none", nil, false},
		{"two", map[string]string{"a": head + "int64(1)\n", "b": head + "int64(2)\n"}, false},
		{"one twice", map[string]string{"a": head + "int64(1)\n", "b": head + "int64(1)\n", "c": head + "int64(3)\n"}, false},
		{"one is no input", map[string]string{"a": head + "int64(1)\n", "b": head + "int64(2)\n", "c": "int64(3)\n"}, false},
		{"one has the name that the fuzzer gave", map[string]string{"a": head + "int64(1)\n", "b": head + "int64(2)\n", "0123456789abcdef": head + "int64(3)\n"}, false},
	} {
		dir := t.TempDir()
		for name, text := range row.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if why := poor(dir); (why == "") != row.want {
			t.Errorf("%s: %q", row.why, why)
		}
	}
	if why := poor(filepath.Join(t.TempDir(), "FuzzNothing")); why == "" {
		t.Error("a corpus that is not there is not missed")
	}
}

func fuzzTargets(files []*ast.File) (names []string) {
	for _, file := range files {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// poor says what a corpus lacks: three different inputs, with names that say what
// they are.
func poor(corpus string) string {
	entries, err := os.ReadDir(corpus)
	if err != nil {
		return "there is no corpus"
	}
	seen := map[string]bool{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(corpus, e.Name()))
		switch {
		case err != nil:
			return err.Error()
		case !strings.HasPrefix(string(text), "go test fuzz v1\n"):
			return e.Name() + " is no input"
		case len(e.Name()) == 16 && strings.Trim(e.Name(), "0123456789abcdef") == "":
			return e.Name() + " says nothing of what it is"
		}
		seen[string(text)] = true
	}
	if len(seen) < 3 || len(seen) < len(entries) {
		return "it has too few inputs, or one twice"
	}
	return ""
}
