package trace

import (
	"strings"
	"testing"
)

func TestCombined(t *testing.T) {
	const at = 1136214245e9 // 2006-01-02T15:04:05Z
	for _, c := range []struct {
		in  string
		key string
		at  int64
		err string
		why string
	}{
		{`192.0.2.1 - - [02/Jan/2006:15:04:05 +0000] "GET / HTTP/1.1" 200 5 "-" "curl"`, "192.0.2.1", at, "", "Combined"},
		{`192.0.2.1 - - [02/Jan/2006:15:04:05 +0000] "GET / HTTP/1.1" 200 -`, "192.0.2.1", at, "", "Common, no bytes sent"},
		{`192.0.2.1 - - [02/Jan/2006:15:04:05 +0000] "GET / HTTP/1.1" 200`, "192.0.2.1", at, "", "cut off behind the status"},
		{`192.0.2.1 - - [02/Jan/2006:17:34:05 +0230] "" 400 0`, "192.0.2.1", at, "", "a zone; an empty request"},
		{`192.0.2.1 - - [02/Jan/2006:15:04:05.25 +0000] "-" 408 0`, "192.0.2.1", at + 250_000_000, "", "a fraction is kept"},
		{`[2001:db8::1] - - [02/Jan/2006:15:04:05 +0000] "-" 408 0`, "[2001:db8::1]", at, "", "brackets in the client"},
		{`h - eve [x] [y [02/Jan/2006:15:04:05 +0000] "-" 408 0`, "h", at, "", "brackets and spaces in the user"},
		{`h - eve [01/Jan/1999:00:00:00 +0000] \"GET / [02/Jan/2006:15:04:05 +0000] "-" 408 0`, "h", at, "", "a time forged by the user"},
		{`h - - [02/Jan/2006:15:04:05 +0000] "GET /[01/Jan/1999:00:00:00 +0000] \" 200 1" 404 0`, "h", at, "", "a time forged in the request"},
		{`h - - [02/Jan/2006:15:04:05 +0000] "GET /\\" 404 0`, "h", at, "", "an escaped backslash escapes no quote"},
		{`h - - [02/Jan/2006:15:04:05 +0000] "GET /"x" y" 404 0`, "h", at, "", "quotes that the server did not escape"},
		{"h - - [02/Jan/2006:15:04:05 +0000] \"\x16\x03\x01\x00\xff\" 400 0", "h", at, "", "TLS sent to a plain port, not escaped"},
		{"- - - [02/Jan/2006:15:04:05 +0000] \"-\" 400 0", "-", at, "", "a client without a name is one client"},
		{`h - - [02/Jam/2006:15:04:05 +0000] "-" 408 0`, "", 0, `"02/Jam/2006:15:04:05 +0000"`, "no such month"},
		{`h - - [02/Jan/2006:15:04:05] "-" 408 0`, "", 0, "not like", "no zone"},
		{`h - - [02/Jan/1606:15:04:05 +0000] "-" 408 0`, "", 0, "outside", "before int64"},
		{`h - - [02/Jan/2006:15:04:05.1234567891 +0000] "-" 408 0`, "", 0, "finer", "past the nanoseconds"},
		{`h - - [02/Jan/2006:15:04:05 +0000] -`, "", 0, "no quoted request", "no request"},
		{`h - - [02/Jan/2006:15:04:05 +0000] "GET / HTTP/1.1`, "", 0, "no status", "cut off in the request"},
		{`h - - [02/Jan/2006:15:04:05 +0000] "GET / HTTP/1.1" 20`, "", 0, "no status", "cut off in the status"},
		{`h - - [02/Jan/2006:15:04:05 +0000] "GET / HTTP/1.1" 2000 1`, "", 0, "no status", "a status has three digits"},
		{`h - - [02/Jan/2006:15:04:05 +0000] "GET / HTTP/1.1" abc 1`, "", 0, "no status", "and they are digits"},
		{`h - - [02/Jan/2006:15:04:05 +0000] "GET /\`, "", 0, "no status", "a backslash at the very end"},
		{`h - - [02/Jan/2006:15:04:05 +0000`, "", 0, "no time", "cut off in the time"},
		{` - - [02/Jan/2006:15:04:05 +0000] "-" 408 0`, "", 0, "empty client", "no client"},
		{`hello`, "", 0, "no time", "one word"},
		{strings.Repeat(" [", MaxLine/2), "", 0, "empty client", "brackets only"},
		{"h" + strings.Repeat(" [", MaxLine/2), "", 0, "no time", "a megabyte of brackets, in time that is linear"},
	} {
		got, key, cost, err := parseCombined([]byte(c.in))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || len(err.Error()) > 200 {
				t.Errorf("%s: %v, want %q", c.why, err, c.err)
			}
			continue
		}
		if err != nil || got != c.at || string(key) != c.key || cost != 1 {
			t.Errorf("%s: %d %q %d, %v", c.why, got, key, cost, err)
		}
	}
}
