package main

import (
	"io"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is a run that measures nothing, quickly.
func small(t *testing.T, args ...string) config {
	t.Helper()
	cfg, err := parse(append([]string{"-runs", "1", "-time", "1ms", "-keys", "50", "-goroutines", "1,3", "-clock", clockMini, "-sequences", "2"}, args...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestParse(t *testing.T) {
	cfg, err := parse(strings.Fields("-runs 9 -goroutines 2,16 -only wrong/"), io.Discard)
	if err != nil || cfg.runs != 9 || len(cfg.goroutines) != 2 || cfg.goroutines[1] != 16 || cfg.only.MatchString("speed/keys=hot") {
		t.Errorf("%+v, error %v", cfg, err)
	}
	for _, row := range []struct{ args, want string }{
		{"-runs 0", "positive"},
		{"-time 0s", "positive"},
		{"-keys 1", "positive"},
		{"-sequences 0", "positive"},
		{"-requests -1", "positive"},
		{"hot", "no arguments"},
		{"-goroutines 0", "-goroutines"},
		{"-goroutines 1,", "-goroutines"},
		{"-goroutines many", `"many"`},
		{"-clock sun", `-clock "sun"`},
		{"-only (", "-only"},
		{"-nothing", "not defined"},
	} {
		if _, err := parse(strings.Fields(row.args), io.Discard); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: error %v, want one with %q", row.args, err, row.want)
		}
	}
}

// TestRun is one short run of all, where there is a redis-server.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skipf("no redis-server here: %v", err)
	}
	var out strings.Builder
	cfg := small(t)
	writePlace(&out, cfg, []string{"-only", "a|b"})
	if err := run(t.Context(), cfg, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"`go run ./contrib/redislimit/peers -only 'a|b'`", "redis-server ",
		"| keys=hot case=granted goroutines=1 | weir |", "| keys=50 case=half goroutines=3 | weir |",
		"|  | weir, remembers |", "|  | redis_rate |", "|  | throttled |", "|  | PING |", "|  | INCR |",
		"bytes of Redis' memory a key", "### goal", " of 24 cases.",
		"(miniredis)", "| 7/m burst 5 | weir | 80 |", "| all | weir | 560 |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

// TestOnly runs what is asked for and no more.
func TestOnly(t *testing.T) {
	for _, row := range []struct {
		only        string
		want, never []string
	}{
		{"^wrong/7/m .*/(weir|throttled)$", []string{"| 7/m burst 5 | weir |", "|  | throttled |"}, []string{"redis_rate |", "### speed", "| 3/s"}},
		{"^nothing", nil, []string{"###"}},
	} {
		var out strings.Builder
		if err := run(t.Context(), small(t, "-only", row.only), &out); err != nil {
			t.Fatal(err)
		}
		for _, s := range row.want {
			if !strings.Contains(out.String(), s) {
				t.Errorf("%s: no %q in\n%s", row.only, s, &out)
			}
		}
		for _, s := range row.never {
			if strings.Contains(out.String(), s) {
				t.Errorf("%s: %q in\n%s", row.only, s, &out)
			}
		}
	}
}
