package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const folder = "stress/mutants"

// listed reads explained.txt or open.txt: paragraphs of names of mutants, one on
// a line, and under them an indented reason, which may have several lines. A
// name may end in *. Lines that begin with # are comments. It returns the
// reasons, and fails if there is a name of no mutant.
func listed(root, list string, all []*mutant) (map[string]string, error) {
	data, err := os.ReadFile(filepath.Join(root, folder, list))
	if err != nil {
		return nil, err
	}
	reasons := map[string]string{}
	for paragraph := range strings.SplitSeq(string(data), "\n\n") {
		var names []string
		reason := ""
		for line := range strings.Lines(paragraph) {
			line = strings.TrimRight(line, "\n")
			switch {
			case line == "" || line[0] == '#':
			case line[0] == '\t':
				reason += strings.TrimSpace(line) + " "
			default:
				names = append(names, line)
			}
		}
		if len(names) > 0 && reason == "" {
			return nil, fmt.Errorf("%s: %q has no reason", list, names[0])
		}
		for _, name := range names {
			prefix, many := strings.CutSuffix(name, "*")
			found := false
			for _, m := range all {
				if m.key == name || many && strings.HasPrefix(m.key, prefix) {
					found = true
					reasons[m.key] = reason
				}
			}
			if !found && slices.ContainsFunc(all, func(m *mutant) bool { return filepath.Dir(m.file) == filepath.Dir(name[:strings.Index(name+" ", " ")]) }) {
				return nil, fmt.Errorf("%s: there is no mutant %q any more", list, name)
			}
		}
	}
	return reasons, nil
}

// byHand reads hand.txt: paragraphs that begin with a file and a title; lines
// that begin with - are old text, and those with + the new one. It fails if one
// does not apply any more.
func byHand(root string, sources []*source, packages []string) (all []*mutant, err error) {
	data, err := os.ReadFile(filepath.Join(root, folder, "hand.txt"))
	if err != nil {
		return nil, err
	}
	for paragraph := range strings.SplitSeq(string(data), "\n\n") {
		head := ""
		var hunks []hunk
		for line := range strings.Lines(strings.TrimRight(paragraph, "\n") + "\n") {
			switch line[0] {
			case '#', '\n':
			case '-':
				if n := len(hunks); n == 0 || hunks[n-1].new != "" {
					hunks = append(hunks, hunk{})
				}
				hunks[len(hunks)-1].old += line[1:]
			case '+':
				if len(hunks) == 0 {
					return nil, fmt.Errorf("hand.txt: %q has no old text", head)
				}
				hunks[len(hunks)-1].new += line[1:]
			default:
				head += line
			}
		}
		if head == "" {
			continue
		}
		file, title, _ := strings.Cut(strings.TrimSpace(head), " ")
		if !slices.Contains(packages, filepath.Dir(file)) {
			continue
		}
		i := slices.IndexFunc(sources, func(s *source) bool { return s.path == file })
		if i < 0 {
			return nil, fmt.Errorf("hand.txt: there is no %s", file)
		}
		m, err := sources[i].byHand(title, hunks)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}
