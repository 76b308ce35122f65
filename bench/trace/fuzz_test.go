package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzRead holds Read against the invariants of the package doc, and against the number of lines that the input plainly has.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"time,key\n1,a\n2,b\n",
		"\xef\xbb\xbf\"Time\",x,KEY,cost\r\n1700158623.5,,\"a,\"\"b\"\"\",7\r\n\r\n-1,,\"a\n2023-11-16T18:17:03.9799600Z,,c,",
		"time,key,cost\n3,a,-1\n1,b,99999999999999999999\n2,c,\n",
		good + "\n" + strings.Replace(good, "15:04", "14:04", 1) + ` "-" "agent \"x\" [y]"` + "\n",
		"h - [u] [02/Jan/2006:15:04:05 +0000] \"\\\" \x00\xff [\" 400 0\n\n[[[\n",
		"\x1f\x8b",
		"",
	} {
		f.Add([]byte(s))
	}
	for _, name := range []string{"small.csv", "rfc3339.csv", "combined.log"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:700])
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(b[:500])
		z.Close()
		f.Add(packed.Bytes())
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		tr, err := Read(bytes.NewReader(in))
		again, errAgain := Read(iotest.HalfReader(bytes.NewReader(in)))
		if !reflect.DeepEqual(tr, again) || (err == nil) != (errAgain == nil) || err != nil && err.Error() != errAgain.Error() {
			t.Fatalf("not deterministic: %v, %v; then in other pieces %v, %v", tr, err, again, errAgain)
		}
		if err != nil {
			if tr != nil || !strings.HasPrefix(err.Error(), "trace: ") {
				t.Fatalf("%v, %v", tr, err)
			}
			if errors.Is(err, ErrNoRecords) && strings.Contains(err.Error(), "input is empty") && len(bytes.TrimSpace(in)) > 3 &&
				in[0] != 0x1f {
				t.Fatalf("%v for %q", err, in)
			}
			return
		}
		check(t, tr)
		if bytes.HasPrefix(in, []byte("\x1f\x8b")) {
			return
		}
		lines := bytes.Count(in, []byte("\n"))
		if !bytes.HasSuffix(in, []byte("\n")) {
			lines++
		}
		if tr.Lines != lines {
			t.Fatalf("%d lines, the input has %d", tr.Lines, lines)
		}
		for _, r := range tr.Records {
			if tr.Format == Combined && !bytes.Contains(in, []byte(r.Key)) {
				t.Fatalf("client %q is not in the input", r.Key)
			}
		}
	})
}
