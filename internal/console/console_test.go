package console

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNumbers(t *testing.T) {
	for _, row := range []struct {
		n    int64
		want string
		why  string
	}{
		{0, "0", "none"},
		{999, "999", "one group"},
		{1000, "1 000", "two"},
		{-123, "-123", "a sign is no digit"},
		{-123456, "-123 456", "nor with two groups"},
		{math.MaxInt64, "9 223 372 036 854 775 807", "the largest"},
	} {
		if got := Grouped(row.n); got != row.want {
			t.Errorf("Grouped(%d) = %q, want %q: %s", row.n, got, row.want, row.why)
		}
	}
	for _, row := range []struct {
		d    time.Duration
		want string
		why  string
	}{
		{0, "0s", "none"},
		{999, "999ns", "exact"},
		{1234, "1.23µs", "three digits"},
		{123456789, "123ms", "of any unit"},
		{90 * time.Minute, "1h30m0s", "long ones are left"},
		{math.MaxInt64, "2562047h47m0s", "the longest"},
	} {
		if got := Short(row.d); got != row.want {
			t.Errorf("Short(%d) = %q, want %q: %s", row.d, got, row.want, row.why)
		}
	}
	for _, row := range []struct{ key, want, why string }{
		{"10.0.0.1", "10.0.0.1", "harmless"},
		{"Ünïcode/世界", "Ünïcode/世界", "printable"},
		{"a b", `"a b"`, "two words"},
		{"\x1b[2J", `"\x1b[2J"`, "clears a terminal"},
		{"\xff", `"\xff"`, "not UTF-8"},
		{`"a"`, `"\"a\""`, "could be taken for a quoted one"},
		{"\u202eabc", `"\u202eabc"`, "turns the line around"},
		{string(bytes.Repeat([]byte("x"), 100)), string(bytes.Repeat([]byte("x"), 60)) + "...", "long"},
		{string(bytes.Repeat([]byte("ä"), 61)), string(bytes.Repeat([]byte("ä"), 60)) + "...", "cut between letters"},
	} {
		if got := Plain(row.key); got != row.want {
			t.Errorf("Plain(%q) = %s, want %s: %s", row.key, got, row.want, row.why)
		}
	}
}

func TestProgress(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(&b)
	p.Say("%d of %d", 1, 2)
	p.Say("2 of 2")
	p.Done()
	if got := b.String(); got != "1 of 2\n2 of 2\n" || p.Every != time.Second {
		t.Errorf("%q each %v", got, p.Every)
	}
	b.Reset()
	p.live = true
	p.Say("10 of 10")
	p.Say("done")
	p.Done()
	p.Done()
	if got := b.String(); got != "\r10 of 10\rdone    \r    \r" {
		t.Errorf("on a terminal: %q", got)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p := NewProgress(f); p.live {
		t.Error("a file is taken for a terminal")
	}
}
