package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// A mutant is one function with one thing changed.
type mutant struct {
	id   int
	file string // with its folder: gcra/decide.go
	fn   string
	key  string // what a list of survivors calls it: it does not hang on line numbers
	body string
	hand bool

	aside  bool // not wanted in this run
	broken bool // does not compile
}

// A source is a file and the mutants of its functions.
type source struct {
	path string
	text string
	fset *token.FileSet
	tree *ast.File
	made map[*ast.FuncDecl][]*mutant
}

// read parses the package's files, but those that not every build has or uses.
func read(root, dir string) ([]*source, error) {
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []*source
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "invariants.go" || strings.Contains(string(text), "\n//go:build") || strings.HasPrefix(string(text), "//go:build") {
			continue
		}
		s, err := parse(dir+"/"+filepath.Base(path), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func parse(path, text string) (*source, error) {
	s := &source{path: path, text: text, fset: token.NewFileSet(), made: map[*ast.FuncDecl][]*mutant{}}
	var err error
	s.tree, err = parser.ParseFile(s.fset, path, text, 0)
	return s, err
}

func (s *source) functions() []*ast.FuncDecl {
	var all []*ast.FuncDecl
	for _, d := range s.tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			all = append(all, fn)
		}
	}
	return all
}

// name is the function's, with its receiver's type.
func name(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if g, ok := t.(*ast.IndexExpr); ok {
		t = g.X
	}
	return t.(*ast.Ident).Name + "." + fn.Name.Name
}

// generate makes all mutants that the operators find.
func (s *source) generate() (all []*mutant) {
	for _, fn := range s.functions() {
		times := map[string]int{}
		for _, e := range edits(s.fset, fn) {
			was := text(s.fset, e.at)
			e.do()
			now, body := text(s.fset, e.at), text(s.fset, fn.Body)
			e.undo()
			key := fmt.Sprintf("%s %s: %s: %s", s.path, name(fn), e.op, short(was))
			if now != was {
				key += " => " + short(now)
			}
			if times[key]++; times[key] > 1 {
				key = fmt.Sprintf("%s #%d", key, times[key])
			}
			m := &mutant{file: s.path, fn: name(fn), key: key, body: body}
			s.made[fn] = append(s.made[fn], m)
			all = append(all, m)
		}
	}
	return all
}

// A hunk is a piece of a file's text, which has to be there once, and what
// stands instead.
type hunk struct{ old, new string }

// byHand makes a mutant of a fault that was written down.
func (s *source) byHand(title string, hunks []hunk) (*mutant, error) {
	changedText := s.text
	for _, h := range hunks {
		// Without the end of the last line, of which a beginning will do.
		h.old, h.new = strings.TrimSuffix(h.old, "\n"), strings.TrimSuffix(h.new, "\n")
		if n := strings.Count(changedText, h.old); n != 1 {
			return nil, fmt.Errorf("%s: hand mutant %q: its old text is there %d times:\n%s", s.path, title, n, h.old)
		}
		changedText = strings.Replace(changedText, h.old, h.new, 1)
	}
	changed, err := parse(s.path, changedText)
	if err != nil {
		return nil, fmt.Errorf("hand mutant %q: %w", title, err)
	}
	theirs := changed.functions()
	var found *mutant
	for i, fn := range s.functions() {
		if body := text(changed.fset, theirs[i].Body); body != text(s.fset, fn.Body) {
			if found != nil {
				return nil, fmt.Errorf("hand mutant %q changes two functions", title)
			}
			found = &mutant{file: s.path, fn: name(fn), key: s.path + " " + name(fn) + ": hand: " + title, body: body, hand: true}
			s.made[fn] = append(s.made[fn], found)
		}
	}
	if found == nil {
		return nil, fmt.Errorf("hand mutant %q changes nothing", title)
	}
	return found, nil
}

// emit returns the file with the mutants in it: each function begins with a
// switch, and the mutant in force runs its own body instead. lines tells for
// each line of the result whose it is.
func (s *source) emit() (out string, lines map[int]*mutant) {
	lines = map[int]*mutant{}
	var b strings.Builder
	line, last := 1, 0
	write := func(text string, m *mutant) {
		for range strings.Count(text, "\n") {
			if m != nil {
				lines[line] = m
			}
			line++
		}
		b.WriteString(text)
	}
	for _, fn := range s.functions() {
		at := s.fset.Position(fn.Body.Lbrace).Offset + 1
		write(s.text[last:at], nil)
		last = at
		end := "panic(\"mutant: past the end\")"
		if fn.Type.Results == nil {
			end = "return"
		}
		open := false
		for _, m := range s.made[fn] {
			if m.aside || m.broken {
				continue
			}
			if !open {
				write("\nif inForce != 0 {\nswitch inForce {\n", nil)
				open = true
			}
			write(fmt.Sprintf("case %d:\n%s\n%s\n", m.id, m.body, end), m)
		}
		if open {
			write("}\n}\n", nil)
		}
	}
	write(s.text[last:], nil)
	return b.String(), lines
}
