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

var (
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	crash  = regexp.MustCompile(`(?m)^(panic|fatal error): `)
)

// prepare runs all tests that match only and not skip, with no mutant in force, and sorts them.
// One that fails so is left out: it asks how code was compiled, as those do
// that count allocations or look for what was inlined.
func (s *suite) prepare(only, skip string) error {
	var left []string
	var out string
	for {
		out, _, _ = s.exec(0, 20*time.Minute, "-test.v", "-test.run", only, "-test.skip", skip)
		if !crash.MatchString(out) {
			break
		}
		// Those after it have not run.
		m := failed.FindStringSubmatch(out)
		if m == nil || slices.Contains(left, m[1]) {
			return fmt.Errorf("%s: crashes without a mutant:\n%s", s.name, out)
		}
		left = append(left, m[1])
		skip += "|^" + m[1] + "$"
	}
	limits := []float64{0.02, 0.3, 1e9}
	names := make([][]string, len(limits))
	took := make([]float64, len(limits))
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
	if len(slices.Concat(names...)) == 0 {
		return fmt.Errorf("%s: no test passes without a mutant:\n%s", s.name, out)
	}
	for i := range names {
		s.stages = append(s.stages, stage{})
		if len(names[i]) > 0 {
			// Five times as long and five seconds more: others may be using
			// the machine.
			timeout := 5*time.Second + time.Duration(5*took[i]*float64(time.Second))
			s.stages[i] = stage{"^(" + strings.Join(names[i], "|") + ")$", len(names[i]), timeout}
		}
	}
	for i, st := range s.stages {
		fmt.Printf("# %s, stage %d: %d tests, %.1f s\n", s.name, i+1, st.tests, took[i])
	}
	fmt.Printf("# %s, left out: %s\n", s.name, strings.Join(left, " "))
	return nil
}

// kill returns the test of the stages first to last, which count from 0, that
// fails under the mutant, or "" if none does.
func (s *suite) kill(id, first, last int) string {
	for i, st := range s.stages {
		if i < first || i > last {
			continue
		}
		if st.tests == 0 {
			continue
		}
		out, late, err := s.exec(id, st.timeout, "-test.failfast", "-test.run", st.run)
		if err == nil {
			continue
		}
		if m := failed.FindStringSubmatch(out); m != nil {
			return s.name + ": " + m[1]
		}
		if late {
			return s.name + ": timeout"
		}
		first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
		return s.name + ": crash: " + short(first)
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
