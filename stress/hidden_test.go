package stress_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// hidden are the calls by which work is done later, without the caller.
var hidden = map[string]string{
	"runtime.SetFinalizer": "a finalizer",
	"runtime.AddCleanup":   "a cleanup",
	"time.AfterFunc":       "a timer with a function",
	"time.NewTicker":       "a ticker",
	"time.Tick":            "a ticker",
	"time.After":           "a timer that nobody stops",
	"time.NewTimer":        sleeper,
}

const sleeper = "the timer of a sleeper"

// found lists what a file does behind its caller's back.
func found(file *ast.File) (what []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			what = append(what, "a goroutine")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && hidden[x.Name+"."+n.Sel.Name] != "" {
				what = append(what, hidden[x.Name+"."+n.Sel.Name])
			}
			if n.Sel.Name == "Go" { // of a sync.WaitGroup
				what = append(what, "a goroutine")
			}
		}
		return true
	})
	return what
}

// What of L11 no caller can see is read from the source: atomic and shard start
// no goroutine, set no finalizer, and have no timer but the one of a Wait.
func TestNoHiddenWork(t *testing.T) {
	files, sleepers := 0, 0
	for _, dir := range []string{"atomic", "shard"} {
		names, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			files++
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, what := range found(file) {
				if what == sleeper && name == filepath.Join("..", "atomic", "wait.go") {
					sleepers++
					continue
				}
				t.Errorf("%s has %s", name, what)
			}
		}
	}
	if files < 20 || sleepers != 1 {
		t.Errorf("%d files were read and %d sleepers found, want 20 or more and 1", files, sleepers)
	}
}

func TestHiddenWorkIsFound(t *testing.T) {
	for _, row := range []struct {
		body string
		want int
		why  string
	}{
		{"go f()", 1, "a goroutine"},
		{"var wg sync.WaitGroup; wg.Go(f)", 1, "one by a WaitGroup"},
		{"runtime.SetFinalizer(x, f); runtime.AddCleanup(x, g, 1)", 2, "a finalizer and a cleanup"},
		{"time.AfterFunc(d, f)", 1, "a timer with a function"},
		{"<-time.After(d)", 1, "a timer that nobody stops"},
		{"t := time.NewTimer(d); t.Stop()", 1, sleeper},
		{"f(); time.Sleep(d)", 0, "nothing"},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; func _() { "+row.body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(found(file)); got != row.want {
			t.Errorf("%q: %d found, want %d: %s", row.body, got, row.want, row.why)
		}
	}
}
