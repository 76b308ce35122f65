//go:build unix

package main

import (
	"os"
	"syscall"
	"testing"

	"github.com/weir-go/weir/clock"
)

// TestHangup sends this process the signal.
func TestHangup(t *testing.T) {
	path := limitsIn(t, "client 0/s burst 2")
	s := begin(t, new(clock.Manual), func(c *config) { c.limitsFile = path })
	hangup := func() {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	limits := func(want string) {
		t.Helper()
		if _, got := s.administer(t, "GET", "/limits", ""); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	limits("client 0/s burst 2\nglobal 1/s burst 1000\n")
	if status, _, _ := s.get(t); status != 200 {
		t.Errorf("first: %d", status)
	}
	if status, body := s.administer(t, "PUT", "/limits/global", "7/s burst 7"); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	s.says(t, "global 7/s burst 7")

	write(t, path, "client 0/s burst 5\nglobal fast\n")
	hangup()
	s.says(t, "limits stay as they are")
	limits("client 0/s burst 2\nglobal 7/s burst 7\n")

	write(t, path, "client 0/s burst 1\n")
	hangup()
	s.says(t, "client 0/s burst 1")
	limits("client 0/s burst 1\nglobal 1/s burst 1000\n") // the flag's again
	for _, want := range []int{200, 429} {                // the second token of the two
		if status, _, _ := s.get(t); status != want {
			t.Errorf("%d, want %d", status, want)
		}
	}
}
