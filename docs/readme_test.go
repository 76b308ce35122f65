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
	"strconv"
	"strings"
	"testing"

	// A change of these has to be a change of this test: go test caches.
	_ "github.com/weir-go/weir/atomic"
	_ "github.com/weir-go/weir/clock"
	_ "github.com/weir-go/weir/clock/tsc"
	_ "github.com/weir-go/weir/gcra"
	_ "github.com/weir-go/weir/httplimit"
	_ "github.com/weir-go/weir/shard"
)

const (
	readme = "README.md"
	guide  = "docs/guide.md"
	shared = "contrib/redislimit"
)

// known are the packages whose names the blocks may use unexplained, by their
// paths, and where these end otherwise, with the name before it.
var known = []string{
	"context", "encoding/json", "errors", "expvar", "fmt", "io", "io/fs", "log", "log/slog", "math", "net/http", "net/http/httptest", "net/netip",
	"os", "path/filepath", "strconv", "strings", "testing", "testing/synctest", "time",
	module + "/atomic", module + "/clock", module + "/clock/tsc", module + "/gcra", module + "/httplimit", module + "/shard",
	module + "/" + shared, module + "/" + shared + "/lease", "redis github.com/redis/go-redis/v9", "miniredis github.com/alicebob/miniredis/v2",
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
`,
	"save": `
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "balances")
	start := func() *shard.Limiter[string] {
		limiter := shard.New[string](gcra.PerHour(10).Burst(10))
		if err := load(limiter, path); err != nil {
			log.Fatal(err)
		}
		return limiter
	}
	old := start()
	for range 2 {
		old.Take("ann", 4)
		if err := save(old, path); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(start().Peek("ann", 1).Remaining())
	files, err := os.ReadDir(dir)
	fmt.Println(len(files), err)
	fmt.Println(errors.Is(save(old, filepath.Join(path, "below a file")), fs.ErrNotExist), save(old, dir) != nil)
	files, err = os.ReadDir(dir)
	fmt.Println(len(files), err)
	// Output:
	// 2
	// 1 <nil>
	// false true
	// 1 <nil>
`}

// A block is a fenced part of a document.
type block struct {
	document string
	line     int // of its first line of text
	text     string
}

// blocks returns the blocks in any of the languages.
func blocks(t *testing.T, document string, languages ...string) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, document))
	if err != nil {
		t.Fatal(err)
	}
	var found []block
	fence := regexp.MustCompile("(?ms)^```(?:" + strings.Join(languages, "|") + ")\n(.*?)^```$")
	for _, m := range fence.FindAllSubmatchIndex(text, -1) {
		found = append(found, block{document, 1 + strings.Count(string(text[:m[2]]), "\n"), string(text[m[2]:m[3]])})
	}
	if len(found) == 0 {
		t.Fatalf("%s has no blocks in %s", document, languages)
	}
	return found
}

// TestReadme follows README from a program that lies beside a checkout: it
// sets the program's module up by each of the command blocks, then builds and
// runs all the Go blocks in it.
func TestReadme(t *testing.T) {
	ways := checkouts(t)
	for _, way := range ways {
		name, _, _ := strings.Cut(way.text, " .")
		t.Run(name, func(t *testing.T) { runBlocks(t, way, readme) })
	}
	if len(ways) != 2 {
		t.Errorf("README.md tells %d ways to use a checkout, want 2", len(ways))
	}
}

// TestGuide builds and runs the Go blocks of the other pages, in one of those
// ways.
func TestGuide(t *testing.T) {
	for _, page := range []string{guide, "docs/faq.md", coming} {
		t.Run(page, func(t *testing.T) { runBlocks(t, checkouts(t)[0], page) })
	}
}

// checkouts returns the ways to use a checkout that README tells.
func checkouts(t *testing.T) []block {
	t.Helper()
	return slices.DeleteFunc(blocks(t, readme, "sh"), func(b block) bool {
		return !strings.Contains(b.text, "../weir") // for within the checkout
	})
}

// runBlocks builds and runs the document's Go blocks, each a package of its
// own, in a module that is set up by those commands.
func runBlocks(t *testing.T, setup block, document string) {
	t.Helper()
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	goTool(t, dir, "mod", "init", "example")
	for i, b := range blocks(t, document, "go") {
		if strconv.IntSize == 32 && strings.Contains(b.text, "miniredis.") {
			continue // a script's numbers become ints there
		}
		source, err := b.source()
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, fmt.Sprint("block", i), "block_test.go"), source)
	}
	commands := setup.text
	if document == guide {
		commands += "go work use ../weir/" + shared + "\n"
	}
	for command := range strings.Lines(commands) {
		args := words(t, strings.ReplaceAll(command, "../weir", checkout))
		goTool(t, dir, args...)
	}
	if out := goTool(t, dir, "test", "./..."); strings.Contains(out, "[no test") {
		t.Errorf("a block ran nothing:\n%s", out)
	}
}

// TestGuideCommands runs the commands of the guide and of README, in the
// checkout. They print what the text block that follows them says, and perhaps
// more lines. What README says to do first is done elsewhere: by the gate, and by
// TestReadme.
func TestGuideCommands(t *testing.T) {
	for _, document := range []string{guide, readme} {
		ran := 0
		var printed []string // since the last text block
		for _, b := range blocks(t, document, "sh", "text") {
			if strings.HasPrefix(b.text, "go ") {
				for command := range strings.Lines(b.text) {
					if document == readme && !strings.Contains(command, "./cmd/") {
						continue
					}
					out := goTool(t, root, words(t, command)...)
					printed = slices.AppendSeq(printed, strings.SplitSeq(out, "\n"))
					ran++
				}
				continue
			}
			for want := range strings.Lines(b.text) {
				want = strings.TrimSuffix(want, "\n")
				i := slices.Index(printed, want)
				if i < 0 {
					t.Fatalf("%s:%d: %q is not printed, or before the lines above it", document, b.line, want)
				}
				printed = printed[i+1:]
			}
			printed = nil
		}
		if ran == 0 {
			t.Errorf("%s has no command to run", document)
		}
	}
}

// words splits a command of a document, as a shell does if it has no quotes
// but double ones, and drops the "go" before it.
func words(t *testing.T, command string) []string {
	t.Helper()
	var all []string
	for i, part := range strings.Split(strings.TrimSpace(command), `"`) {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	if all[0] != "go" {
		t.Fatalf("%q: only the go command is to be needed", command)
	}
	return all[1:]
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
	at := fmt.Sprintf("//line %s:%d\n", b.document, b.line)
	body := at + b.text
	if f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+b.text, 0); err != nil {
		body = "func Example() {\n" + at + b.text + "}\n"
		if !strings.Contains(b.text, "// Output:") {
			return "", fmt.Errorf("%s:%d: these statements have no // Output", b.document, b.line)
		}
	} else if name := firstFunc(f); !strings.HasPrefix(name, "Test") {
		driver, ok := drivers[name]
		if !ok {
			return "", fmt.Errorf("%s:%d: nothing calls %q", b.document, b.line, name)
		}
		body += "func Example() {" + driver + "}\n"
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+body, 0)
	if err != nil {
		return "", err
	}
	return "package block_test\n" + importsFor(f) + body, nil
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
					name, path, named := strings.Cut(path, " ")
					if !named {
						name, path = name[strings.LastIndexByte(name, '/')+1:], name
					}
					if name == x.Name {
						imports = append(imports, fmt.Sprintf("import %s %q\n", name, path))
					}
				}
			}
		}
		return true
	})
	slices.Sort(imports)
	return strings.Join(slices.Compact(imports), "")
}
