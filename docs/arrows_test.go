package docs_test

import (
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module = "github.com/weir-go/weir"
	root   = ".." // of the repository

	xsync  = "github.com/puzpuzpuz/xsync/v3"
	maglev = "github.com/dgryski/go-maglev"
	hrtime = "github.com/loov/hrtime"
)

// above is what programs may be made of.
var above = []string{"gcra", "clock", "clock/tsc", "atomic", "shard", "shard/ring", "httplimit", "stress", hrtime}

// arrows says what the non-test code of each package may import besides the
// standard library. A row that ends in "/..." stands for the packages below it.
// Whoever adds a package adds a row.
var arrows = map[string][]string{
	"gcra":                {},
	"clock":               {},
	"clock/tsc":           {hrtime},
	"atomic":              {"gcra", "clock", "internal/invariants"},
	"internal/invariants": {"gcra"},
	"shard":               {"atomic", "gcra", "clock", "internal/invariants", xsync},
	"shard/ring":          {maglev},
	"httplimit":           {"gcra"},
	"stress":              {"gcra", "clock"},
	"stress/histories":    {},
	"stress/mutants":      {},
	"internal/logline":    {},
	"internal/exact":      {"gcra"},
	"internal/console":    {},
	"internal/dice":       {},
	"cmd/weir": {"gcra", "internal/console", "cmd/weir/internal/logs", "cmd/weir/internal/replay", "cmd/weir/internal/advise",
		"cmd/weir/internal/text", "cmd/weir/internal/report"},
	"cmd/weir/internal/brute":  {},
	"cmd/weir/internal/check":  {"gcra", "cmd/weir/internal/advise", "cmd/weir/internal/brute"},
	"cmd/weir/internal/logs":   {"internal/logline"},
	"cmd/weir/internal/replay": {"gcra", "cmd/weir/internal/logs"},
	"cmd/weir/internal/advise": {"gcra", "cmd/weir/internal/logs", "cmd/weir/internal/replay"},
	"cmd/weir/internal/text": {"gcra", "internal/console", "internal/exact", "cmd/weir/internal/logs", "cmd/weir/internal/replay",
		"cmd/weir/internal/advise"},
	"cmd/weir/internal/report": {"gcra", "internal/console", "cmd/weir/internal/logs", "cmd/weir/internal/replay", "cmd/weir/internal/advise",
		"cmd/weir/internal/text"},
	"bench":             append(above[:len(above):len(above)], "bench/trace", "internal/exact", "internal/console"),
	"bench/trace":       {"internal/logline"},
	"bench/peers":       above,
	"docs/examples/...": above,
	// It shows how a program is watched.
	"docs/examples/proxy": append(above[:len(above):len(above)], "contrib/metrics", "contrib/metrics/prom"),
	"contrib/...":         above,
	// It compares redislimit with others.
	"contrib/redislimit/peers": append(above[:len(above):len(above)], "contrib/redislimit"),
	// What both of its packages have in common is the module's own.
	"contrib/metrics/prom":         {"contrib/metrics"},
	"contrib/metrics/otel":         {"contrib/metrics"},
	"contrib/metrics/internal/did": {"contrib/metrics", "clock", "gcra", "httplimit", "shard"},
	// Leases are taken from the limiter of their module, and simulated as they are.
	"contrib/redislimit/lease":     append(above[:len(above):len(above)], "contrib/redislimit"),
	"contrib/redislimit/lease/sim": append(above[:len(above):len(above)], "contrib/redislimit/lease"),
}

// A pkg is a folder with Go code that is not a test.
type pkg struct {
	path    string   // within the repository
	nested  bool     // in a module of its own: it may import other modules
	imports []string // on any platform
}

// violations lists what the package imports against the table.
func (p pkg) violations(arrows map[string][]string) []string {
	allowed, known := arrows[p.path]
	for dir := p.path; !known && dir != "."; {
		dir = filepath.ToSlash(filepath.Dir(dir))
		allowed, known = arrows[dir+"/..."]
	}
	if !known {
		return []string{p.path + " is not in the table"}
	}
	var bad []string
	for _, path := range p.imports {
		first, _, _ := strings.Cut(path, "/")
		inside, ours := strings.CutPrefix(path, module+"/")
		switch {
		case !strings.Contains(first, "."): // standard library
		case ours && slices.Contains(allowed, inside):
		case !ours && (p.nested || slices.Contains(allowed, path)):
		default:
			bad = append(bad, fmt.Sprintf("%s imports %s", p.path, path))
		}
	}
	return bad
}

func TestArrows(t *testing.T) {
	pkgs := packages(t)
	if len(pkgs) < 4 {
		t.Fatalf("found %d packages only", len(pkgs))
	}
	for _, p := range pkgs {
		for _, bad := range p.violations(arrows) {
			t.Error(bad)
		}
	}
}

// TestArrowsRefuse shows that the check can fail.
func TestArrowsRefuse(t *testing.T) {
	ours := func(path string) string { return module + "/" + path }
	for _, row := range []struct {
		p    pkg
		want int
		why  string
	}{
		{pkg{"gcra", false, []string{"math/bits", "time"}}, 0, "the standard library is free"},
		{pkg{"gcra", false, []string{ours("clock")}}, 1, "the algorithm reads no clock"},
		{pkg{"gcra", false, []string{"golang.org/x/sys/cpu"}}, 1, "nor anything foreign"},
		{pkg{"atomic", false, []string{ours("gcra"), ours("clock")}}, 0, "both are in its row"},
		{pkg{"atomic", false, []string{ours("shard"), xsync}}, 2, "arrows do not turn round, and foreign modules are named"},
		{pkg{"shard", false, []string{xsync}}, 0, "it is in its row"},
		{pkg{"httplimit", false, []string{ours("shard")}}, 1, "it knows engines by one-method interfaces"},
		{pkg{"docs/examples/proxy", false, []string{ours("shard")}}, 0, "a program is made of all"},
		{pkg{"docs/examples/proxy", false, []string{ours("bench/trace"), xsync}}, 2, "of all that is above it"},
		{pkg{"bench/peers", true, []string{"golang.org/x/time/rate", ours("atomic")}}, 0, "a nested module has its own requirements"},
		{pkg{"bench/peers", true, []string{ours("docs/examples/proxy")}}, 1, "but the arrows within weir hold for it too"},
		{pkg{"bench/peers", false, []string{"golang.org/x/time/rate"}}, 1, "were it in the main module"},
		{pkg{"util", false, nil}, 1, "a new package has to be put in the table"},
		{pkg{"shard/inner", false, nil}, 1, "below a package as well"},
	} {
		if got := row.p.violations(arrows); len(got) != row.want {
			t.Errorf("%s (nested: %v) imports %q: %q, want %d violations: %s",
				row.p.path, row.p.nested, row.p.imports, got, row.want, row.why)
		}
	}
}

// TestArrowsRead shows that the reader sees what the check is fed with.
func TestArrowsRead(t *testing.T) {
	i := slices.IndexFunc(packages(t), func(p pkg) bool { return p.path == "shard" })
	if i < 0 {
		t.Fatal("shard was not found")
	}
	p := packages(t)[i]
	for _, path := range []string{xsync, module + "/atomic", module + "/gcra", "sync"} {
		if !slices.Contains(p.imports, path) {
			t.Errorf("shard imports %s, but the reader saw only %q", path, p.imports)
		}
	}
	if p.nested || slices.Contains(p.imports, "testing") {
		t.Errorf("nested: %v, imports %q", p.nested, p.imports)
	}
}

// packages reads every package of the repository, whatever its module.
func packages(t *testing.T) []pkg {
	t.Helper()
	var pkgs []pkg
	nested := map[string]bool{}
	err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name := d.Name()
		if dir != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata") {
			return filepath.SkipDir
		}
		_, err = os.Stat(filepath.Join(dir, "go.mod"))
		nested[dir] = dir != root && (err == nil || nested[filepath.Dir(dir)])
		imports, err := importsOf(dir)
		if err != nil || imports == nil {
			return err
		}
		path, err := filepath.Rel(root, dir)
		pkgs = append(pkgs, pkg{filepath.ToSlash(path), nested[dir], imports})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

var platforms = []struct{ os, arch string }{
	{"linux", "amd64"}, {"linux", "386"}, {"linux", "arm64"},
	{"darwin", "arm64"}, {"windows", "amd64"}, {"js", "wasm"},
}

// importsOf returns what the folder's non-test code imports on any of the
// platforms, with and without the race detector and invariants: nil if it has no such code.
func importsOf(dir string) ([]string, error) {
	var seen map[string]bool
	for _, on := range platforms {
		for _, tags := range [][]string{nil, {"race"}, {"invariants"}} {
			ctx := build.Default
			ctx.GOOS, ctx.GOARCH, ctx.BuildTags = on.os, on.arch, tags
			p, err := ctx.ImportDir(dir, 0)
			if none := new(*build.NoGoError); errors.As(err, none) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if len(p.GoFiles)+len(p.CgoFiles) == 0 {
				continue // tests only
			}
			if seen == nil {
				seen = map[string]bool{}
			}
			for _, path := range p.Imports {
				seen[path] = true
			}
		}
	}
	if seen == nil {
		return nil, nil
	}
	return slices.AppendSeq([]string{}, maps.Keys(seen)), nil
}
