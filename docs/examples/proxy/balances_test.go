package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// TestRestart: who has used the tokens up has none after it, and others have
// theirs. Limits that never refill make it exact, however long it takes.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	config := func(c *config) {
		local(c)
		c.balances = filepath.Join(dir, "balances")
		c.limits.client = gcra.Per(0, time.Second).Burst(3)
	}
	s := begin(t, new(clock.Manual), config)
	s.says(t, "no balances yet")
	for _, from := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.1", "2001:db8::1"} {
		if status, _, _ := s.get(t, from); status != 200 {
			t.Errorf("%s: %d", from, status)
		}
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	s = begin(t, new(clock.Manual), config)
	for _, row := range []struct {
		from   string
		status []int
	}{
		{"192.0.2.1", []int{429}},
		{"2001:db8::2", []int{200, 200, 429}}, // of the same /64
		{"192.0.2.2", []int{200, 200, 200, 429}},
	} {
		for i, want := range row.status {
			if status, _, _ := s.get(t, row.from); status != want {
				t.Errorf("%s, request %d: %d, want %d", row.from, i, status, want)
			}
		}
	}
	only(t, dir, "balances")
}

// only finds no other files, as those of a saving that failed would be.
func only(t *testing.T, dir string, want ...string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		if i >= len(want) || f.Name() != want[i] {
			t.Errorf("%s is there, want %q", f.Name(), want)
		}
	}
	if len(files) < len(want) {
		t.Errorf("%d files, want %q", len(files), want)
	}
}

// TestSavedMeanwhile: a process that is killed has lost what came after the
// last saving only.
func TestSavedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "balances")
	tick := make(chan time.Time)
	s := begin(t, new(clock.Manual), func(c *config) { c.balances, c.tick = file, tick })
	s.get(t)
	tick <- time.Time{}
	tick <- time.Time{} // is taken when the first saving is over

	killed := filepath.Join(dir, "copy") // as a kill would leave it
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, killed, string(text))
	after := begin(t, new(clock.Manual), func(c *config) { c.balances = killed })
	if status, _, _ := after.get(t); status != http.StatusTooManyRequests {
		t.Errorf("%d", status)
	}
}

// TestBrokenBalances: it says so, begins without, and destroys nothing.
func TestBrokenBalances(t *testing.T) {
	for _, broken := range []string{"", "rubbish\n"} {
		dir := t.TempDir()
		file := filepath.Join(dir, "balances")
		write(t, file, broken)
		s := begin(t, new(clock.Manual), func(c *config) { c.balances = file })
		s.says(t, "balances are lost")
		only(t, dir, "balances.broken")
		if text, err := os.ReadFile(file + ".broken"); err != nil || string(text) != broken {
			t.Errorf("%q, %v, want %q", text, err, broken)
		}
		if status, _, _ := s.get(t); status != 200 {
			t.Errorf("%d", status)
		}
		if err := s.end(); err != nil {
			t.Error(err)
		}
		only(t, dir, "balances", "balances.broken")
	}
}

// TestSavingFails: the old file stays, and nothing half written beside it.
func TestSavingFails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "balances")
	write(t, file, "old")
	full := errors.New("disk full")
	err := replaceFile(file, func(w io.Writer) error {
		io.WriteString(w, "half of the ne")
		return full
	})
	if text, _ := os.ReadFile(file); !errors.Is(err, full) || string(text) != "old" {
		t.Errorf("%q, %v", text, err)
	}
	only(t, dir, "balances")

	// In a service it is reported, each time, and at the end.
	tick := make(chan time.Time)
	gone := filepath.Join(dir, "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	s := begin(t, new(clock.Manual), func(c *config) { c.balances, c.tick = filepath.Join(gone, "balances"), tick })
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	tick <- time.Time{}
	s.says(t, "balances are not saved")
	if err := s.end(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("at the end: %v", err)
	}
}

// A slow upstream holds requests until they are let go.
func slow(t *testing.T) (url string, entered chan struct{}, letGo func()) {
	t.Helper()
	entered, held := make(chan struct{}, 1), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-held
		io.WriteString(w, "late")
	}))
	t.Cleanup(s.Close)
	return s.URL, entered, func() { close(held) }
}

// TestGracefulEnd: a request under way ends well, no other is taken meanwhile,
// and what it was charged is saved.
func TestGracefulEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "balances")
	to, entered, letGo := slow(t)
	s := begin(t, new(clock.Manual), func(c *config) { c.upstream, c.balances = to, file })
	closing := make(chan struct{})
	s.front.http.RegisterOnShutdown(func() { close(closing) }) // called when nothing is accepted any more

	type answer struct {
		status int
		body   string
	}
	answered, ended := make(chan answer, 1), make(chan error, 1)
	go func() {
		res, err := http.Get("http://" + s.front.addr)
		if err != nil {
			answered <- answer{0, err.Error()}
			return
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		answered <- answer{res.StatusCode, string(body)}
	}()
	<-entered
	go func() { ended <- s.end() }()
	<-closing
	if _, err := http.Get("http://" + s.front.addr); err == nil {
		t.Error("a request was taken after the end began")
	}
	select {
	case err := <-ended:
		t.Fatalf("it ended with a request under way: %v", err)
	default:
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("saved before the last request ended: %v", err)
	}
	letGo()
	if got := <-answered; got != (answer{200, "late"}) {
		t.Errorf("%v", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s = begin(t, new(clock.Manual), func(c *config) { c.balances = file })
	if status, _, _ := s.get(t); status != http.StatusTooManyRequests {
		t.Errorf("after the restart: %d", status)
	}
}

// TestGraceOver: who takes too long is cut off, and balances are saved all the
// same.
func TestGraceOver(t *testing.T) {
	file := filepath.Join(t.TempDir(), "balances")
	to, entered, letGo := slow(t)
	defer letGo()
	s := begin(t, new(clock.Manual), func(c *config) { c.upstream, c.balances, c.grace = to, file, 1 })
	cut := make(chan error, 1)
	go func() {
		res, err := http.Get("http://" + s.front.addr)
		if err == nil {
			res.Body.Close()
		}
		cut <- err
	}()
	<-entered
	if err := s.end(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if err := <-cut; err == nil {
		t.Error("it was answered")
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
