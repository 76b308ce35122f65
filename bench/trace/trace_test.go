package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ExampleRead() {
	t, err := Read(strings.NewReader("time,key,cost\n10.5,ann,3\n10,bob,\nten,bob,1\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t)
	for _, r := range t.Records {
		fmt.Println(r.Time, r.Key, r.Cost)
	}
	for _, f := range t.Faults {
		fmt.Println(f)
	}
	// Output:
	// csv: 2 records in 4 lines; 1 broken (line 4); 1 record out of order, sorted
	// 10000000000 bob 1
	// 10500000000 ann 3
	// line 4: time "ten" is neither epoch seconds nor RFC 3339
}

// brief writes records as "line:second/key*cost", which fits into a row.
func brief(records []Record) string {
	var out []string
	for _, r := range records {
		out = append(out, fmt.Sprintf("%d:%d/%s*%d", r.Line, r.Time/1e9, r.Key, r.Cost))
	}
	return strings.Join(out, " ")
}

const good = `192.0.2.1 - - [02/Jan/2006:15:04:05 +0000] "GET / HTTP/1.1" 200 5`

func TestRead(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	for _, c := range []struct {
		in      string
		records string
		lines   int
		broken  string // line numbers
		why     string
	}{
		{"time,key\n1,a\n2,b\n", "2:1/a*1 3:2/b*1", 3, "", "the plain case; no cost column: 1"},
		{"time,key\n1,a\n2,b", "2:1/a*1 3:2/b*1", 3, "", "no newline at the end: a line all the same"},
		{"time,key\r\n1,a\r\n2,b\r\n", "2:1/a*1 3:2/b*1", 3, "", "CRLF is not part of the key"},
		{"time,key\n1,a\r", "2:1/a*1", 2, "", "CRLF cut off in the middle"},
		{"\xef\xbb\xbftime,key\n1,a\n", "2:1/a*1", 2, "", "a byte order mark is not part of the first name"},
		{"\xef\xbb\xbf\n\xef\xbb\xbftime,key\n1,a\n", "", 0, "", "but only at the start: an error, see TestReadError"},
		{"\n \t\r\n\ntime,key\n\n1,a\n\n", "6:1/a*1", 7, "", "blank lines are skipped, above the header too"},
		{"\"KEY\", Time ,x,\"Cost\"\na,1,y,7\n", "2:1/a*7", 2, "", "names: any order and case, space around, quoted"},
		{"time,key,cost\n1,a,\n2,a, \n3,a,0\n4,a,-5\n", "2:1/a*1 3:2/a*1 4:3/a*0 5:4/a*-5", 5, "", "empty cost 1; zero and negative kept"},
		{"time,key,bytes,Key2\n1,a,b,c\n", "2:1/a*1", 2, "", "other columns are ignored"},
		{"time,key,x,x\n1,a,,\n", "2:1/a*1", 2, "", "also if they occur twice"},
		{"time,key\n 1 , a \n", "2:1/ a *1", 2, "", "space belongs to the key, not to a number"},
		{"time,key\n1,\"a,\"\"b\"\"\"\n", `2:1/a,"b"*1`, 2, "", "comma and quote inside quotes"},
		{"time,key\n1,\"a\n2,b\n3,c\"\n4,d\n", "3:2/b*1 5:4/d*1", 5, "2 4", "an open quote swallows no line below"},
		{"time,key\n1,a\n2,b,c\n3\n4,d\n", "2:1/a*1 5:4/d*1", 5, "3 4", "too many fields, too few"},
		{"time,key\nx,a\n,a\n2,\n3,\"\"\n4,a\n", "6:4/a*1", 6, "2 3 4 5", "no time, empty time, empty key twice"},
		{"time,key,cost\n1,a,1.5\n2,a,x\n3,a,1\n", "4:3/a*1", 4, "2 3", "a cost is an integer"},
		{"time,key\n1,\xff\xfe\x00\n", "2:1/\xff\xfe\x00*1", 2, "", "a key is bytes: NUL and broken UTF-8 kept"},
		{"time,key\n1\x00,a\n2,b\n", "3:2/b*1", 3, "2", "but a number with NUL is none"},
		{"time,key\n3,a\n1,b\n2,c\n1,d\n3,e\n", "3:1/b*1 5:1/d*1 4:2/c*1 2:3/a*1 6:3/e*1", 6, "", "sorted, equal times in the order of their lines"},
		{"time,key\n1," + long[2:] + "\n2,b\n", "2:1/" + long[2:] + "*1 3:2/b*1", 3, "", "the longest line"},
		{"time,key\n1," + long[2:] + "\r\n2,b\n", "2:1/" + long[2:] + "*1 3:2/b*1", 3, "", "the longest line, whose end does not count"},
		{"time,key\n1," + long[1:] + "\n2,b\n", "3:2/b*1", 3, "2", "a byte more is too long"},
		{"time,key\n1," + long + long + long + "\n2,b\n3," + long, "3:2/b*1", 4, "2 4", "far too long, and at the end of the input"},
		{good, "1:1136214245/192.0.2.1*1", 1, "", "a log has no header: line 1 counts"},
		{"\n\xef\xbb\xbf" + good + "\n", "2:1136214245/\xef\xbb\xbf192.0.2.1*1", 2, "", "a mark further down is data"},
		{strings.Replace(good, "Jan", "Jam", 1) + "\n" + good + "\n", "2:1136214245/192.0.2.1*1", 2, "1", "a broken first line does not hide the log"},
		{"TTP/1.1\" 200 5\n" + good + "\n", "2:1136214245/192.0.2.1*1", 2, "1", "nor does one cut by rotation"},
		{long + "x\n" + good + "\n", "2:1136214245/192.0.2.1*1", 2, "1", "nor an endless one"},
		{strings.Replace(good, "GET /", "GET /?a,time,key,b", 1) + "\n", "1:1136214245/192.0.2.1*1", 1, "", "a request that would make a header"},
		{good + "\ntime,key\n1,a\n", "1:1136214245/192.0.2.1*1", 3, "2 3", "one format a file"},
	} {
		got, err := Read(strings.NewReader(c.in))
		if c.lines == 0 {
			if err == nil {
				t.Errorf("%s: no error", c.why)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		var broken []string
		for _, f := range got.Faults {
			broken = append(broken, fmt.Sprint(f.Line))
		}
		if r := brief(got.Records); r != c.records {
			t.Errorf("%s: records %.200s, want %.200s", c.why, r, c.records)
		}
		if got.Lines != c.lines || strings.Join(broken, " ") != c.broken {
			t.Errorf("%s: %d lines, broken %v; want %d, %s", c.why, got.Lines, broken, c.lines, c.broken)
		}
		check(t, got)
	}
}

// check asserts the invariants of the package doc.
func check(t *testing.T, tr *Trace) {
	t.Helper()
	if len(tr.Records)+tr.Broken+tr.Skipped != tr.Lines || len(tr.Records) == 0 {
		t.Errorf("ledger: %d records + %d broken + %d skipped of %d lines", len(tr.Records), tr.Broken, tr.Skipped, tr.Lines)
	}
	if len(tr.Faults) != min(tr.Broken, MaxFaults) {
		t.Errorf("ledger: %d faults for %d broken", len(tr.Faults), tr.Broken)
	}
	seen := make(map[int]bool)
	for i, r := range tr.Records {
		if i > 0 {
			if p := tr.Records[i-1]; p.Time > r.Time || p.Time == r.Time && p.Line >= r.Line {
				t.Errorf("order: %+v before %+v", p, r)
			}
		}
		if r.Key == "" || r.Line < 1 || r.Line > tr.Lines || seen[r.Line] {
			t.Errorf("ledger: record %+v", r)
		}
		seen[r.Line] = true
	}
	for i, f := range tr.Faults {
		if i > 0 && f.Line <= tr.Faults[i-1].Line || f.Line < 1 || f.Line > tr.Lines || seen[f.Line] || f.Reason == "" {
			t.Errorf("ledger: fault %+v", f)
		}
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("cable cut")
	for _, c := range []struct {
		in   string
		want []string // all in the error
		none bool     // it is ErrNoRecords
		why  string
	}{
		{"", []string{"trace: ", "empty"}, true, "nothing"},
		{"\n \n", []string{"empty"}, true, "nothing but blank lines"},
		{"time,key\n\n", []string{"nothing follows"}, true, "a header alone"},
		{"time,key\n\nx,a\ny,a\n", []string{"2 broken", "line 3", `"x"`}, true, "no line parses: the first reason"},
		{"when,key\n1,a\n", []string{"line 1", `column "time" is missing`, `"when", "key"`}, false, "the columns that are there"},
		{"\ntime,\"who, me\"\n1,a\n", []string{"line 2", `column "key" is missing`, `"time", "who, me"`}, false, "the line, below a blank one"},
		{"807256800,h1\n", []string{`columns "time" and "key"`, `"807256800"`, "neither a Combined"}, false, "no header at all"},
		{"time;key\n1;a\n", []string{`"time;key"`}, false, "another separator"},
		{"time,key,Time\n1,a,2\n", []string{`"time" occurs twice`, `"Time"`}, false, "which one?"},
		{"time,\"key\n1,a\n", []string{"line 1", "quote not closed"}, false, "a header that is no CSV"},
		{"\x7fELF\x02\x01\x00", []string{`"\x7fELF\x02\x01\x00"`}, false, "binary"},
		{"\n\xef\xbb\xbftime,key\n1,a\n", []string{`"\ufefftime"`}, false, "a mark that is not at the start shows"},
		{strings.Repeat("c,", 300) + "\n", []string{"and 281 more"}, false, "a wide header is shortened"},
		{strings.Repeat("\x00", 5*MaxLine), []string{"5242880 bytes", "line 1"}, true, "no line end in sight"},
		{"\x1f\x8b", []string{"unexpected EOF"}, false, "gzip with nothing behind its mark"},
		{"\x1f\x8bhello, world", []string{"gzip"}, false, "gzip that is none"},
	} {
		tr, err := Read(strings.NewReader(c.in))
		if err == nil || tr != nil {
			t.Errorf("%s: %v, %v", c.why, tr, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q lacks %q", c.why, err, w)
			}
		}
		if errors.Is(err, ErrNoRecords) != c.none || len(err.Error()) > 1000 {
			t.Errorf("%s: %q", c.why, err)
		}
	}
	in := "time,key\n1,a\n2,b\n3,c\n"
	for n := range len(in) { // wherever it fails, no Trace, and no mistaking it for the end
		tr, err := Read(&failing{in: in[:n], err: broken})
		if tr != nil || !errors.Is(err, broken) {
			t.Fatalf("cut at %d: %v, %v", n, tr, err)
		}
	}
	tr, err := Read(iotest.OneByteReader(strings.NewReader(in)))
	if err != nil || len(tr.Records) != 3 {
		t.Errorf("one byte at a time: %v, %v", tr, err)
	}
}

// failing gives its input, its error once, and then a clean end, as a reader may that forgets its errors.
type failing struct {
	in  string
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	if f.in == "" {
		if err := f.err; err != nil {
			f.err = nil
			return 0, err
		}
		return 0, errors.New("read on after an error")
	}
	n := copy(p, f.in)
	f.in = f.in[n:]
	return n, nil
}

func TestFaultsAreCapped(t *testing.T) {
	tr, err := Read(strings.NewReader("time,key\n" + strings.Repeat("x\n", 3*MaxFaults) + "1,a\n"))
	if err != nil {
		t.Fatal(err)
	}
	check(t, tr)
	if tr.Broken != 3*MaxFaults || len(tr.Faults) != MaxFaults {
		t.Errorf("%d broken, %d described", tr.Broken, len(tr.Faults))
	}
	want := "csv: 1 record in 3002 lines; 3000 broken (lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2990 more)"
	if tr.String() != want {
		t.Errorf("%s, want %s", tr, want)
	}
}

func TestUnsorted(t *testing.T) {
	for _, c := range []struct {
		times string
		want  int
		why   string
	}{
		{"1 2 3", 0, "in order"},
		{"2 2 2", 0, "equal is in order"},
		{"3 1 2", 2, "both came after a later one, though 2 follows 1"},
		{"-1 -2 0", 1, "below zero, where a zero maximum would hide it"},
		{"-5 -9 -7", 2, "and where it would make three"},
	} {
		tr, err := Read(strings.NewReader("key,time\na," + strings.ReplaceAll(c.times, " ", "\na,")))
		if err != nil || tr.Unsorted != c.want {
			t.Errorf("%s: %v, %v; want %d", c.why, tr, err, c.want)
			continue
		}
		check(t, tr)
	}
}

func TestReadFile(t *testing.T) {
	var packed bytes.Buffer
	for _, part := range []string{"time,key\n1,a\n", "2,b\n"} { // logs are concatenated packed
		z := gzip.NewWriter(&packed)
		z.Write([]byte(part))
		z.Close()
	}
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		data []byte
		want string
		err  string
		why  string
	}{
		{"plain", []byte("time,key\n1,a\n2,b\n"), "2:1/a*1 3:2/b*1", "", "a plain file"},
		{"packed", packed.Bytes(), "2:1/a*1 3:2/b*1", "", "gzip in two members, whatever the name says"},
		{"cut", packed.Bytes()[:packed.Len()-6], "", "cut: line 4: unexpected EOF", "gzip cut short is not read in part"},
		{"bad", []byte("a,b\n"), "", "bad: line 1: ", "the error names the file"},
		{"absent", nil, "", "absent: ", "also one that is not there"},
		{".", nil, "", ": read ", "a directory"},
	} {
		name := filepath.Join(dir, c.name)
		if c.data != nil {
			if err := os.WriteFile(name, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		tr, err := ReadFile(name)
		if c.err != "" {
			if tr != nil || err == nil || !strings.Contains(err.Error(), c.err) || !strings.HasPrefix(err.Error(), "trace: ") {
				t.Errorf("%s: %v, %v", c.why, tr, err)
			}
			continue
		}
		if err != nil || brief(tr.Records) != c.want {
			t.Errorf("%s: %v, %v", c.why, tr, err)
		}
	}
}

func TestKeysAreStoredOnce(t *testing.T) {
	size := func(rows int) float64 {
		in := "time,key,cost\n" + strings.Repeat("2023-11-16T18:17:03.9799600Z,somebody,4818\n1.5,\"somebody\",1\n", rows/2)
		return testing.AllocsPerRun(5, func() {
			if tr, err := Read(strings.NewReader(in)); err != nil || len(tr.Records) != rows {
				t.Fatal(tr, err)
			}
		})
	}
	if few, many := size(1000), size(10_000); many-few > 100 { // the slice of records grows; nothing else may
		t.Errorf("%v allocations for 1000 rows, %v for 10000", few, many)
	}
}

func TestDeterministic(t *testing.T) {
	in := "time,key\n3,a\n1,b\nx,c\n1,d\n"
	a, errA := Read(strings.NewReader(in))
	b, errB := Read(strings.NewReader(in))
	if !reflect.DeepEqual(a, b) || errA != nil || errB != nil {
		t.Errorf("%+v, %+v", a, b)
	}
}
