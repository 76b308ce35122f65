package docs_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A goMod is what the tests read of `go mod edit -json` and `go work edit
// -json`.
type goMod struct {
	Module  struct{ Path string }
	Require []struct {
		Path, Version string
		Indirect      bool
	}
	Replace []struct {
		Old, New struct{ Path string }
	}
	Use []struct{ DiskPath string }
}

// TestRequirements keeps an importer of weir from pulling in more than is
// known.
func TestRequirements(t *testing.T) {
	want := map[string]string{
		xsync:                "v3.5.1",
		maglev:               "v0.0.0-20200611225407-8961b9b1b8e6",
		hrtime:               "v1.0.3",
		"go.uber.org/goleak": "v1.3.0",
	}
	got := map[string]string{}
	for _, r := range readMod(t, root).Require {
		if !r.Indirect {
			got[r.Path] = r.Version
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("go.mod requires directly %v, want %v", got, want)
	}
}

// TestWorkspace finds the nested modules: each is in go.work, has the path of
// its folder and replaces weir by this tree, so that it also builds without
// go.work.
func TestWorkspace(t *testing.T) {
	dirs := []string{"."}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "go.mod" && filepath.Dir(path) != root {
			dir, _ := filepath.Rel(root, filepath.Dir(path))
			dirs = append(dirs, filepath.ToSlash(dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var work goMod
	parse(t, &work, goTool(t, root, "work", "edit", "-json", "go.work"))
	used := []string{}
	for _, u := range work.Use {
		used = append(used, filepath.ToSlash(filepath.Clean(u.DiskPath)))
	}
	slices.Sort(dirs)
	slices.Sort(used)
	if !slices.Equal(dirs, used) {
		t.Errorf("go.work uses %q, but there are modules in %q", used, dirs)
	}
	for _, dir := range dirs {
		if dir == "." {
			continue
		}
		m := readMod(t, filepath.Join(root, dir))
		if want := module + "/" + dir; m.Module.Path != want {
			t.Errorf("%s: the module is called %s, want %s", dir, m.Module.Path, want)
		}
		up := strings.TrimSuffix(strings.Repeat("../", strings.Count(dir, "/")+1), "/")
		replaced := false
		for _, r := range m.Replace {
			replaced = replaced || r.Old.Path == module && strings.TrimSuffix(r.New.Path, "/") == up
		}
		if !replaced {
			t.Errorf("%s: go.mod does not replace %s by %s", dir, module, up)
		}
	}
}

func readMod(t *testing.T, dir string) (m goMod) {
	t.Helper()
	parse(t, &m, goTool(t, dir, "mod", "edit", "-json"))
	return m
}

func parse(t *testing.T, m *goMod, text string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
}

// goTool runs the go command in dir as on a fresh machine that has no network,
// and returns what it printed.
func goTool(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=", "GOPROXY=off", "GOSUMDB=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
