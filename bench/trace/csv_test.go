package trace

import (
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestCost(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int
		err  string
		why  string
	}{
		{"", 1, "", "empty is the default"},
		{"0", 0, "", "kept"},
		{"-7", -7, "", "kept: the limit answers ErrCost"},
		{"+7", 7, "", "a sign"},
		{strconv.Itoa(math.MaxInt), math.MaxInt, "", "the largest int of this platform"},
		{strconv.Itoa(math.MinInt), math.MinInt, "", "the smallest"},
		{strconv.FormatUint(math.MaxInt+1, 10), 0, "-bit", "one more"},
		{strings.Repeat("9", 99), 0, "...", "far more, shortened"},
		{"1.0", 0, "not an integer", "a point"},
		{"1e3", 0, "not an integer", "an exponent"},
		{"0x1", 0, "not an integer", "hexadecimal"},
		{"-", 0, "not an integer", "a log's word for none is not CSV's"},
	} {
		got, err := parseCost([]byte(c.in))
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q = %d, %v; want %d, %q", c.why, c.in, got, err, c.want, c.err)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		in, err, why string
	}{
		{``, "", "one empty field"},
		{`,`, "", "two of them"},
		{`a,"",b`, "", "a quoted empty field"},
		{`"a""",""""`, "", "doubled quotes at the end and alone"},
		{`"a,b",c`, "", "a quoted comma"},
		{`"a",`, "", "an empty field at the end"},
		{`a"b,c`, "stray quote", "a quote inside"},
		{` "a",c`, "stray quote", "a quote after space"},
		{`"a"b,c`, "after a closing quote", "text behind the quote"},
		{`"a" ,c`, "after a closing quote", "also space"},
		{`"a`, "not closed", "open"},
		{`"`, "not closed", "nothing but a quote"},
		{`"""`, "not closed", "a doubled one is not the end"},
		{`a,"b,c`, "not closed", "open further right"},
	} {
		got, err := split(nil, []byte(c.in))
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v; want %q", c.why, got, err, c.err)
		}
		sameAsCSV(t, c.in)
	}
}

// FuzzSplit holds split against encoding/csv, which agrees on every single line.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{`a,b`, `"a,""b""",c`, `"a`, `a"b`, "a\r,\x00,\xff"} {
		f.Add(s)
	}
	f.Fuzz(sameAsCSV)
}

func sameAsCSV(t *testing.T, line string) {
	if line == "" || strings.Contains(line, "\n") {
		return // for encoding/csv, no record or several
	}
	r := csv.NewReader(strings.NewReader(line + "\r\n"))
	want, wantErr := r.Read()
	fields, err := split(nil, []byte(line))
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: %v, encoding/csv: %v", line, err, wantErr)
	}
	var got []string
	for _, f := range fields {
		got = append(got, string(f))
	}
	if err == nil && !slices.Equal(got, want) {
		t.Fatalf("%q: %q, encoding/csv: %q", line, got, want)
	}
}
