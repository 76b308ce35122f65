package main

import (
	"path/filepath"
	"strings"
	"sync"
)

// A runner runs the mutants of one package after the other.
type runner struct {
	*config
	builder *builder
	overlay string
	stress  *suite
	tally   tally
}

// run runs a package's mutants.
func (r *runner) run(dir string, all []*mutant) error {
	var run []*mutant
	for _, m := range all {
		if m.broken || r.tally.reasons[m.key] != "" && !r.again {
			r.tally.add(m, "")
		} else {
			run = append(run, m)
		}
	}
	if len(run) == 0 {
		return nil
	}
	own, err := r.build(dir, "", r.tests, r.skip)
	if err != nil {
		return err
	}
	suites := []*suite{own}
	if r.hooked(dir) {
		s, err := r.build(dir, invariants, r.tests, r.skip)
		if err != nil {
			return err
		}
		suites = append(suites, s)
	}
	if r.suite != "-" && r.stress == nil {
		if r.stress, err = r.build("stress", "", r.suite, "^$"); err != nil {
			return err
		}
	}
	next := make(chan *mutant)
	var workers sync.WaitGroup
	for range max(r.workers, 1) {
		workers.Go(func() {
			for m := range next {
				r.tally.add(m, r.kill(m.id, suites))
			}
		})
	}
	for _, m := range run {
		next <- m
	}
	close(next)
	workers.Wait()
	return nil
}

// hooked reports whether the package has steps that are checked under the tag.
func (r *runner) hooked(dir string) bool {
	for _, s := range r.builder.sources {
		if filepath.Dir(s.path) == dir && strings.Contains(s.text, "invariants.On") {
			return true
		}
	}
	return false
}

func (r *runner) build(dir, tag, tests, skip string) (*suite, error) {
	s, err := r.builder.tests(r.overlay, dir, tag)
	if err != nil {
		return nil, err
	}
	return s, s.prepare(tests, skip)
}

// kill returns what kills a mutant, "" if nothing does. The slow tests of all
// builds come after the others.
func (r *runner) kill(id int, suites []*suite) string {
	for _, span := range [][2]int{{0, 1}, {2, 2}} {
		for _, s := range suites {
			if by := s.kill(id, span[0], min(span[1], r.stages-1)); by != "" {
				return by
			}
		}
	}
	if r.stress != nil {
		return r.stress.kill(id, 0, r.stages-1)
	}
	return ""
}
