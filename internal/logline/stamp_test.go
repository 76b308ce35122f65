package logline

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestStamps holds the two quick readers against package time, on every day that they have an answer for and on spoiled
// stamps: what they read is the same, and they read nothing that package time refuses.
func TestStamps(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	zones := []*time.Location{time.UTC, time.FixedZone("", 3600), time.FixedZone("", -9*3600-30*60), time.FixedZone("", 14*3600)}
	read := 0
	for day := time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2200; day = day.AddDate(0, 0, 1) {
		at := day.Add(time.Duration(r.Int64N(int64(24 * time.Hour)))).In(zones[r.IntN(len(zones))])
		if r.IntN(4) == 0 {
			at = at.Truncate(time.Second)
		}
		for _, c := range []struct {
			layout string
			quick  func([]byte) (int64, bool)
		}{{time.RFC3339Nano, rfc3339}, {logTime, common}} {
			text := []byte(at.Format(c.layout))
			if r.IntN(3) == 0 {
				text[r.IntN(len(text))] = "0123456789:-+/. ZT"[r.IntN(18)]
			}
			ns, ok := c.quick(text)
			want, err := time.Parse(c.layout, string(text))
			if ok {
				read++
			}
			if ok && (err != nil || want.UnixNano() != ns) {
				t.Fatalf("%q = %d; package time has %v, %v", text, ns, want, err)
			}
			if !ok && err == nil && 1700 < want.Year() && want.Year() < 2199 && string(text) == want.Format(c.layout) {
				t.Fatalf("%q was left to package time", text)
			}
		}
	}
	if read < 200_000 {
		t.Errorf("read %d stamps only", read)
	}
}

func TestAccess(t *testing.T) {
	const head = `192.0.2.1 - eve [02/Jan/2006:15:04:05 +0000] `
	for _, c := range []struct {
		in                           string
		request, status, size, agent string
		method, path                 string
		why                          string
	}{
		{head + `"GET /a?b=c HTTP/1.1" 200 5 "-" "curl"`, "GET /a?b=c HTTP/1.1", "200", "5", "curl", "GET", "/a", "Combined; no query"},
		{head + `"PUT /a b HTTP/1.1" 404 -`, "PUT /a b HTTP/1.1", "404", "-", "", "PUT", "/a b", "Common; a space in the path"},
		{head + `"-" 408 0`, "-", "408", "0", "", "-", "-", "no request"},
		{head + `"\x16\x03" 400 0 "-" "-"`, `\x16\x03`, "400", "0", "-", "-", "-", "no HTTP"},
		{head + `"GET /\" 200 1" 404 0 "\"" "a \"b\""`, `GET /\" 200 1`, "404", "0", `a \"b\"`, "-", "-", "escaped quotes"},
		{head + `"GET / HTTP/1.1" 200`, "GET / HTTP/1.1", "200", "", "", "GET", "/", "cut off"},
		{head + `"GET / HTTP/1.1" 200 5 "open`, "GET / HTTP/1.1", "200", "5", "", "GET", "/", "cut off in the referer"},
	} {
		var a Access
		if err := a.Parse([]byte(c.in)); err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		method, path := a.Target()
		if string(a.Request) != c.request || string(a.Status) != c.status || string(a.Bytes) != c.size || string(a.Agent) != c.agent ||
			string(method) != c.method || string(path) != c.path || string(a.User) != "- eve" || string(a.Client) != "192.0.2.1" {
			t.Errorf("%s: %q, %q, %q, %q, %q, %q, %q", c.why, a.Request, a.Status, a.Bytes, a.Agent, method, path, a.User)
		}
	}
}

// TestAccessHost tells the client from a host before it, and from whatever else stands where.
func TestAccessHost(t *testing.T) {
	const tail = ` [02/Jan/2006:15:04:05 +0000] "GET / HTTP/1.1" 200 5`
	for _, c := range []struct{ in, client, user, why string }{
		{"example.com:80 192.0.2.1 - -", "192.0.2.1", "- -", "a host and its port"},
		{"example.com 2001:db8::1 - eve x", "2001:db8::1", "- eve x", "a host, IPv6, a user with a space"},
		{"client.example - eve", "client.example", "- eve", "a client by name"},
		{"client.example ident eve", "client.example", "ident eve", "an ident"},
		{"client.example 192.0.2 eve", "client.example", "192.0.2 eve", "an ident that is no address"},
		{"192.0.2.7 192.0.2.1 -", "192.0.2.7", "192.0.2.1 -", "two addresses: the first is the client"},
		{"192.0.2.7", "192.0.2.7", "", "nothing but a client"},
		{"192.0.2.7 ", "192.0.2.7", "", "an empty ident"},
		{"client.example 192.0.2.1", "192.0.2.1", "", "nothing behind the address"},
	} {
		var a Access
		if err := a.Parse([]byte(c.in + tail)); err != nil || string(a.Client) != c.client || string(a.User) != c.user {
			t.Errorf("%s: client %q, user %q, %v", c.why, a.Client, a.User, err)
		}
	}
}

func TestEpochIn(t *testing.T) {
	for _, c := range []struct {
		in     string
		digits int
		want   int64
		ok     bool
		why    string
	}{
		{"1700158623123", 3, 1700158623123e6, true, "milliseconds"},
		{"1700158623123.5", 3, 1700158623123500e3, true, "and half of one"},
		{"1700158623123456", 6, 1700158623123456e3, true, "microseconds"},
		{"9223372036854775807", 9, 9223372036854775807, true, "the last nanosecond"},
		{"9223372036854775808", 9, 0, false, "one more"},
		{"1.0", 9, 1, true, "no fraction of a nanosecond"},
		{"1.5", 9, 0, false, "half of one"},
		{"99999999999999", 3, 0, false, "a digit more than there are milliseconds"},
	} {
		got, is, err := EpochIn([]byte(c.in), c.digits)
		if !is || got != c.want || (err == nil) != c.ok {
			t.Errorf("%s: %s = %d, %v, %v", c.why, c.in, got, is, err)
		}
	}
}
