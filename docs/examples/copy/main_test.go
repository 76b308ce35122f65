package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// In a bubble timers are never late, so the copy takes its time to the
// nanosecond: (20 000 000 − 65 536) bytes at 10 MB/s.
func TestRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var out strings.Builder
		if err := run(t.Context(), nil, &out); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got != 1_993_446_400 {
			t.Errorf("it took %v", got)
		}
		want := "20000000 bytes in 1.993 s: 10.000 MB/s after the burst, 100.00 % of 10000000/s burst 65536\n"
		if out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
	})
	if left, err := os.ReadDir(os.TempDir()); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRunCopies(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	content := strings.Repeat("0123456789", 30_000)
	if err := os.WriteFile(from, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		args []string
		took time.Duration
		want string
	}{
		{[]string{"-rate", "100kB"}, 2_344_640_000, "300000 bytes in 2.345 s: 0.100 MB/s after the burst, 100.00 % of 100000/s burst 65536\n"},
		{[]string{"-limit", "1000/s burst 299000"}, time.Second, "300000 bytes in 1.000 s: 0.001 MB/s after the burst, 100.00 % of 1000/s burst 299000\n"},
		{[]string{"-limit", "unlimited"}, 0, "300000 bytes in 0.000 s: under unlimited all of it goes at once\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var out strings.Builder
			if err := run(t.Context(), append(row.args, from, to), &out); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(start); got != row.took || out.String() != row.want {
				t.Errorf("%q: %v, %q", row.args, got, out.String())
			}
		})
		if got, err := os.ReadFile(to); string(got) != content || err != nil {
			t.Errorf("%q: %d bytes arrived, %v", row.args, len(got), err)
		}
		os.Remove(to)
	}
}

func TestRunRejects(t *testing.T) {
	dir := t.TempDir()
	there, no := filepath.Join(dir, "there"), filepath.Join(dir, "no")
	if err := os.WriteFile(there, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, row := range []struct {
		ctx  context.Context
		args []string
		want string
	}{
		{t.Context(), []string{"-rate", "0"}, `invalid value "0" for flag -rate: want a whole number of bytes`},
		{t.Context(), []string{"-rate", "-1MB"}, `invalid value "-1MB"`},
		{t.Context(), []string{"-rate", "3GB"}, `invalid value "3GB"`},
		{t.Context(), []string{"-rate", "10MiB"}, `invalid value "10MiB"`},
		{t.Context(), []string{"-size", "x"}, `invalid value "x" for flag -size`},
		{t.Context(), []string{"-limit", "10/x"}, `invalid value "10/x" for flag -limit`},
		{t.Context(), []string{"-limit", "none"}, "under the limit none nothing can be copied"},
		{t.Context(), []string{there}, "want a source and a destination, or neither"},
		{t.Context(), []string{no, filepath.Join(dir, "to")}, "no such file"},
		{t.Context(), []string{dir, filepath.Join(dir, "to")}, "is not a file"},
		{t.Context(), []string{there, there}, "file exists"},
		{t.Context(), []string{"-limit", "0/s burst 3", there, no}, "after 3 bytes: weir: the slot never comes"},
		{done, []string{there, no}, "after 0 bytes: context canceled"},
	} {
		var out strings.Builder
		err := run(row.ctx, row.args, &out)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q: got %v, want %q", row.args, err, row.want)
		}
	}
	if left, err := os.ReadDir(dir); len(left) != 1 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
	var out strings.Builder
	if err := run(t.Context(), []string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "usage: copy") {
		t.Errorf("-h: %v, %q", err, out.String())
	}
}
