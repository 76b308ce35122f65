package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A suite is a package's tests, built, in stages: the quickest come first.
type suite struct {
	name, path, dir string
	stages          []stage
}

type stage struct {
	run     string // a regexp of names
	tests   int
	timeout time.Duration
}

var verdict = regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): (\w+) \((\d+\.\d+)s\)`)

// prepare runs all tests that match only and not skip, with no mutant in force, and sorts them.
// One that fails so is left out: it asks how code was compiled, as those do
// that count allocations or look for what was inlined.
func (s *suite) prepare(only, skip string) error {
	out, _, _ := s.exec(0, 20*time.Minute, "-test.v", "-test.run", only, "-test.skip", skip)
	limits := []float64{0.02, 0.3, 1e9}
	names := make([][]string, len(limits))
	took := make([]float64, len(limits))
	var left []string
	for _, m := range verdict.FindAllStringSubmatch(out, -1) {
		switch m[1] {
		case "FAIL":
			left = append(left, m[2])
		case "PASS":
			t, err := strconv.ParseFloat(m[3], 64)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(limits, func(most float64) bool { return t <= most })
			names[i] = append(names[i], m[2])
			took[i] += t
		}
	}
	for i := range names {
		if len(names[i]) > 0 {
			// Three times as long, and at least ten seconds: others may be
			// using the machine.
			timeout := 10*time.Second + time.Duration(3*took[i]*float64(time.Second))
			s.stages = append(s.stages, stage{"^(" + strings.Join(names[i], "|") + ")$", len(names[i]), timeout})
		}
	}
	if len(s.stages) == 0 {
		return fmt.Errorf("%s: no test passes without a mutant:\n%s", s.name, out)
	}
	for i, st := range s.stages {
		fmt.Printf("# %s, stage %d: %d tests, %.1f s\n", s.name, i+1, st.tests, took[i])
	}
	fmt.Printf("# %s, left out: %s\n", s.name, strings.Join(left, " "))
	return nil
}

// kill returns the test that fails under the mutant, or "" if none does.
func (s *suite) kill(id, stages int) string {
	for _, st := range s.stages[:min(stages, len(s.stages))] {
		out, late, err := s.exec(id, st.timeout, "-test.failfast", "-test.run", st.run)
		if err == nil {
			continue
		}
		if m := regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`).FindStringSubmatch(out); m != nil {
			return m[1]
		}
		if late {
			return "timeout"
		}
		first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
		return "crash: " + short(first)
	}
	return ""
}

// exec runs the tests with a mutant in force. A mutant may run away: it gets no
// more than a time and a share of the memory.
func (s *suite) exec(id int, timeout time.Duration, args ...string) (out string, late bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	const limited = `ulimit -v 6000000; exec "$0" "$@"`
	cmd := exec.CommandContext(ctx, "bash", append([]string{"-c", limited, s.path}, args...)...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, id))
	b, err := cmd.CombinedOutput()
	return string(b), ctx.Err() != nil, err
}
