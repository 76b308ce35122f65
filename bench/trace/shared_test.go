package trace

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// shared is where real recorded traffic lies beside a checkout; it is not part of the project.
const shared = "../../../shared/traces"

// TestShared reads real traffic, and holds each record against a second, naive reading of the same file.
func TestShared(t *testing.T) {
	for _, c := range []struct {
		name    string
		again   func(t *testing.T, data []byte) []Record
		format  string
		records int
		keys    int
		why     string
	}{
		{"nasa-1995-08-01.csv", csvAgain, CSV, 30969, 2365, "whole seconds; bytes is no cost"},
		{"llm-2023-code.csv", csvAgain, CSV, 8819, 1, "RFC 3339 to 100 ns, costs"},
		{"web-2015-combined.log", logAgain, Combined, 3456, 520, "a site under attack"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(shared, c.name))
			if os.IsNotExist(err) {
				t.Skip("recorded traffic is not beside this checkout: " + shared)
			}
			if err != nil {
				t.Fatal(err)
			}
			tr, err := ReadFile(filepath.Join(shared, c.name))
			if err != nil {
				t.Fatal(err)
			}
			t.Log(tr)
			check(t, tr)
			if tr.Format != c.format || len(tr.Records) != c.records || keys(tr) != c.keys || tr.Broken != 0 {
				t.Errorf("%s: %v, %d keys; want %+v", c.why, tr, keys(tr), c)
			}
			again := c.again(t, data)
			for _, r := range tr.Records { // by line: the naive reading does not sort
				if want := again[r.Line-1]; r != want {
					t.Fatalf("%+v, want %+v", r, want)
				}
			}
		})
	}
}

// csvAgain reads with encoding/csv. Element i is line i+1.
func csvAgain(t *testing.T, data []byte) []Record {
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := []Record{{}}
	for i, row := range rows[1:] {
		r := Record{Key: row[1], Cost: 1, Line: i + 2}
		if at, err := time.Parse(time.RFC3339Nano, row[0]); err == nil {
			r.Time = at.UnixNano()
		} else if n, err := strconv.ParseInt(row[0], 10, 64); err == nil {
			r.Time = n * 1e9
		} else {
			t.Fatal(err)
		}
		if rows[0][2] == "cost" {
			if r.Cost, err = strconv.Atoi(row[2]); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, r)
	}
	return out
}

// logAgain reads with one regular expression.
func logAgain(t *testing.T, data []byte) []Record {
	re := regexp.MustCompile(`^(\S+) \S+ \S+ \[([^]]+)\] "(?:[^"\\]|\\.)*" \d{3} (?:\d+|-) "(?:[^"\\]|\\.)*" "(?:[^"\\]|\\.)*"\s*$`)
	var out []Record
	for i, line := range bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		m := re.FindSubmatch(line)
		if m == nil {
			t.Fatalf("line %d: %q", i+1, line)
		}
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", string(m[2]))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Record{Time: at.UnixNano(), Key: string(m[1]), Cost: 1, Line: i + 1})
	}
	return out
}
