package text

import (
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/cmd/weir/internal/logs"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func parse(t *testing.T, s string) gcra.Limit {
	t.Helper()
	l, err := gcra.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestGoCode has for each code the limit that Go makes of it.
func TestGoCode(t *testing.T) {
	for _, row := range []struct {
		text  string
		limit gcra.Limit
		want  string
	}{
		{"100/s burst 20", gcra.PerSecond(100).Burst(20), "gcra.PerSecond(100).Burst(20)"},
		{"5000/h", gcra.PerHour(5000), "gcra.PerHour(5000)"},
		{"3/d burst 2", gcra.PerDay(3).Burst(2), "gcra.PerDay(3).Burst(2)"},
		{"6/3s burst 10 step 3s start 0", gcra.Per(6, 3*time.Second).Burst(10).Start(0).InSteps(3 * time.Second), "gcra.Per(6, 3*time.Second).Burst(10).Start(0).InSteps(3*time.Second)"},
		{"1/1h30m", gcra.Per(1, 90*time.Minute), "gcra.Per(1, 90*time.Minute)"},
		{"5/7ns", gcra.Per(5, 7), "gcra.Per(5, 7)"},
		{"0/s burst 4", gcra.PerSecond(0).Burst(4), "gcra.PerSecond(0).Burst(4)"},
		{"unlimited", gcra.Unlimited(), "gcra.Unlimited()"},
		{"none", gcra.Limit{}, "gcra.Limit{}"},
	} {
		l := parse(t, row.text)
		if got := GoCode(l); got != row.want || l != row.limit {
			t.Errorf("%s: %s, want %s, which makes %v", row.text, got, row.want, row.limit)
		}
	}
}

// TestPolicy holds the field against what the middleware writes.
func TestPolicy(t *testing.T) {
	for _, text := range []string{"100/s burst 20", "5000/h", "1/m burst 10", "7/d burst 3", "0/s burst 4", "unlimited", "none", "3/s burst 1000000000", "1/1500ms"} {
		l := parse(t, text)
		limited := httplimit.New(httplimit.Local(shard.New[netip.Prefix](l)), httplimit.RemoteAddr)
		h := limited(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if got, want := Policy(l, "default"), w.Header().Get("RateLimit-Policy"); got != want {
			t.Errorf("%s: %s, the middleware says %s", text, got, want)
		}
	}
}

func TestExplain(t *testing.T) {
	for _, row := range []struct {
		text string
		want []string
	}{
		{"100/s burst 20", []string{"100 tokens per second, at most 20 at once.", "a token every    10ms", "empty to full    200ms", "an instant   20\n", "any second   120\n",
			"any minute   6 020\n", "any day      8 640 020\n", "a token is 10 000 000 ticks; a clock of nanoseconds is read exactly", `"default";q=20;w=1`}},
		{"6/3s burst 10 step 3s start 0", []string{"6 tokens per 3s, at most 10 at once. They arrive in lumps, at multiples of 3s. A key that is there from the start has none."}},
		{"1/h", []string{"1 token per hour, at most 1 at once.", "a token every    1h0m0s"}},
		{"99/s burst 3", []string{"a clock of microseconds is read exactly, a finer one rounded down to a tick; the rate is exact"}},
		{"999999937/s", []string{"readings are rounded down to a tick"}},
		{"0/s burst 100", []string{"100 tokens once, and no more: nothing refills it but a reset.", "a token every    never", "no clock matters"}},
		{"0/s burst 5 start 2", []string{"2 tokens once, of at most 5 tokens"}},
		{"unlimited", []string{"Everything passes"}},
		{"none", []string{"Nothing passes"}},
	} {
		e, err := Explain(parse(t, row.text))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range row.want {
			if !strings.Contains(e.String(), want) {
				t.Errorf("%s: %q is not in\n%s", row.text, want, e)
			}
		}
	}
}

// TestReading holds what is said of clocks against limits: where they are read exactly, a token passes at the instant at
// which the rate brings it and not a unit earlier.
func TestReading(t *testing.T) {
	for _, text := range []string{"99/s", "7/s", "1/s", "1000/s", "13/11s", "999999937/s", "3/7us", "50/ns", "1/d", "123457/m"} {
		l := parse(t, text)
		e, err := Explain(l)
		if err != nil {
			t.Fatal(err)
		}
		for name, unit := range map[string]time.Duration{"nanoseconds": 1, "microseconds": time.Microsecond, "milliseconds": time.Millisecond} {
			if !strings.Contains(e.Exact, "of "+name+" is read exactly") {
				continue
			}
			n, period := l.Rate()
			for i := range 200 {
				// The reading i units after the birth is that many ticks, whole.
				elapsed := time.Duration(i) * unit * 997
				at := gcra.At(&l, elapsed)
				next, _ := gcra.Take(&l, at.Tick, at, 1)
				k := next - at.Tick
				if hi := float64(elapsed) * float64(n) * float64(k) / float64(period); math.Abs(hi-float64(at.Tick-1)) > 1e-6*math.Max(hi, 1) {
					t.Fatalf("%s: %v is tick %d, want %v, and %q", text, elapsed, at.Tick-1, hi, e.Exact)
				}
			}
		}
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	var rows table
	rows.row("key", "n")
	rows.row("ä", "1 000")
	rows.row("", "")
	rows.write(&b)
	if want := "  key      n\n  ä    1 000\n\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestPercent(t *testing.T) {
	for _, row := range []struct {
		part, whole int64
		want        string
	}{
		{0, 0, "-"}, {0, 7, "0.0 %"}, {7, 7, "100.0 %"}, {1, 3, "33.3 %"}, {2, 3, "66.7 %"}, {1, 2000, "0.1 %"}, {1, 2001, "<0.1 %"}, {1, math.MaxInt64, "<0.1 %"}, {1999, 2000, ">99.9 %"}, {2000, 2001, ">99.9 %"},
		{math.MaxInt64, math.MaxInt64, "100.0 %"}, {1 << 61, 1 << 62, "50.0 %"},
	} {
		if got := percent(row.part, row.whole); got != row.want {
			t.Errorf("%d of %d: %s, want %s", row.part, row.whole, got, row.want)
		}
	}
}

func TestKeyName(t *testing.T) {
	long := "/customers/" + strings.Repeat("x", 500)
	for _, row := range []struct{ key, want, why string }{
		{"192.0.2.1", "192.0.2.1", "as it is"},
		{"a b\x1b[2J", `"a b\x1b[2J"`, "nothing that a terminal obeys"},
		{strings.Repeat("ä", 40), strings.Repeat("ä", 40), "letters count, not bytes"},
		{long + "/orders/1", "/customers/xxxxxxxxxx...xxxxxxx/orders/1", "both ends"},
		{long + "\x1b/orders/2", `/customers/xxxxxxxxxx..."xxxxxx\x1b/orders/2"`, "quoted where it has to be"},
		{strings.Repeat("\xff", 50), `"` + strings.Repeat("\ufffd", 21) + `"..."` + strings.Repeat("\ufffd", 16) + `"`, "no UTF-8"},
	} {
		if got := keyName(row.key); got != row.want {
			t.Errorf("%s: %s, want %s", row.why, got, row.want)
		}
	}
}

func TestLength(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 47 * time.Hour: "47h0m0s", 48 * time.Hour: "2 days", 1234*24*time.Hour + time.Second: "1 234 days 1s", math.MaxInt64: "106 751 days 23h47m16.854775807s",
	} {
		if got := length(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestPlots(t *testing.T) {
	s := Style{}
	if got := s.columns([]int64{0, 1, 50, 99, 100}, 100); got != " ▁▄██" {
		t.Errorf("%q", got)
	}
	if got := (Style{ASCII: true}).columns([]int64{0, 1, 50, 99, 100}, 100); got != " .=@@" {
		t.Errorf("%q", got)
	}
	for _, ascii := range []bool{false, true} {
		last := 0
		for _, n := range []int64{0, 1, 2, 10, 1000, 1e6, 1e9, math.MaxInt64} {
			bar := Style{ASCII: ascii}.bar(n, math.MaxInt64, 20)
			size := utf8.RuneCountInString(bar)
			if size < last || size > 20 || n > 0 && size == 0 {
				t.Errorf("%d: %q", n, bar)
			}
			last = size
		}
	}
	if got, each := fit([]int64{1, 2, 3, 4, 5}, 2); len(got) != 2 || got[0] != 6 || got[1] != 9 || each != 3 {
		t.Errorf("%v %d", got, each)
	}
	if got, each := fit([]int64{1, 2}, 2); len(got) != 2 || each != 1 {
		t.Errorf("%v %d", got, each)
	}
}

func TestNotes(t *testing.T) {
	quiet := logs.Summary{Requests: 9, Tick: time.Millisecond}
	if got := Notes(&quiet); len(got) != 0 {
		t.Errorf("%q", got)
	}
	loud := logs.Summary{Requests: 9, Tick: time.Second, Broken: 2, Free: 1, Reordered: 3, Late: 4, Window: 5 * time.Second,
		Faults: []logs.Fault{{File: "a\x1b[2J", Line: 7, Reason: "why"}}}
	got := strings.Join(Notes(&loud), "\n")
	for _, want := range []string{"2 lines broken", `"a\x1b[2J":7: why`, "1 request without a cost", "window of 5s sorted 3 requests that", "for the window of 5s (or more than 1 048 576 came between): 4 requests,", "whole seconds"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "older file") {
		t.Errorf("%s\ntells of files that it does not know", got)
	}
	at := func(second int64) time.Time { return time.Unix(second, 0).UTC() }
	for want, files := range map[string][]logs.File{
		"":                             {{Name: "a", First: at(1)}, {Name: "b"}, {Name: "c", First: at(2)}},
		"c begins earlier than a, ":    {{Name: "a", First: at(3)}, {Name: "b"}, {Name: "c", First: at(2)}},
		`"\x1b" begins earlier than b`: {{Name: "a", First: at(1)}, {Name: "b", First: at(5)}, {Name: "\x1b", First: at(2)}},
	} {
		order := logs.Summary{Late: 1, Files: files}
		if got := strings.Join(Notes(&order), "\n"); !strings.Contains(got, want) || want == "" && strings.Contains(got, "older file") {
			t.Errorf("%v: %q is not in\n%s", files, want, got)
		}
	}
	var b strings.Builder
	notes(&b, Notes(&loud), 60)
	for line := range strings.Lines(b.String()) {
		if utf8.RuneCountInString(line) > 61 {
			t.Errorf("%q is too long", line)
		}
	}
}
