package logs

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestScan(t *testing.T) {
	for _, row := range []struct{ in, want, why string }{
		{`{}`, "", "empty"},
		{` {"a":1,"b":"x","c":true,"d":null,"e":-1.5e+3} `, "a=1 b=x c=true e=-1.5e+3", "all kinds; null is nothing"},
		{`{"a":{"b":{"c":1},"d":2},"e":3}`, "a.b.c=1 a.d=2 e=3", "names with points"},
		{`{"h":{"X":["1","2"]},"m":[[3]]}`, "h.X=1 h.X=2 m=3", "elements have the array's name"},
		{`{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud800"}`, "a=\"\\/\b\f\n\r\té😀\ufffd", "escapes"},
		{`{"a\u002eb":""}`, "a.b=", "an escaped name; an empty string"},
		{`{"a":1,"a":2}`, "a=1 a=2", "twice"},
		{`[1]`, "is no JSON object", "an array"},
		{`{"a":1`, "is no JSON object", "cut off"},
		{`{"a":1}x`, "is no JSON object", "text behind"},
		{`{"a":01}`, "is no JSON object", "a zero in front"},
		{`{"a":1.}`, "is no JSON object", "no digit behind the point"},
		{`{"a":"` + "\x01" + `"}`, "is no JSON object", "a control character"},
		{`{"a":"\x"}`, "is no JSON object", "no such escape"},
		{`{"a":"\u12"}`, "is no JSON object", "a short one"},
		{`{"a":tru}`, "is no JSON object", "no word"},
		{`{"a":}`, "is no JSON object", "no value"},
		{`{"a",1}`, "is no JSON object", "no colon"},
		{`{"a":1,}`, "is no JSON object", "a comma too many"},
		{strings.Repeat(`{"a":`, 1000), "is an object nested too deep", "deep objects"},
		{`{"a":` + strings.Repeat(`[`, 1000), "is an object nested too deep", "deep arrays"},
	} {
		var got []string
		err := new(scanner).scan([]byte(row.in), func(name, value []byte) { got = append(got, string(name)+"="+string(value)) })
		text := strings.Join(got, " ")
		if err != nil {
			text = err.Error()
		}
		if text != row.want {
			t.Errorf("%s: %q, want %q", row.why, text, row.want)
		}
	}
}

// FuzzScan holds the scanner against encoding/json: they take the same objects, and find the same values.
func FuzzScan(f *testing.F) {
	f.Fuzz(func(t *testing.T, line string) {
		var got []string
		err := new(scanner).scan([]byte(line), func(name, value []byte) { got = append(got, string(name)+"="+string(value)) })
		trimmed := strings.TrimLeft(line, " \t\r\n")
		valid := json.Valid([]byte(line)) && strings.HasPrefix(trimmed, "{")
		if err == errDeep {
			return
		}
		if (err == nil) != valid {
			t.Fatalf("%q: %v; encoding/json: %v", line, err, valid)
		}
		if !valid || !utf8.ValidString(line) {
			return // encoding/json replaces what is no UTF-8
		}
		if want := values(t, line); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", line, got, want)
		}
	})
}

// values walks through an object with encoding/json.
func values(t *testing.T, line string) (all []string) {
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	var walk func(name string)
	walk = func(name string) {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		switch v := token.(type) {
		case json.Delim:
			for d.More() {
				inner := name
				if v == '{' {
					key, err := d.Token()
					if err != nil {
						t.Fatal(err)
					}
					if inner = key.(string); name != "" {
						inner = name + "." + inner
					}
				}
				walk(inner)
			}
			d.Token()
		case string:
			all = append(all, name+"="+v)
		case json.Number:
			all = append(all, name+"="+v.String())
		case bool:
			all = append(all, name+"="+map[bool]string{true: "true", false: "false"}[v])
		}
	}
	walk("")
	return all
}
