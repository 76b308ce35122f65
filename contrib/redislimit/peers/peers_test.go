package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestWrong: of ours no decision is wrong, and the measure finds those of others.
func TestWrong(t *testing.T) {
	others := 0
	for _, s := range subjects {
		for _, l := range limits[:4] {
			got, err := wrongly(s, l.n, l.period, l.burst, 500)
			if err != nil || got.of != 500 {
				t.Fatalf("%s: %d decisions, error %v", s.name, got.of, err)
			}
			if s.name == subjects[0].name && got != (tally{of: 500}) {
				t.Errorf("%s under %s: %+v", s.name, l.text, got)
			}
			if s.name != subjects[0].name {
				others += got.wrong()
			}
		}
	}
	if others == 0 {
		t.Error("no decision of anybody's was wrong, so nothing is measured")
	}
}

func TestSpeed(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("WEIR_REDIS") == "required" {
			t.Fatalf("WEIR_REDIS=required, but: %v", err)
		}
		t.Skipf("no redis-server here: %v", err)
	}
	var b bytes.Buffer
	if err := speedTable(&b, 1, 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if !strings.Contains(b.String(), j.name) {
			t.Errorf("nothing of %q in\n%s", j.name, b.String())
		}
	}
}
