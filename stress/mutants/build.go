package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// variable says which mutant is in force; 0 is none.
const variable = "WEIR_MUTANT"

// invariants is the tag of the build in which each step is checked.
const invariants = "invariants"

const chooser = `package %s

import (
	"os"
	"strconv"
)

var inForce = func() int {
	id, _ := strconv.Atoi(os.Getenv(%q))
	return id
}()
`

// A builder builds tests from sources with all mutants in them. What it writes
// lies in its own folder: the tree stays as it is.
type builder struct {
	root, tmp string
	sources   []*source
	packages  []string
}

// overlay writes the sources and what `go build -overlay` wants to be told.
// It returns whose the lines are, by the files' flat names.
func (b *builder) overlay() (path string, lines map[string]map[int]*mutant, err error) {
	lines = map[string]map[int]*mutant{}
	replace := map[string]string{}
	put := func(file, text string) error {
		to := filepath.Join(b.tmp, flat(file))
		replace[filepath.Join(b.root, file)] = to
		return os.WriteFile(to, []byte(text), 0o666)
	}
	for _, s := range b.sources {
		var text string
		text, lines[flat(s.path)] = s.emit()
		if err := put(s.path, text); err != nil {
			return "", nil, err
		}
	}
	for _, dir := range b.packages {
		if err := put(dir+"/in_force.go", fmt.Sprintf(chooser, dir, variable)); err != nil {
			return "", nil, err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(b.tmp, "overlay.json")
	return path, lines, os.WriteFile(path, text, 0o666)
}

// flat is the name under which a file is written: the compiler complains of that.
func flat(path string) string { return strings.ReplaceAll(path, "/", "_") }

var complaint = regexp.MustCompile(`(?m)^\S*?([^/\s]+\.go):(\d+):\d+: (.*)$`)

// compile drops mutants until the rest compiles, with the tag and without. All of one package have to be
// dropped before those of the next one that imports it show.
func (b *builder) compile() (overlay string, err error) {
	for {
		overlay, lines, err := b.overlay()
		if err != nil {
			return "", err
		}
		var out []byte
		for _, tags := range []string{"", invariants} {
			args := []string{"build", "-overlay", overlay, "-gcflags=-e", "-tags", tags}
			for _, dir := range b.packages {
				args = append(args, "./"+dir)
			}
			if out, err = b.command("go", args...).CombinedOutput(); err != nil {
				break
			}
		}
		if err == nil {
			return overlay, nil
		}
		dropped := false
		for _, m := range complaint.FindAllStringSubmatch(string(out), -1) {
			line, _ := strconv.Atoi(m[2])
			mutant := lines[m[1]][line]
			if mutant == nil {
				return "", fmt.Errorf("no mutant, but the compiler says: %s", m[0])
			}
			if mutant.hand {
				return "", fmt.Errorf("%s: does not compile: %s", mutant.key, m[3])
			}
			mutant.broken, dropped = true, true
		}
		if !dropped {
			return "", fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
}

// tests builds the package's tests, with a tag or "".
func (b *builder) tests(overlay, dir, tag string) (*suite, error) {
	path := filepath.Join(b.tmp, flat(dir)+tag+".test")
	out, err := b.command("go", "test", "-c", "-vet=off", "-tags", tag, "-overlay", overlay, "-o", path, "./"+dir).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test -c ./%s: %w\n%s", dir, err, out)
	}
	return &suite{name: strings.TrimSpace(dir + " " + tag), path: path, dir: filepath.Join(b.root, dir)}, nil
}

func (b *builder) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = b.root
	return cmd
}
