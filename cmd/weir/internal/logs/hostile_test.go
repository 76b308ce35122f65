package logs

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A source repeats lines without holding them.
type source struct {
	make func(i int) string
	n    int
	i    int
	rest string
}

func (s *source) Read(p []byte) (int, error) {
	if s.rest == "" {
		if s.i == s.n {
			return 0, io.EOF
		}
		s.rest = s.make(s.i)
		s.i++
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// TestHostileLines reads lines of 10 MB and noise among good ones: the good ones are all found, and the memory in use at the
// end is that of a line.
func TestHostileLines(t *testing.T) {
	long := strings.Repeat(`"\,[{`, 2<<20) + "\n"
	for _, good := range []string{"1%03d,a\n", `192.0.2.1 - - [02/Jan/2006:15:04:05 +0000] "GET /%d HTTP/1.1" 200 5` + "\n", `{"ts":1%03d,"client":"a"}` + "\n"} {
		head := ""
		if good[0] == '1' && good[1] == '%' {
			head = "time,client\n"
		}
		s := &source{n: 30, make: func(i int) string {
			switch i % 3 {
			case 0:
				return head + fmt.Sprintf(good, i)
			case 1:
				return long
			}
			return "\x00\xff\x16\x03\x01" + strings.Repeat("\xf0", 1000) + "\n"
		}}
		if head != "" {
			first := s.make
			s.make = func(i int) string {
				if i > 0 {
					head = ""
				}
				return first(i)
			}
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		sum, err := Read([]string{"-"}, Options{Stdin: s, Keys: []Key{{}}, Costs: []Cost{{one: true}}}, func(*Record) error { return nil })
		runtime.ReadMemStats(&after)
		if err != nil || sum.Requests != 10 || sum.Broken != 20 {
			t.Fatalf("%q: %+v, %v", good, sum, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
			t.Errorf("%q: %d bytes were allocated for lines of at most a megabyte", good, used)
		}
	}
}

// TestAllocs reads two lengths of each format: what is allocated does not depend on the number of lines.
func TestAllocs(t *testing.T) {
	at := time.Unix(1767600000, 0).UTC()
	for _, row := range []struct {
		name, head string
		make       func(i int) string
	}{
		{"csv", "time,client,bytes\n", func(i int) string { return fmt.Sprintf("17676%05d.25,192.0.2.%d,17\n", i, i%200) }},
		{"tsv, IPv6 and RFC 3339", "time\tclient\tbytes\n", func(i int) string {
			return fmt.Sprintf("%s\t2001:db8:%x::1\t17\n", at.Add(time.Duration(i)*time.Millisecond).Format(time.RFC3339Nano), i%200)
		}},
		{"combined", "", func(i int) string {
			return fmt.Sprintf("192.0.2.%d - - [%s] \"GET /a?%d HTTP/1.1\" 200 17 \"-\" \"x\"\n", i%200, at.Add(time.Duration(i)*time.Second).Format("02/Jan/2006:15:04:05 -0700"), i)
		}},
		{"json", "", func(i int) string {
			return fmt.Sprintf("{\"ts\":17676%05d.25,\"request\":{\"remote_ip\":\"192.0.2.%d\"},\"x\":\"\\n\",\"bytes\":17}\n", i, i%200)
		}},
	} {
		allocs := func(n int) float64 {
			text := row.head
			for i := range n {
				text += row.make(i)
			}
			return testing.AllocsPerRun(3, func() {
				o := Options{Stdin: strings.NewReader(text), Keys: []Key{{parts: []slot{{kind: client}}}}, Costs: []Cost{{name: "bytes"}}, Window: time.Second}
				if s, err := Read([]string{"-"}, o, func(*Record) error { return nil }); err != nil || s.Requests != int64(n) {
					t.Fatalf("%s: %+v, %v", row.name, s, err)
				}
			})
		}
		few, many := allocs(2000), allocs(4000)
		if many > few+20 { // blocks of records and their list
			t.Errorf("%s: %v allocations for 2000 lines, %v for 4000", row.name, few, many)
		}
	}
}

// BenchmarkRead reads lines from memory; an operation is a line.
func BenchmarkRead(b *testing.B) {
	for _, row := range []struct {
		name, head string
		make       func(i int) string
	}{
		{"csv", "time,client,method,path,bytes\n", func(i int) string { return fmt.Sprintf("17676%05d.25,192.0.2.%d,GET,/a/b,17\n", i, i%200) }},
		{"combined", "", func(i int) string {
			return fmt.Sprintf("192.0.2.%d - - [05/Jan/2026:15:%02d:%02d +0000] \"GET /a?%d HTTP/1.1\" 200 17 \"-\" \"curl/8\"\n", i%200, i/60%60, i%60, i)
		}},
		{"caddy", "", func(i int) string {
			return fmt.Sprintf("{\"level\":\"info\",\"ts\":17676%05d.25,\"logger\":\"http.log.access\",\"request\":{\"remote_ip\":\"192.0.2.%d\",\"method\":\"GET\",\"uri\":\"/\",\"headers\":{\"User-Agent\":[\"curl\"]}},\"size\":17,\"status\":200}\n", i, i%200)
		}},
	} {
		b.Run("format="+row.name, func(b *testing.B) {
			var text strings.Builder
			text.WriteString(row.head)
			const n = 3600
			for i := range n {
				text.WriteString(row.make(i))
			}
			b.SetBytes(int64(text.Len() / n))
			b.ReportAllocs()
			for i := 0; i < b.N; i += n {
				o := Options{Stdin: strings.NewReader(text.String()), Keys: []Key{{parts: []slot{{kind: client}}}}, Costs: []Cost{{name: "bytes"}}, Window: 5 * time.Second}
				if s, err := Read([]string{"-"}, o, func(*Record) error { return nil }); err != nil || s.Requests != n {
					b.Fatalf("%+v, %v", s, err)
				}
			}
		})
	}
}
