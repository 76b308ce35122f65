package main

import (
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sample = `package p

import "sync"

type T struct{ mu sync.Mutex; n int }

func (t *T) f(a, b int) (n int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a < b && t.g() {
		t.n += max(a, 2)
		return t.n, true
	}
	panic("no")
}

func (t *T) g() bool { return !(t.n == 0) }
`

// TestOperators: what is made of a small file, each with its text.
func TestOperators(t *testing.T) {
	s, err := parse("p/p.go", sample)
	if err != nil {
		t.Fatal(err)
	}
	all := s.generate()
	for _, row := range []struct{ key, has string }{
		{"p/p.go T.f: operator: a < b => a <= b", "a <= b && t.g()"},
		{"p/p.go T.f: operator: a < b => a >= b", "a >= b && t.g()"},
		{"p/p.go T.f: operand: a < b && t.g() => true && t.g()", "true && t.g()"},
		{"p/p.go T.f: operand: a < b && t.g() => a < b && true", "a < b && true"},
		{"p/p.go T.f: operator: t.n += max(a, 2) => t.n -= max(a, 2)", "t.n -= max(a, 2)"},
		{"p/p.go T.f: removal: t.n += max(a, 2)", ""},
		{"p/p.go T.f: extreme: max(a, 2) => min(a, 2)", "min(a, 2)"},
		{"p/p.go T.f: literal: 2 => (2 + 1)", "max(a, (2 + 1))"},
		{"p/p.go T.f: result: return t.n, true => return t.n, false", "return t.n, false"},
		{"p/p.go T.f: no lock: t.mu", ""},
		{"p/p.go T.g: negation: !(t.n == 0) => !!(t.n == 0)", ""},
		{"p/p.go T.g: operator: t.n == 0 => t.n != 0", "t.n != 0"},
	} {
		i := slices.IndexFunc(all, func(m *mutant) bool { return m.key == row.key })
		if i < 0 {
			t.Errorf("there is no %q", row.key)
			continue
		}
		if !strings.Contains(all[i].body, row.has) {
			t.Errorf("%s: without %q:\n%s", row.key, row.has, all[i].body)
		}
		if all[i].body == text(s.fset, s.functions()[0].Body) {
			t.Errorf("%s: changes nothing", row.key)
		}
	}
	for _, m := range all {
		if strings.Contains(m.key, "no lock") && strings.Contains(m.body, "mu") {
			t.Errorf("%s: there is a lock left:\n%s", m.key, m.body)
		}
		if strings.Contains(m.key, `"no"`) && !strings.Contains(m.key, "removal") {
			t.Errorf("%s: what a panic says is changed", m.key)
		}
	}
	if got := text(s.fset, s.functions()[0].Body); strings.Contains(got, "<=") || !strings.Contains(got, "Unlock") {
		t.Errorf("an edit was not undone:\n%s", got)
	}
}

// TestEmit: the file with its mutants, and which lines are whose.
func TestEmit(t *testing.T) {
	s, err := parse("p/p.go", sample)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range s.generate() {
		m.id = i + 1
		m.aside = m.key != "p/p.go T.f: operator: a < b => a <= b"
	}
	out, lines := s.emit()
	if _, err := parse("p/p.go", out); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	found := false
	for i, line := range strings.Split(out, "\n") {
		if strings.Contains(line, "a <= b") {
			found = lines[i+1] != nil && strings.HasSuffix(lines[i+1].key, "a <= b")
		} else if strings.Contains(line, "a < b") && lines[i+1] != nil {
			t.Errorf("line %d is a mutant's", i+1)
		}
	}
	if !found || strings.Count(out, "case ") != 1 {
		t.Errorf("the mutant is not there, or not known by its line:\n%s", out)
	}
}

// TestHunks: an edit by hand that does not apply, or does nothing, is an error.
func TestHunks(t *testing.T) {
	s, err := parse("p/p.go", sample)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		old, new, want string
	}{
		{"if a < b", "if a <= b", ""},
		{"if a > b", "if a <= b", "there 0 times"},
		{"t.n", "t.m", "there 3 times"},
		{"if a < b", "if  a < b", "changes nothing"},
		{"if a < b", "if a < < b", "expected"},
	} {
		m, err := s.byHand("it", []hunk{{row.old, row.new}})
		if row.want == "" && (err != nil || !m.hand) || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%q to %q: %v, want %q", row.old, row.new, err, row.want)
		}
	}
}

// TestLists: what is written down still applies to the code as it is.
func TestLists(t *testing.T) {
	_, all, err := mutants("../..", []string{"gcra", "atomic", "shard"})
	if err != nil {
		t.Fatal(err)
	}
	reasons, err := listed("../..", "explained.txt", all)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listed("../..", "open.txt", all); err != nil {
		t.Fatal(err)
	}
	byHand := 0
	for _, m := range all {
		if m.hand {
			byHand++
		}
	}
	if len(all) < 3000 || byHand < 30 || len(reasons) < 50 {
		t.Errorf("%d mutants, %d by hand, %d explained: nothing is proved", len(all), byHand, len(reasons))
	}
}

// TestHooks: what only the build with the tag invariants has is not changed,
// and does not keep the statements around it apart.
func TestHooks(t *testing.T) {
	s, err := parse("p/p.go", `package p

func (t *T) f(w *W) {
	t.g()
	if invariants.On {
		check(1 + 2)
	}
	t.h()
	if invariants.On && t.n > 3 {
		t.mark()
	}
	if w.CompareAndSwap(t, t) && invariants.On {
		t.count(5)
	}
}
`)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, m := range s.generate() {
		keys = append(keys, strings.TrimPrefix(m.key, "p/p.go T.f: "))
		for _, hook := range []string{"if invariants.On {", "check(1 + 2)", "if invariants.On && t.n > 3 {", "t.mark()", "&& invariants.On {", "t.count(5)"} {
			if strings.Count(m.body, hook) != 1 {
				t.Errorf("%s: %q is gone:\n%s", m.key, hook, m.body)
			}
		}
	}
	want := []string{
		"removal: t.g()", "removal: t.h()", "order: { t.g() t.h() }",
		"blind store: w.CompareAndSwap(t, t) => func() bool { _ = t w.Store(t) return true }()",
	}
	if !slices.Equal(keys, want) {
		t.Errorf("mutants\n%s\nwant\n%s", strings.Join(keys, "\n"), strings.Join(want, "\n"))
	}
}

// TestTally: what is explained and killed fails, and what is open does not.
func TestTally(t *testing.T) {
	m := func(key string) *mutant { return &mutant{key: key} }
	listed := tally{reasons: map[string]string{"a": "why"}, open: map[string]string{"b": "why"}}
	for _, row := range []struct{ key, by, want string }{
		{"a", "", ""},
		{"a", "p: TestA", "1 in explained.txt are killed"},
		{"b", "", ""},
		{"b", "p: TestA", ""},
		{"c", "p: TestA", ""},
		{"c", "", "1 survived"},
	} {
		got := ""
		y := tally{reasons: listed.reasons, open: listed.open}
		y.add(m(row.key), row.by)
		if err := y.end(); err != nil {
			got = err.Error()
		}
		if got != row.want {
			t.Errorf("%q by %q: %q, want %q", row.key, row.by, got, row.want)
		}
	}
	none := tally{}
	if err := none.end(); err == nil {
		t.Error("no mutant is no failure")
	}
}
