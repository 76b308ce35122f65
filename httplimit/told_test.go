package httplimit

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// wall is the client's clock when it is told, and date the server's, which is
// an hour behind.
var (
	wall = time.Date(2026, 5, 23, 12, 0, 0, 0, time.UTC)
	date = wall.Add(-time.Hour)
)

func at(t time.Time, d time.Duration) string { return t.Add(d).Format(http.TimeFormat) }

func unix(t time.Time, d time.Duration) string { return strconv.FormatInt(t.Add(d).Unix(), 10) }

// tells are what servers say.
var tells = []struct {
	lines []string
	want  time.Duration
	why   string
}{
	{nil, 0, "nothing"},

	// Retry-After.
	{[]string{"Retry-After", "120"}, 120 * s, "seconds"},
	{[]string{"Retry-After", " 7\t"}, 7 * s, "and space"},
	{[]string{"Retry-After", "0"}, 0, "at once"},
	{[]string{"Retry-After", "0", "RateLimit", `"a";r=0;t=9`}, 0, "at once, since it takes precedence"},
	{[]string{"Retry-After", "2", "RateLimit", `"a";r=0;t=9`, "X-RateLimit-Reset", "8"}, 2 * s, "it takes precedence"},
	{[]string{"Retry-After", "99999999999999999999"}, math.MaxInt64, "as long as there is"},
	{[]string{"Retry-After", at(wall, 90*s)}, 90 * s, "a date"},
	{[]string{"Retry-After", at(date, 90*s), "Date", at(date, 0)}, 90 * s, "by the server's clock, if it shows it"},
	{[]string{"Retry-After", at(wall, -90*s)}, 0, "a date that is past"},
	{[]string{"Retry-After", wall.Add(5 * s).Format("Monday, 02-Jan-06 15:04:05 GMT")}, 5 * s, "a date in an old form"},
	{[]string{"Retry-After", wall.Add(5 * s).Format(time.ANSIC)}, 5 * s, "and in the oldest"},
	{[]string{"Retry-After", "-5"}, 0, "not negative"},
	{[]string{"Retry-After", "1.5"}, 0, "nor a fraction"},
	{[]string{"Retry-After", "+5"}, 0, "nor with a sign"},
	{[]string{"Retry-After", "5s"}, 0, "nor with a unit"},
	{[]string{"Retry-After", "soon", "RateLimit", `"a";r=0;t=9`}, 9 * s, "what makes no sense is passed over"},

	// RateLimit.
	{[]string{"RateLimit", `"default";r=0;t=50`}, 50 * s, "the window"},
	{[]string{"RateLimit", `"a";r=0;t=5, "b";r=0;t=50,"c";r=0;t=7`}, 50 * s, "the longest of those that are used up"},
	{[]string{"RateLimit", `"a";r=0;t=5`, "RateLimit", `"b";r=0;t=50`}, 50 * s, "over all lines"},
	{[]string{"RateLimit", `"a";r=1;t=86400, "b";r=0;t=5`}, 5 * s, "not of those that have some left"},
	{[]string{"RateLimit", `"a";r=1;t=60, "b";r=9;t=3600`}, 60 * s, "unless all have: then the shortest"},
	{[]string{"RateLimit", `"a";r=0;t=0`}, 0, "no window"},
	{[]string{"RateLimit", `"a";r=0`}, 0, "nor here"},
	{[]string{"RateLimit", `"a";t=5`}, 0, "r is required"},
	{[]string{"RateLimit", `a;r=0;t=5`}, 0, "an item is a string"},
	{[]string{"RateLimit", `"a";r=0;t=-5`}, 0, "no negative window"},
	{[]string{"RateLimit", `"a";r=0;t=5.5`}, 0, "nor a fraction"},
	{[]string{"RateLimit", `"a";r=0;t="5"`}, 0, "nor a string"},
	{[]string{"RateLimit", `"a";r=0;t=9999999999999999`}, 0, "16 digits are no integer"},
	{[]string{"RateLimit", `"a";r=0;t=999999999999999`}, math.MaxInt64, "15 are"},
	{[]string{"RateLimit", `"a";r=0;t=50;`}, 0, "malformed: all of it is ignored"},
	{[]string{"RateLimit", `"a";r=0;t=50, "b`}, 0, "also what is not"},
	{[]string{"RateLimit", `"a";r=0;t=50,`, "X-RateLimit-Reset", "8"}, 8 * s, "and the next field counts"},
	{[]string{"RateLimit", `"a";q;r=0;pk=:QQ==:;w=1.5;x=?1;y=@5;z=tok/en;t=50`}, 50 * s, "other parameters are comments"},
	{[]string{"RateLimit", `limit=10, remaining=0, reset=50`}, 0, "an older draft's syntax"},
	{[]string{"RateLimit", `"a";r=0;t=50`, "Age", "3"}, 0, "not from a cache"},
	{[]string{"RateLimit", `"a";r=0;t=50`, "Age", "0"}, 50 * s, "fresh"},
	{[]string{"RateLimit-Policy", `"a";q=1;w=50`}, 0, "a policy is not the state of it"},

	// What was never specified.
	{[]string{"X-RateLimit-Reset", "30"}, 30 * s, "a delta"},
	{[]string{"X-RateLimit-Reset", "0.25"}, s / 4, "a fraction"},
	{[]string{"X-RateLimit-Reset", unix(wall, 30*s)}, 30 * s, "a Unix time"},
	{[]string{"X-RateLimit-Reset", unix(wall, 30*s) + ".5"}, 30*s + s/2, "with a fraction"},
	{[]string{"X-RateLimit-Reset", unix(wall, 30*s) + "250"}, 30*s + s/4, "in milliseconds"},
	{[]string{"X-RateLimit-Reset", unix(wall, -30*s)}, 0, "that is past"},
	{[]string{"X-RateLimit-Reset", unix(date, 30*s), "Date", at(date, 0)}, 30 * s, "by the server's clock"},
	{[]string{"X-RateLimit-Reset", "999999999"}, 999999999 * s, "the last delta"},
	{[]string{"X-RateLimit-Reset", "99999999999999999999999"}, math.MaxInt64, "the end of time"},
	{[]string{"X-RateLimit-Reset", "1."}, 0, "not a number"},
	{[]string{"X-RateLimit-Reset", ".5"}, 0, "nor this"},
	{[]string{"X-RateLimit-Reset", "-1"}, 0, "nor less than nothing"},
	{[]string{"X-RateLimit-Reset", "1.5e3"}, 0, "nor scientific"},
	{[]string{"X-Rate-Limit-Reset", "31"}, 31 * s, "another spelling"},
	{[]string{"RateLimit-Reset", "32"}, 32 * s, "of an older draft"},
	{[]string{"X-RateLimit-Reset-After", "1.123456789123"}, 1123456789, "always a delta"},
	{[]string{"RateLimit-Reset", "1", "X-RateLimit-Reset", "2"}, s, "the first that makes sense"},
	{[]string{"RateLimit-Reset", "x", "X-RateLimit-Reset", "2"}, 2 * s, "makes sense"},
	{[]string{"Date", "yesterday", "X-RateLimit-Reset", unix(wall, 30*s)}, 30 * s, "no date is no clock"},
}

func header(lines ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(lines); i += 2 {
		h.Add(lines[i], lines[i+1])
	}
	return h
}

func TestPauseOf(t *testing.T) {
	for _, row := range tells {
		if got := pauseOf(429, header(row.lines...), wall); got != row.want {
			t.Errorf("%q: %v, want %v: %s", row.lines, got, row.want, row.why)
		}
	}
}

// TestUnavailable: a 503 with something left in its limits has another reason, and
// only Retry-After says how long that lasts.
func TestUnavailable(t *testing.T) {
	for _, row := range []struct {
		lines []string
		want  time.Duration
		why   string
	}{
		{[]string{"RateLimit", `"a";r=50;t=30`, "Retry-After", "3"}, 3 * s, "Retry-After"},
		{[]string{"RateLimit", `"a";r=0;t=30`}, 30 * s, "nothing is left"},
		{[]string{"RateLimit", `"a";r=50;t=30`}, 0, "something is"},
		{[]string{"RateLimit", `"a";r=50;t=30, "b";r=0;t=4`}, 4 * s, "of one of two"},
		{[]string{"X-RateLimit-Remaining", "4999", "X-RateLimit-Reset", "3300"}, 0, "nearly all is left, for the better part of an hour"},
		{[]string{"X-RateLimit-Remaining", " 0", "X-RateLimit-Reset", "3300"}, 3300 * s, "nothing is"},
		{[]string{"X-RateLimit-Reset", "3300"}, 3300 * s, "nobody knows"},
		{[]string{"X-RateLimit-Remaining", "some", "X-RateLimit-Reset", "3300"}, 3300 * s, "nor here"},
		{[]string{"X-RateLimit-Remaining", "1", "X-RateLimit-Reset-After", "5"}, 0, "another reset"},
		{[]string{"X-Rate-Limit-Remaining", "1", "X-Rate-Limit-Reset", "5"}, 0, "another spelling"},
		{[]string{"RateLimit-Remaining", "1", "RateLimit-Reset", "5"}, 0, "an older draft"},
		{[]string{"RateLimit-Remaining", "1", "RateLimit-Reset", "5", "X-RateLimit-Reset", "6"}, 6 * s, "each with its own"},
	} {
		if got := pauseOf(503, header(row.lines...), wall); got != row.want {
			t.Errorf("%q: %v, want %v: %s", row.lines, got, row.want, row.why)
		}
	}
}

// TestUnderstandsItself: a pause is what the middleware of this package asks
// for, by each of its fields.
func TestUnderstandsItself(t *testing.T) {
	for _, drop := range [][]string{nil, {"Retry-After"}, {"Retry-After", "RateLimit"}} {
		for _, epoch := range []func() time.Time{nil, func() time.Time { return wall }} {
			clients, _ := perClient(gcra.Every(9 * s))
			h := New(Local(clients), RemoteAddr, WithPolicy(`a "b", \c`, nil), WithXRateLimit(epoch))(ok)
			ask(h, client)
			res := ask(h, client)
			for _, name := range drop {
				if res.Header.Get(name) == "" {
					t.Errorf("no %s", name)
				}
				res.Header.Del(name)
			}
			if got := pauseOf(429, res.Header, wall); res.StatusCode != 429 || got != 9*s {
				t.Errorf("%v without %q: %v", res.Header, drop, got)
			}
		}
	}
}

// FuzzPauseOf: whatever a server says, the pause is not negative and the same
// each time; and it is Retry-After's where that is a number.
func FuzzPauseOf(f *testing.F) {
	for _, row := range tells {
		f.Add(strings.Join(row.lines, "\n"))
	}
	names := []string{"Retry-After", "RateLimit", "Date", "Age", "RateLimit-Reset", "X-RateLimit-Reset", "X-Rate-Limit-Reset", "X-RateLimit-Reset-After"}
	f.Fuzz(func(t *testing.T, lines string) {
		split := strings.Split(lines, "\n")
		h := header(split...)
		got := pauseOf(429, h, wall)
		if got < 0 || got != pauseOf(429, h, wall) {
			t.Fatalf("%q: %v", h, got)
		}
		if n, err := strconv.ParseUint(h.Get("Retry-After"), 10, 32); err == nil && got != time.Duration(n)*s {
			t.Fatalf("%q: %v", h, got)
		}
		told := false
		for _, name := range names {
			told = told || h.Get(name) != ""
		}
		if got > 0 && !told {
			t.Fatalf("%q: %v out of nothing", h, got)
		}
		items, ok := parseList(lines)
		if !ok && items != nil {
			t.Fatalf("%q is malformed, but read: %v", lines, items)
		}
		// What is read as a list of strings with integers is read again when it
		// is written anew.
		var b []byte
		for i, it := range items {
			name, isString := it.value.(string)
			if !isString || name == "" {
				return
			}
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(b, quote(name)...)
			for _, key := range []string{"r", "t"} {
				if n, ok := it.params[key].(int64); ok {
					b = strconv.AppendInt(append(b, ";"+key+"="...), n, 10)
				}
			}
		}
		again, ok := parseList(string(b))
		if !ok || len(again) != len(items) {
			t.Fatalf("%q, written as %q, is read as %v", lines, b, again)
		}
		for i := range again {
			if again[i].value != items[i].value || len(b) > 0 && again[i].params["t"] != integer(items[i].params["t"]) {
				t.Fatalf("%q, written as %q, is read as %v", lines, b, again)
			}
		}
	})
}

// integer is the value if it is one, else nil.
func integer(v any) any {
	if n, ok := v.(int64); ok {
		return n
	}
	return nil
}

// TestLongFields: what a server sends does not become many times as long here.
func TestLongFields(t *testing.T) {
	item := `"a";r=0;t=7,`
	for _, row := range []struct {
		lines []string
		want  time.Duration
		why   string
	}{
		{[]string{strings.Repeat(item, 300) + `"b";r=0;t=9`}, 9 * time.Second, "hundreds of policies are read"},
		{[]string{strings.Repeat("a;b,", 1<<18) + "a"}, 0, "a megabyte is not"},
		{slices.Repeat([]string{item[:len(item)-1]}, 1<<16), 0, "nor is one of many lines"},
	} {
		h := http.Header{rateLimit: row.lines}
		var got time.Duration
		allocs := testing.AllocsPerRun(1, func() { got = pauseOf(429, h, wall) })
		if got != row.want || row.want == 0 && allocs > 10 {
			t.Errorf("%v and %v allocations, want %v: %s", got, allocs, row.want, row.why)
		}
	}
}
