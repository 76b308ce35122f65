package logs

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/weir-go/weir/internal/logline"
)

// all reads the text of one file, and tells each record as "time key... cost...".
func all(t *testing.T, text string, o Options) (lines []string, s *Summary, err error) {
	t.Helper()
	o.Stdin = strings.NewReader(text)
	s, err = Read([]string{"-"}, o, func(r *Record) error {
		line := fmt.Sprint(r.Time)
		for _, k := range r.Keys {
			line += " " + KeyText(k)
		}
		for _, c := range r.Costs {
			line += " " + fmt.Sprint(c)
		}
		lines = append(lines, line)
		return nil
	})
	return lines, s, err
}

func keys(t *testing.T, text string) (all []Key) {
	t.Helper()
	for word := range strings.FieldsSeq(text) {
		k := Key{}
		if word != "default" {
			var err error
			if k, err = ParseKey(word); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, k)
	}
	return all
}

func costs(t *testing.T, text string) (all []Cost) {
	t.Helper()
	for word := range strings.FieldsSeq(text) {
		c := Cost{}
		if word != "default" {
			var err error
			if c, err = ParseCost(word); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, c)
	}
	return all
}

const (
	combinedLine = `192.0.2.1 - eve [02/Jan/2006:15:04:05 +0000] "GET /a?b=c HTTP/1.1" 200 5 "http://x/" "curl/8 (x)"`
	commonLine   = `2001:db8::7 - - [02/Jan/2006:16:04:05.25 +0100] "PUT /b HTTP/1.1" 204 -`
	caddyLine    = `{"level":"info","ts":1136214245.25,"logger":"http.log.access","request":{"remote_ip":"192.0.2.1","client_ip":"::ffff:192.0.2.9","method":"GET","uri":"/a?b","headers":{"User-Agent":["curl"],"X-Api-Key":["k1","k2"]}},"size":7,"status":200}`
	nginxLine    = `{"time_iso8601":"2006-01-02T15:04:05+00:00","remote_addr":"192.0.2.1","request":"POST /c?d HTTP/1.1","body_bytes_sent":"12","http_user_agent":"a\"b"}`
	envoyLine    = `{"start_time":"2006-01-02T15:04:05.125Z","method":"GET","path":"/e","downstream_remote_address":"192.0.2.1:5555","bytes_sent":3,"user_agent":"z","authority":"h"}`
)

func TestFormats(t *testing.T) {
	for _, row := range []struct {
		in, keys, costs string
		o               Options
		want, format    string
		why             string
	}{
		{combinedLine, "client method path header:user-agent user status,client", "bytes 1", Options{},
			"1136214245000000000 192.0.2.1 GET /a curl/8 (x) - eve 200 192.0.2.1 5 1", "combined", "Combined"},
		{commonLine, "default all", "bytes default", Options{}, "1136214245250000000 2001:db8:0:0::/64 all 0 1", "common", "Common, without bytes"},
		{caddyLine, "client method path header:x-api-key request.remote_ip", "bytes status", Options{},
			"1136214245250000000 192.0.2.9 GET /a k1 192.0.2.1 7 200", "caddy", "Caddy: the client it trusts"},
		{nginxLine, "client method path header:User-Agent", "bytes", Options{}, `1136214245000000000 192.0.2.1 POST /c a"b 12`, "nginx", "nginx, escape=json, with a request line"},
		{envoyLine, "default method path header:User-Agent authority", "bytes", Options{}, "1136214245125000000 192.0.2.1 GET /e z h 3", "envoy", "Envoy"},
		{`{"when":5,"who":"a"}`, "default", "1", Options{Fields: map[string]string{"time": "when", "client": "who"}}, "5000000000 a 1", "json", "mapped"},
		{`{"t":{"x":"1700000000123"},"u":{"n":2}}`, "u.n", "u.n", Options{Fields: map[string]string{"time": "t.x"}}, "1700000000123000000 2 2", "json", "mapped into objects; milliseconds"},
		{"time,key,cost\n5.5,\"a,\"\"b\",3", "default", "default", Options{}, `5500000000 a,"b 3`, "csv", "the columns that have a name here"},
		{"Time,Remote_Addr,url\n1136214245123,192.0.2.1:80,/x?y", "default path", "1", Options{}, "1136214245123000000 192.0.2.1 /x 1", "csv", "names without case; milliseconds"},
		{"ts\tip\tbytes\n1136214245123456\t::1\t-", "client", "bytes", Options{}, "1136214245123456000 ::/64 0", "tsv", "TSV; microseconds; no bytes"},
		{"ts\tip\n1136214245123456789\t\"x", "client", "1", Options{}, `1136214245123456789 "x 1`, "tsv", "no quotes in TSV; nanoseconds"},
		{"time,ip\n2006-01-02 15:04:05,a", "client", "1", Options{TimeFormat: time.DateTime}, "1136214245000000000 a 1", "csv", "a layout"},
		{"time,ip\n02/Jan/2006:15:04:05 +0000,a", "client", "1", Options{}, "1136214245000000000 a 1", "csv", "a log's stamp"},
		{"time,ip\n7,a", "client", "1", Options{TimeFormat: "unixns"}, "7 a 1", "csv", "a unit that is told"},
		{"when,who\n7,a", "who", "1", Options{Format: "csv", Fields: map[string]string{"time": "when"}}, "7000000000 a 1", "csv", "a format that is told"},
		{"\xef\xbb\xbf\n\r\ntime,key\r\n7,a\r\n", "default", "1", Options{}, "7000000000 a 1", "csv", "a byte order mark, blank lines, \\r\\n"},
		{"\x00\x01garbage\n" + combinedLine, "client", "1", Options{}, "1136214245000000000 192.0.2.1 1", "combined", "a broken line at the top"},
		{"time,line\n7,\"" + strings.ReplaceAll(combinedLine, `"`, `""`) + `"`, "all", "1", Options{}, "7000000000 all 1", "csv", "a table of log lines"},
		{"time,a,b\n7,x,y", "a,b b,a", "1", Options{}, "7000000000 x y y x 1", "csv", "several fields"},
	} {
		row.o.Keys, row.o.Costs = keys(t, row.keys), costs(t, row.costs)
		got, s, err := all(t, row.in, row.o)
		if err != nil || len(got) != 1 || strings.ReplaceAll(got[0], "db8::/", "db8:0:0::/") != row.want || s.Files[0].Format != row.format {
			t.Errorf("%s: %q, %+v, %v, want %q as %s", row.why, got, s, err, row.want, row.format)
		}
	}
}

func TestBroken(t *testing.T) {
	for _, row := range []struct {
		in, costs, reason, why string
	}{
		{"time,key,n\n1,a,1\n2,a,-1", "n", `n "-1" is not a whole number`, "a negative cost"},
		{"time,key,n\n1,a,1\n2,a,1.5", "n", "not a whole number", "a fraction"},
		{"time,key,n\n1,a,1\n2,a,99999999999999999999", "n", "beyond 64 bits", "a cost without end"},
		{"time,key,n\n1,a,1\n2,a,x", "n", "not a whole number", "no number"},
		{"time,key,n\n1,a,1\n2,,1", "1", "no value for key", "no key"},
		{"time,key,n\n1,a,1\n2,a", "1", "2 fields, the header has 3", "a short line"},
		{"time,key,n\n1,a,1\n2,\"a,1", "1", "quote not closed", "an open quote"},
		{"time,key,n\n1,a,1\n2000-01-01T00:00:00Z,a,1", "1", "is not a number of seconds", "another format of time than before"},
		{"time,key,n\n1,a,1\n1700000000123,a,1", "1", "in seconds, is outside", "another unit than before"},
		{"time,key,n\n1,a,1\n1.0000000001,a,1", "1", "finer", "finer than a nanosecond"},
		{caddyLine + "\n" + strings.Replace(caddyLine, "1136214245.25", "null", 1), "1", "has no time", "no time"},
		{caddyLine + "\n" + strings.Replace(caddyLine, `_ip"`, `_xp"`, 2), "1", "no value for client", "no client"},
		{caddyLine + "\n" + caddyLine[:50], "1", "is no JSON object", "cut off"},
		{combinedLine + "\n" + combinedLine[:40], "1", "no time in brackets", "cut off"},
		{combinedLine + "\n" + strings.Repeat("x", logline.MaxLine+1), "1", "1048577 bytes are more than 1048576", "too long"},
		{combinedLine + "\n\x00\xff\xfe", "1", "no time in brackets", "binary"},
	} {
		got, s, err := all(t, row.in, Options{Keys: keys(t, "default"), Costs: costs(t, row.costs)})
		if err != nil || len(got) != 1 || s.Broken != 1 || len(s.Faults) != 1 || !strings.Contains(s.Faults[0].Reason, row.reason) || s.Faults[0].Line != s.Lines {
			t.Errorf("%s: %q, %+v, %v, want %q", row.why, got, s, err, row.reason)
		}
		o := Options{Keys: keys(t, "default"), Costs: costs(t, row.costs), Hide: true}
		if _, s, _ := all(t, strings.ReplaceAll(row.in, "192.0.2.1", "SECRET"), o); strings.Contains(fmt.Sprint(s.Faults), "SECRET") {
			t.Errorf("%s: %v tells a key", row.why, s.Faults)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, row := range []struct {
		in, keys, costs string
		o               Options
		want            string
		none            bool // ErrNoRecords
	}{
		{"", "default", "1", Options{}, "no records (lines: 0)", true},
		{"\n\n", "default", "1", Options{}, "no records (lines: 2)", true},
		{"time,key\n", "default", "1", Options{}, "no records (lines: 1)", true},
		{"time,key\nx,a\n", "default", "1", Options{}, `no records (lines: 2, broken: 1), the first: -:2: time "x" is no time that is known`, true},
		{"hello\nworld\n", "default", "1", Options{}, `no column time, timestamp`, false},
		{"time,who\n1,a\n", "default", "1", Options{}, `there is no column for client among "time, who"`, false},
		{"time,who\n1,a\n", "who", "tokens", Options{}, `there is no column for tokens`, false},
		{combinedLine, "header:X-Api-Key", "1", Options{}, "combined lines have no header:X-Api-Key", false},
		{"a,b\n", "a", "1", Options{Format: "nginx"}, "neither a log line of nginx nor an object", false},
		{combinedLine, "client", "1", Options{Format: "xml"}, `format "xml" is none of`, false},
		{"time,who\n1,a\n", "who", "1", Options{Fields: map[string]string{"key": "who"}}, `field "key"="who": want time, client`, false},
		{"time,who\n1,a\n", "default", "default", Options{Fields: map[string]string{"key": "x", "cost": "y"}}, "no column for client", false},
		{"\x1f\x8b\x08garbage", "client", "1", Options{}, "-: ", false},
	} {
		row.o.Keys, row.o.Costs = keys(t, row.keys), costs(t, row.costs)
		row.o.Hide = true
		if _, _, err := all(t, strings.ReplaceAll(row.in, "hello", "SECRET"), row.o); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v", row.in, err)
		}
		row.o.Hide = false
		_, _, err := all(t, row.in, row.o)
		if err == nil || !strings.Contains(err.Error(), row.want) || errors.Is(err, ErrNoRecords) != row.none {
			t.Errorf("%q: %v, want %q", row.in, err, row.want)
		}
	}
	if _, err := Read([]string{"no such file"}, Options{}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	stop := errors.New("enough")
	if _, err := Read([]string{"-"}, Options{Stdin: strings.NewReader(combinedLine)}, func(*Record) error { return stop }); err != stop {
		t.Errorf("%v, want the callback's error", err)
	}
	broken := iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(combinedLine)))
	if _, err := Read([]string{"-"}, Options{Stdin: broken}, func(*Record) error { return nil }); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("%v, want the reader's error", err)
	}
	o := Options{Stdin: strings.NewReader(combinedLine)}
	if _, err := Read([]string{"-", "-"}, o, func(*Record) error { return nil }); err == nil || !strings.Contains(err.Error(), "once only") {
		t.Errorf("%v", err)
	}
}

// TestFiles reads several files of different formats as one, one of them of two gzip members.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	var packed bytes.Buffer
	for _, part := range []string{"time,key\n10,a\n", "12,b\n8,c\n"} {
		z := gzip.NewWriter(&packed)
		z.Write([]byte(part))
		z.Close()
	}
	names := []string{filepath.Join(dir, "a.csv.gz"), filepath.Join(dir, "b.json")}
	for i, data := range [][]byte{packed.Bytes(), []byte(`{"ts":12.5,"key":"d"}` + "\n" + `{"ts":3,"key":"e"}` + "\n" + `{"ts":12,"key":"f"}`)} {
		if err := os.WriteFile(names[i], data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	o := Options{Keys: keys(t, "key all"), Costs: costs(t, "1"), Window: 3 * time.Second}
	s, err := Read(names, o, func(r *Record) error {
		got = append(got, fmt.Sprintf("%v%s", time.Duration(r.Time), r.Keys[0]))
		return nil
	})
	// When 12.5 comes, 8 has left, and what is older leaves at 8.
	if want := "[8sc 8se 10sa 12sb 12sf 12.5sd]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	if err != nil || s.Requests != 6 || s.Lines != 7 || s.Blank != 1 || s.Reordered != 2 || s.Late != 1 || s.Files[0].Lines != 4 || s.Files[1].Format != "json" ||
		!s.Files[0].First.Equal(time.Unix(10, 0)) || !s.Files[1].First.Equal(time.Unix(12, 5e8)) {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestTick(t *testing.T) {
	for _, row := range []struct {
		times string
		want  time.Duration
	}{
		{"1 2 5", time.Second}, {"1 2.5", time.Millisecond}, {"1 2.000001", time.Microsecond}, {"1.000000001 2", time.Nanosecond}, {"-1.5 3", time.Millisecond},
	} {
		_, s, err := all(t, "time,key\n"+strings.ReplaceAll(row.times, " ", ",a\n")+",a\n", Options{Keys: keys(t, "key"), Costs: costs(t, "1")})
		if err != nil || s.Tick != row.want || s.WholeSeconds() != (row.want == time.Second) {
			t.Errorf("%s: %v, %v", row.times, s.Tick, err)
		}
	}
}

// TestKeysDiffer looks for two records whose keys are the same bytes and should not be.
func TestKeysDiffer(t *testing.T) {
	parts := []string{"a", "b", "\x00", "\x00\x01", "\x00\x02", "\x01", "\x02", "a\x00", "\x02a"}
	seen := map[string][2]string{}
	k := keys(t, "x,y")[0]
	for _, a := range parts {
		for _, b := range parts {
			key, err := k.append(nil, [][]byte{[]byte(a), []byte(b)})
			if err != nil {
				t.Fatal(err)
			}
			if twin, ok := seen[string(key)]; ok {
				t.Errorf("%q and %q are both %q", [2]string{a, b}, twin, key)
			}
			seen[string(key)] = [2]string{a, b}
		}
	}
}

// TestLongKeys counts what is kept of keys, and looks for two that differ at their ends only.
func TestLongKeys(t *testing.T) {
	seen := map[string]bool{}
	k := keys(t, "x,y")[0]
	for _, size := range []int{longest - 4, longest - 3, longest - 2, longest, 1 << 20} {
		for _, end := range []string{"a", "b"} {
			v := strings.Repeat("/", size) + end
			key, err := k.append([]byte("before"), [][]byte{[]byte("x"), []byte(v)})
			whole := "beforex" + between + v
			if err != nil || len(key) > len("before")+longest+3+32 || seen[string(key)] ||
				len(whole) <= len("before")+longest != (string(key) == whole) || whole[:100] != string(key[:100]) {
				t.Errorf("%d bytes and %q: %q, %v", size, end, key, err)
			}
			seen[string(key)] = true
		}
	}
}

func TestParseKey(t *testing.T) {
	for _, row := range []struct{ in, want string }{
		{"client", "client"}, {"all", "all"}, {"none", "all"}, {"path,none", "error"}, {"client, path", "client,path"}, {"header:X-Y,field:path,user", "header:X-Y,field:path,user"},
		{"field:user", "user"}, {"", "error"}, {"client,", "error"}, {"header:", "error"}, {"all,client", "error"}, {"path,path", "error"},
	} {
		k, err := ParseKey(row.in)
		got := k.String()
		if err != nil {
			got = "error"
		}
		if got != row.want {
			t.Errorf("%q: %s, %v", row.in, got, err)
		}
		if again, err2 := ParseKey(k.String()); err == nil && (err2 != nil || again.String() != got) {
			t.Errorf("%q does not come back: %v %v", row.in, again, err2)
		}
	}
	for in, want := range map[string]bool{"1": true, "bytes": true, "field:1": false, "2": false, "": false, "-": false, "x1": true} {
		if c, err := ParseCost(in); (err == nil) != want {
			t.Errorf("cost %q: %v, %v", in, c, err)
		}
	}
	for in, want := range map[string]bool{"": true, "unixms": true, time.RFC1123Z: true, "2006-01-02": false, "x": false} {
		if err := ParseStamp(in); (err == nil) != want {
			t.Errorf("time format %q: %v", in, err)
		}
	}
}
