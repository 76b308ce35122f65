package main

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/gcra"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-node" {
		main() // the test's own binary as one of the processes
		return
	}
	goleak.VerifyTestMain(m)
}

// TestDemonstration runs real processes, of which one is killed.
func TestDemonstration(t *testing.T) {
	var out bytes.Buffer
	if err := demonstrate(t.Context(), &out, gcra.PerDay(1).Burst(4)); err != nil {
		t.Fatalf("%v, after:\n%s", err, &out)
	}
	got := regexp.MustCompile(`took \S+`).ReplaceAllString(out.String(), "took a while")
	want := `processes a, b and c; each key gets 1/d burst 4, whichever process is asked
all keys ask for more than they may have:
  alice  decided by b:  4 granted,  4 in all
  bob    decided by a:  4 granted,  4 in all
  carol  decided by a:  4 granted,  4 in all
  dave   decided by a:  4 granted,  4 in all
  erin   decided by b:  4 granted,  4 in all
  frank  decided by c:  4 granted,  4 in all
b is killed; its keys move and forget their balance, one more burst, others do not:
  alice  decided by c:  4 granted,  8 in all, moved from b
  bob    decided by a:  0 granted,  4 in all
  carol  decided by a:  0 granted,  4 in all
  dave   decided by a:  0 granted,  4 in all
  erin   decided by c:  4 granted,  8 in all, moved from b
  frank  decided by c:  0 granted,  4 in all
  no request failed, and all of these took a while
b is back, with nothing in its memory, and so are its keys:
  alice  decided by b:  4 granted, 12 in all, moved from c
  bob    decided by a:  0 granted,  4 in all
  carol  decided by a:  0 granted,  4 in all
  dave   decided by a:  0 granted,  4 in all
  erin   decided by b:  4 granted, 12 in all, moved from c
  frank  decided by c:  0 granted,  4 in all
no key got more than one burst for each of its moves, and its own
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
