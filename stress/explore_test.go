package stress_test

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
)

// A model is a small world that a few actors change step by step, each by a
// program of its own. A world is a comparable value without pointers.
type model[W comparable] interface {
	// hands is how many actors there are; the last one is the clock's hand.
	hands() int
	// step lets an actor do its next step, in one of the ways that there are,
	// counted from 0. It reports false if the actor has ended, has to wait, or
	// has no such way.
	step(w *W, who, way int) bool
	// wrong returns what no world may be like, ended or not.
	wrong(w *W) error
	// ended tells whether all have ended, the clock's hand apart.
	ended(w *W) bool
	// audit returns what is wrong with a world that has ended.
	audit(w *W) error
	// label names the step that an actor is at.
	label(w *W, who int) string
}

var errStuck = errors.New("nobody can move, and not all have ended")

// explore visits every world that can come to be, each once, and returns how
// many there are, or the way to one that breaks a promise.
func explore[W comparable](m model[W], first W) (visited int, err error) {
	// By 64 bits of hash: that two of a few million worlds share them, so that
	// one is left out, has a chance of one in a million.
	seed := maphash.MakeSeed()
	seen := map[uint64]struct{}{maphash.Comparable(seed, first): {}}
	var path [][2]int // who, and in which way
	var nexts []*W    // one for each step of the path
	var visit func(w *W) error
	visit = func(w *W) error {
		if err := m.wrong(w); err != nil {
			return err
		}
		ended := m.ended(w)
		if ended {
			if err := m.audit(w); err != nil {
				return err
			}
		}
		moved := false
		if len(nexts) == len(path) {
			nexts = append(nexts, new(W))
		}
		next := nexts[len(path)]
		for who := range m.hands() {
			for way := 0; ; way++ {
				*next = *w
				if !m.step(next, who, way) {
					break
				}
				moved = true
				hash := maphash.Comparable(seed, *next)
				if _, known := seen[hash]; known {
					continue
				}
				seen[hash] = struct{}{}
				path = append(path, [2]int{who, way})
				if err := visit(next); err != nil {
					return err
				}
				path = path[:len(path)-1]
			}
		}
		if !moved && !ended {
			return errStuck
		}
		return nil
	}
	if err = visit(&first); err != nil {
		err = fmt.Errorf("%w, after %s", err, retrace(m, first, path))
	}
	return len(seen), err
}

// retrace tells what the steps of a path are.
func retrace[W comparable](m model[W], w W, path [][2]int) string {
	var told strings.Builder
	last := -1
	for _, move := range path {
		if who := move[0]; who != last {
			fmt.Fprintf(&told, " %c:", 'A'+who)
			last = who
		}
		fmt.Fprintf(&told, " %s", m.label(&w, move[0]))
		m.step(&w, move[0], move[1])
	}
	return told.String()[min(1, told.Len()):]
}
