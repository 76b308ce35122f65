// Mutants changes one thing after the other in gcra, atomic and shard, and asks
// whether a test fails.
//
//	go run ./stress/mutants -pkg gcra          every mutant of gcra: some minutes
//	go run ./stress/mutants -only 'hand:'      those written down in hand.txt
//	go run ./stress/mutants -only 'Cell\.'     those whose names match
//	go run ./stress/mutants -list              the names
//
// All mutants are compiled at once, each function with all its bodies, and an
// environment variable says which one is in force: so a mutant costs a run of
// the tests and no build. What is compiled is an overlay, so the tree is not
// touched. The package's own tests come first, the quickest of them before the
// others; then the same with the tag invariants, where each step is checked and
// goroutines yield between a read and a swap; and for those that survive the
// suite of package stress.
//
// A mutant that survives has to be named in explained.txt, with the reason why
// no test can tell it from the code; and what is named there has to be a mutant
// that survives. Otherwise the program fails. Tests that fail without a mutant
// because of the way in which this is compiled are left out. Those in open.txt
// are neither killed nor explained yet: they are counted and told.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	var c config
	flag.StringVar(&c.packages, "pkg", "gcra,atomic,shard", "the packages whose mutants run")
	flag.StringVar(&c.only, "only", "", "a regexp: only mutants whose names match")
	flag.IntVar(&c.stages, "stages", 3, "1 runs a package's quick tests only, 2 all but the slow ones, 3 all")
	flag.StringVar(&c.tests, "tests", "", "a regexp: only tests whose names match")
	flag.StringVar(&c.skip, "skip", "^$", "a regexp: no tests whose names match")
	flag.StringVar(&c.suite, "suite", "Laws", "a regexp: the tests of package stress that survivors meet; - for none")
	flag.BoolVar(&c.again, "explained", false, "run those in explained.txt too, and fail if one is killed")
	flag.IntVar(&c.workers, "j", 1, "how many run at once: races are met less if more do")
	flag.BoolVar(&c.list, "list", false, "print the names, run nothing")
	flag.Parse()
	root, err := os.Getwd()
	if err == nil {
		err = c.run(root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

type config struct {
	packages, only, tests, skip, suite string
	stages, workers                    int
	again, list                        bool
}

func (c *config) run(root string) error {
	only, err := regexp.Compile(c.only)
	if err != nil {
		return err
	}
	wanted := strings.Split(c.packages, ",")
	sources, all, err := mutants(root, wanted)
	if err != nil {
		return err
	}
	reasons, err := listed(root, "explained.txt", all)
	if err != nil {
		return err
	}
	open, err := listed(root, "open.txt", all)
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.aside = !only.MatchString(m.key); c.list && !m.aside {
			fmt.Println(m.key)
		}
	}
	if c.list {
		return nil
	}
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	b := &builder{root: root, tmp: tmp, sources: sources, packages: wanted}
	overlay, err := b.compile()
	if err != nil {
		return err
	}
	r := &runner{config: c, builder: b, overlay: overlay, tally: tally{reasons: reasons, open: open}}
	for _, dir := range wanted {
		var own []*mutant
		for _, m := range all {
			if filepath.Dir(m.file) == dir && !m.aside {
				own = append(own, m)
			}
		}
		if err := r.run(dir, own); err != nil {
			return err
		}
	}
	return r.tally.end()
}

// mutants makes all mutants of the packages, those by hand included.
func mutants(root string, packages []string) (sources []*source, all []*mutant, err error) {
	for _, dir := range packages {
		read, err := read(root, dir)
		if err != nil {
			return nil, nil, err
		}
		sources = append(sources, read...)
	}
	for _, s := range sources {
		all = append(all, s.generate()...)
	}
	hand, err := byHand(root, sources, packages)
	if err != nil {
		return nil, nil, err
	}
	all = slices.Concat(all, hand)
	for i, m := range all {
		m.id = i + 1
	}
	return sources, all, nil
}
