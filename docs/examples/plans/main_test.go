package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, config); err != nil {
		t.Fatal(err)
	}
	want := `account 1 moves to paid with 0 of 5 tokens: there it has 0 of 100
  plan           limit  granted  refused  not full
  free     1/s burst 5   113124   111936     22709
  paid  20/s burst 100    14513    10427       147
free: 0 accounts are remembered 5 s later
paid: 0 accounts are remembered 5 s later
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestBadPlans(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{`{"free": "1/s burst 5"}`, `no plan "paid"`},
		{`{"free": "1/s burst 5", "paid": "twenty/s"}`, "twenty"},
		{`{"free": 1}`, "number"},
	} {
		if err := run(io.Discard, row.text); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.text, err, row.want)
		}
	}
}
