package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	// A change of these has to be a change of this test: go test caches.
	_ "github.com/weir-go/weir/atomic"
	_ "github.com/weir-go/weir/clock"
	_ "github.com/weir-go/weir/gcra"
	_ "github.com/weir-go/weir/shard"
)

// known are the packages whose names README's blocks may use unexplained.
var known = []string{
	"context", "encoding/json", "errors", "fmt", "log", "math", "net/http", "net/http/httptest", "net/netip",
	"testing", "testing/synctest", "time",
	module + "/atomic", module + "/clock", module + "/gcra", module + "/shard",
}

// drivers call what a block only declares: the body of an Example.
var drivers = map[string]string{
	"limited": `
	h := limited(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	ask := func(from string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	fmt.Println("first:", ask("192.0.2.1:1").Code)
	for range 100_000 { // more than a stalled machine refills
		if w := ask("[::ffff:192.0.2.1]:2"); w.Code != http.StatusOK {
			fmt.Println("in a flood:", w.Code, w.Header().Get("Retry-After"))
			break
		}
	}
	fmt.Println("another client:", ask("192.0.2.2:1").Code)
	// Output:
	// first: 200
	// in a flood: 429 1
	// another client: 200
`}

// A block is a fenced part of README.
type block struct {
	line int // of its first line of text
	text string
}

func blocks(t *testing.T, language string) []block {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var found []block
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllSubmatchIndex(readme, -1) {
		found = append(found, block{1 + strings.Count(string(readme[:m[2]]), "\n"), string(readme[m[2]:m[3]])})
	}
	if len(found) == 0 {
		t.Fatalf("README.md has no %s blocks", language)
	}
	return found
}

// TestReadme follows README from a program that lies beside a checkout: it
// sets the program's module up by each of the command blocks, then builds and
// runs all the Go blocks in it.
func TestReadme(t *testing.T) {
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	ways := 0
	for _, commands := range blocks(t, "sh") {
		if !strings.Contains(commands.text, "../weir") {
			continue // for within the checkout
		}
		ways++
		name, _, _ := strings.Cut(commands.text, " .")
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			goTool(t, dir, "mod", "init", "example")
			for i, b := range blocks(t, "go") {
				source, err := b.source()
				if err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, fmt.Sprint("block", i), "readme_test.go"), source)
			}
			for command := range strings.Lines(commands.text) {
				command = strings.ReplaceAll(command, "../weir", checkout)
				args := strings.Fields(command)
				if args[0] != "go" {
					t.Fatalf("%q: only the go command is to be needed", command)
				}
				goTool(t, dir, args[1:]...)
			}
			if out := goTool(t, dir, "test", "./..."); strings.Contains(out, "[no test") {
				t.Errorf("a block ran nothing:\n%s", out)
			}
		})
	}
	if ways != 2 {
		t.Errorf("README.md tells %d ways to use a checkout, want 2", ways)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// source turns a block into a test file. Tests stay as they are, statements
// become the body of an Example, and of declarations the first one's driver
// does.
func (b block) source() (string, error) {
	at := fmt.Sprintf("//line README.md:%d\n", b.line)
	body := at + b.text
	if f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+b.text, 0); err != nil {
		body = "func Example() {\n" + at + b.text + "}\n"
		if !strings.Contains(b.text, "// Output:") {
			return "", fmt.Errorf("README.md:%d: these statements have no // Output", b.line)
		}
	} else if name := firstFunc(f); !strings.HasPrefix(name, "Test") {
		driver, ok := drivers[name]
		if !ok {
			return "", fmt.Errorf("README.md:%d: nothing calls %q", b.line, name)
		}
		body += "func Example() {" + driver + "}\n"
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+body, 0)
	if err != nil {
		return "", err
	}
	return "package readme_test\n" + importsFor(f) + body, nil
}

func firstFunc(f *ast.File) string {
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			return d.Name.Name
		}
	}
	return ""
}

// importsFor imports the known packages whose names stand before a dot.
func importsFor(f *ast.File) string {
	var imports []string
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok {
				for _, path := range known {
					if path == x.Name || strings.HasSuffix(path, "/"+x.Name) {
						imports = append(imports, fmt.Sprintf("import %q\n", path))
					}
				}
			}
		}
		return true
	})
	slices.Sort(imports)
	return strings.Join(slices.Compact(imports), "")
}
