package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

func TestParseLimits(t *testing.T) {
	flags := limits{gcra.PerSecond(1), gcra.PerSecond(2)}
	for _, row := range []struct{ text, want, why string }{
		{"", "client 1/s burst 1, global 2/s burst 1", "what is not there is as the flags say"},
		{"# night\n\n  client 3/h burst 4\n", "client 3/h burst 4, global 2/s burst 1", ""},
		{"global 9/s\r\nclient 8/s", "client 8/s burst 1, global 9/s burst 1", "any order, any line end"},
		{"client unlimited", "client unlimited, global 2/s burst 1", ""},
		{"client 3/s\nclients 4/s", `2: no limit is called "clients"`, ""},
		{"client 3/s\n\nclient 4/s", "3: a second limit for client", ""},
		{"client", "1: ", "no limit at all"},
		{"global 3/s\nclient 3/fortnight", "2: ", ""},
		{strings.Repeat("x", 10_000), "want client or global", "it may be any file"},
	} {
		l, err := parseLimits([]byte(row.text), flags)
		got := l.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, row.want) || len(got) > 200 {
			t.Errorf("%.50q: %s, want %s %s", row.text, got, row.want, row.why)
		}
	}
}

// TestAdministration: limits change while it serves, and what is no limit
// changes nothing.
func TestAdministration(t *testing.T) {
	var clk clock.Manual
	s := begin(t, &clk, nil)
	status := func(want int, why string) {
		t.Helper()
		if got, _, _ := s.get(t); got != want {
			t.Errorf("%d, want %d: %s", got, want, why)
		}
	}
	status(200, "one token")
	status(429, "which is used up")
	for _, row := range []struct {
		method, path, text string
		status             int
		body               string
	}{
		{"GET", "/limits", "", 200, "client 0/s burst 1\nglobal 1/s burst 1000\n"},
		{"PUT", "/limits/client", "fast", 400, "the limit stays 0/s burst 1"},
		{"PUT", "/limits/client", "", 400, "the limit stays 0/s burst 1"},
		{"PUT", "/limits/client", "1/s burst 0", 400, "the limit stays 0/s burst 1"},
		{"PUT", "/limits/client", strings.Repeat("1", maxText+1), 400, "too large"},
		{"PUT", "/limits/clients", "1/s", 404, "client and global"},
		{"POST", "/limits/client", "1/s", 405, ""},
		{"GET", "/limits", "", 200, "client 0/s burst 1\nglobal 1/s burst 1000\n"},
		{"PUT", "/limits/client", "1/s burst 2\n", 200, "client 1/s burst 2, was 0/s burst 1\n"},
		{"PUT", "/limits/global", "9/s burst 9", 200, "global 9/s burst 9, was 1/s burst 1000\n"},
		{"GET", "/limits", "", 200, "client 1/s burst 2\nglobal 9/s burst 9\n"},
	} {
		got, body := s.administer(t, row.method, row.path, row.text)
		if got != row.status || !strings.Contains(body, row.body) || len(body) > 300 {
			t.Errorf("%s %s %.20q: %d %q, want %d %q", row.method, row.path, row.text, got, body, row.status, row.body)
		}
	}
	status(429, "a new limit is no new burst")
	clk.Advance(time.Second)
	status(200, "but it refills")
	status(429, "by one")
	clk.Advance(time.Minute)
	status(200, "and up to two")
	status(200, "and up to two")
	status(429, "and no more")

	// Not from a page of another origin.
	req, err := http.NewRequestWithContext(t.Context(), "PUT", "http://"+s.admin.addr+"/limits/client", strings.NewReader("unlimited"))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("Origin", "http://example.com")
	if got, _, _ := do(t, req); got != http.StatusForbidden {
		t.Errorf("from another origin: %d", got)
	}
	// Nor where the clients are.
	req.URL.Host, req.Body = s.front.addr, http.NoBody
	req.ContentLength = 0
	if got, _, _ := do(t, req); got != http.StatusTooManyRequests {
		t.Errorf("where clients are: %d", got)
	}
}

// TestAdministrationIsHere: a page whose name has come to mean this machine is
// of the same origin for its browser, and so has to be known by the name.
func TestAdministrationIsHere(t *testing.T) {
	g := newGate(limits{gcra.PerSecond(1), gcra.PerSecond(1)}, nil, new(clock.Manual))
	h := administration(g, slog.New(slog.DiscardHandler))
	for _, row := range []struct {
		host   string
		status int
		why    string
	}{
		{"127.0.0.1:9000", 200, "an address"},
		{"127.0.0.1", 200, "without a port"},
		{"[::1]:9000", 200, "of IPv6"},
		{"localhost:9000", 200, "the name"},
		{"evil.example:9000", 421, "a name that resolves to here"},
		{"localhost.evil.example", 421, "whatever it begins with"},
		{"192.0.2.1:9000", 421, "another machine's address"},
		{"", 421, "none"},
	} {
		r := httptest.NewRequest("PUT", "/limits/client", strings.NewReader("2/s"))
		r.Host = row.host
		r.Header.Set("Origin", "http://"+row.host)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != row.status {
			t.Errorf("as %q: %d, want %d: %s", row.host, w.Code, row.status, row.why)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func limitsIn(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "limits")
	write(t, path, text)
	return path
}
