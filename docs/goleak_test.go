package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// noGoleak says of each package with tests that looks for no leaked goroutines
// why it does not.
var noGoleak = map[string]string{
	"docs": "it starts no goroutine but those of os/exec, and tests no package",
}

// TestGoleak finds the packages with tests, whatever their module: in each,
// TestMain looks for goroutines that were left behind.
func TestGoleak(t *testing.T) {
	tested := 0
	err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if n := d.Name(); dir != root && (strings.HasPrefix(n, ".") || strings.HasPrefix(n, "_") || n == "testdata") {
			return filepath.SkipDir
		}
		files, err := testFiles(dir)
		if err != nil || len(files) == 0 {
			return err
		}
		tested++
		path, err := filepath.Rel(root, dir)
		path = filepath.ToSlash(path)
		switch why, excused := noGoleak[path]; {
		case verifies(files) && excused:
			t.Errorf("%s looks for leaked goroutines, and is excused: %s", path, why)
		case !verifies(files) && !excused:
			t.Errorf("%s: no TestMain calls goleak.VerifyTestMain, and no reason is given", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if tested < 10 {
		t.Errorf("found %d packages with tests only", tested)
	}
}

// TestGoleakRefuses shows that the check can fail.
func TestGoleakRefuses(t *testing.T) {
	for _, row := range []struct {
		code string
		want bool
		why  string
	}{
		{`func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }`, true, "as it should be"},
		{`func TestMain(m *testing.M) { child(); goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }`, true, "after something else"},
		{`func TestMain(m *testing.M) { os.Exit(m.Run()) }`, false, "it does not look"},
		{`func TestOther(t *testing.T) { goleak.VerifyNone(t) }`, false, "only one test does"},
		{`func Main(m *testing.M) { goleak.VerifyTestMain(m) }`, false, "nobody calls it"},
		{`func (x T) TestMain(m *testing.M) { goleak.VerifyTestMain(m) }`, false, "nor this"},
		{`func TestMain(m *testing.M) { VerifyTestMain(m) }`, false, "who knows which"},
		{`// func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }`, false, "it was taken out"},
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "a_test.go", "package a\n"+row.code, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := verifies([]*ast.File{f}); got != row.want {
			t.Errorf("%s: %v, want %v: %s", row.code, got, row.want, row.why)
		}
	}
}

func testFiles(dir string) (files []*ast.File, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// verifies reports whether a TestMain in the files calls goleak.VerifyTestMain.
func verifies(files []*ast.File) (found bool) {
	for _, file := range files {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || f.Name.Name != "TestMain" {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "VerifyTestMain" {
					x, ok := s.X.(*ast.Ident)
					found = found || ok && x.Name == "goleak"
				}
				return true
			})
		}
	}
	return found
}
