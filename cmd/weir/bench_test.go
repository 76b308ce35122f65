package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weir-go/weir/internal/dice"
)

// BenchmarkReplay replays a CSV file of half a million lines; an operation is the whole file.
//
//	GOMAXPROCS=1 go test ./cmd/weir -run '^$' -bench Replay
func BenchmarkReplay(b *testing.B) {
	const n = 500_000
	for _, keys := range []int{100, 10_000, 200_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "requests.csv")
			if err := os.WriteFile(path, table(n, keys), 0o600); err != nil {
				b.Fatal(err)
			}
			limit := fmt.Sprintf("%d/h burst 1", max(1, n/keys/4))
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				p := &program{stdin: strings.NewReader(""), stdout: io.Discard, stderr: os.Stderr}
				if code := p.run([]string{"replay", "-limit", limit, path}); code != fine {
					b.Fatal(code)
				}
			}
			b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds()/1e6, "Mlines/s")
		})
	}
}

// table is CSV of so many requests within an hour.
func table(n, keys int) []byte {
	var b bytes.Buffer
	d := dice.Dice(5)
	b.WriteString("time,client,method,path,bytes\n")
	for i := range n {
		k := d.Roll(keys)
		us := int64(i) * 3_600_000_000 / int64(n)
		fmt.Fprintf(&b, "%d.%06d,10.%d.%d.%d,GET,/p/%d,%d\n", 1767600000+us/1e6, us%1e6, k>>16, k>>8&255, k&255, k%50, d.Roll(9000))
	}
	return b.Bytes()
}

// A flood is CSV without end in which keys come and go: a request a millisecond, each key a few times within a second.
type flood struct {
	n, i int
	rest []byte
}

func (f *flood) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		if f.i == f.n {
			return 0, io.EOF
		}
		if f.i == 0 {
			f.rest = append(f.rest, "time,client\n"...)
		}
		for range 1000 {
			k := f.i/100 - f.i%7*3
			f.rest = fmt.Appendf(f.rest, "%d.%03d,k%d\n", 1767600000+f.i/1000, f.i%1000, k)
			f.i++
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// TestSteadyMemory reads as much again, and again, from standard input: the heap does not grow with it, and keys that are
// forgotten cost nothing but the exact count of them.
func TestSteadyMemory(t *testing.T) {
	const rows = 2000
	heap := func(n int) (int64, string) {
		var out bytes.Buffer
		p := &program{stdin: &flood{n: n}, stdout: &out, stderr: os.Stderr}
		most := int64(0)
		p.stdin = io.TeeReader(p.stdin, writer(func() {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			most = max(most, int64(m.HeapAlloc))
		}))
		if code := p.run([]string{"replay", "-limit", "2/s burst 3", "-max-keys", fmt.Sprint(rows), "-json", "-"}); code != fine {
			t.Fatal(code)
		}
		return most, out.String()
	}
	small, _ := heap(100_000)
	large, out := heap(800_000)
	if large > small+1<<20 {
		t.Errorf("%d bytes for 100 000 requests, %d for 800 000", small, large)
	}
	if !strings.Contains(out, `"unstored": 0`) || strings.Contains(out, `"forgotten": 0`) || !strings.Contains(out, `"requests": 800000`) {
		t.Errorf("keys were not forgotten, or not in time: %s", out)
	}
}

// writer calls a function now and then, when something is written.
func writer(f func()) io.Writer { return &teller{f: f} }

type teller struct {
	f func()
	n int
}

func (w *teller) Write(p []byte) (int, error) {
	if w.n++; w.n%100 == 50 {
		w.f()
	}
	return len(p), nil
}
