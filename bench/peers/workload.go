package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A workload is one keyset, with the cases that it is asked in.
type workload struct {
	keys   int
	phases []phase
}

func (w workload) dists() (all []dist) {
	for _, ph := range w.phases {
		if !slices.Contains(all, ph.dist) {
			all = append(all, ph.dist)
		}
	}
	return all
}

// many is from where on filling a map takes so much longer than asking it that
// it is done once only, unless all of it is asked for.
const many = 4_000_000

// someMany is from where on a refusal is nothing but the lookup that a grant
// has too: cache misses.
const someMany = 100_000

// workloads are those that tell something new, or all.
func workloads(cfg config, kind string) (all []workload) {
	for _, n := range cfg.keys {
		var phases []phase
		switch {
		case cfg.full:
			phases = []phase{{uniform, granted}, {zipf, granted}, {uniform, mixed}, {zipf, mixed}, {uniform, refused}, {zipf, refused}}
		case n < many && kind == "string":
			phases = []phase{{uniform, granted}, {zipf, granted}, {uniform, mixed}}
			if n < someMany {
				phases = append(phases, phase{uniform, refused})
			}
		case n < many || kind != "string":
			phases = []phase{{uniform, granted}, {zipf, granted}}
		default:
			phases = []phase{{uniform, granted}}
		}
		all = append(all, workload{n, phases})
	}
	return all
}

// keysPlan asks about many keys, all present.
func keysPlan(cfg config) (plan, error) {
	var p plan
	if err := keyTrials(cfg, &p, stringKeys(), stringKeyed()); err != nil {
		return p, err
	}
	return p, keyTrials(cfg, &p, uintKeys(), uintKeyed())
}

func keyTrials[K comparable](cfg config, p *plan, k kind[K], subjects []subject[K]) error {
	if err := probes(subjects, k, probeKeys); err != nil {
		return err
	}
	for _, w := range workloads(cfg, k.name) {
		p.block()
		group := fmt.Sprintf("keys=%s type=%s", count(w.keys), k.name)
		set := sync.OnceValue(func() keyset[K] {
			return newKeyset(k, w.keys, cfg.mostCores(), w.dists()...)
		})
		var single []string // those with a single run
		for _, s := range subjects {
			phases := selectedPhases(cfg, group, s, w.phases)
			if len(phases) == 0 {
				continue
			}
			t := timing(cfg, group, s, keysGranted(), set, phases)
			switch {
			case cfg.full:
			case w.keys < many:
				t = t.aside()
			case s.variant && k.name == "string" && s.lib != "table-tsc":
				continue // as with uint64 keys
			case k.name == "string" || !s.sized && !s.bare:
				t.rounds = 1
				single = append(single, s.lib)
			}
			p.add(t)
		}
		if single != nil && cfg.runs > 1 {
			p.notes = append(p.notes, fmt.Sprintf("%s: a single run, without a spread, of %s: filling takes far longer than asking.", group, strings.Join(single, ", ")))
		}
	}
	if !cfg.full {
		p.notes = append(p.notes, k.name+" keys: not every case, nor every round of those that no goal names; -full has all.")
	}
	p.notes = append(p.notes, undrained(subjects)...)
	return nil
}

// selectedPhases leaves out what is not asked for and what a subject cannot do.
func selectedPhases[K comparable](cfg config, group string, s subject[K], phases []phase) (left []phase) {
	for _, ph := range phases {
		name := "keys/" + group + " " + ph.String() + "/" + s.lib
		if cfg.only.MatchString(name) && (ph.mix == granted || s.drains()) {
			left = append(left, ph)
		}
	}
	return left
}

// drains tells whether the subject can empty a key without asking for every
// token of it.
func (s subject[K]) drains() bool {
	if s.yields {
		return false
	}
	i := s.open(allRefused(), 1)
	defer i.stop()
	return i.drain != nil
}

func undrained[K comparable](subjects []subject[K]) (notes []string) {
	for _, s := range subjects {
		if !s.yields && !s.drains() {
			notes = append(notes, s.lib+": no mixed and refused cases of many keys: it charges one token at a time, and to empty a bucket of millions takes as many requests.")
		}
	}
	return notes
}
