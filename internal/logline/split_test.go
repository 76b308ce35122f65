package logline

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"
)

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
		got, err := Split(nil, []byte(c.in), ',')
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v; want %q", c.why, got, err, c.err)
		}
		sameAsCSV(t, c.in)
	}
}

// FuzzSplit holds Split against encoding/csv, which agrees on every single line.
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
	fields, err := Split(nil, []byte(line), ',')
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
