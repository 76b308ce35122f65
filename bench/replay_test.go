package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// shared is where real recorded traffic lies beside a checkout; it is not part of the project.
const shared = "../../shared/traces"

func (r result) replayed(t *testing.T) replayReport {
	t.Helper()
	var report replayReport
	if err := json.Unmarshal([]byte(r.out), &report); err != nil {
		t.Fatalf("%v in %q, stderr %q", err, r.out, r.errors)
	}
	return report
}

// TestTraces wants agreement with the model for each trace under each limit.
func TestTraces(t *testing.T) {
	limits := []struct{ text, why string }{
		{traceLimit, "the default"},
		{"10/s burst 20", "generous"},
		{"1/s burst 1", "no burst"},
		{"100000/m burst 20000", "for costs of thousands"},
		{"6/3s burst 10 step 3s start 0", "in steps, from empty"},
		{"60/m burst 10 step 1m start 0", "a step longer than most gaps"},
		{"0/s burst 5", "an allowance"},
		{"0/s burst 5 start 0", "and none"},
		{"999999937/s burst 4000", "readings are rounded"},
		{"7/d burst 3", "slow"},
		{"1/584d burst 2", "slower than the trace is long"},
		{"unlimited", "grants everything"},
		{"none", "refuses everything"},
	}
	for _, file := range []struct {
		name           string
		requests, keys int
		real           bool
	}{
		{"trace/testdata/small.csv", 400, 24, false},
		{"trace/testdata/rfc3339.csv", 197, 12, false},
		{"trace/testdata/combined.log", 300, 41, false},
		{shared + "/nasa-1995-08-01.csv", 30969, 2365, true},
		{shared + "/llm-2023-code.csv", 8819, 1, true},
		{shared + "/web-2015-combined.log", 3456, 520, true},
	} {
		t.Run(filepath.Base(file.name), func(t *testing.T) {
			if _, err := os.Stat(file.name); file.real && os.IsNotExist(err) {
				t.Skip("recorded traffic is not beside this checkout: " + shared)
			}
			for _, limit := range limits {
				got := weir().try("-trace", file.name, "-limit", limit.text, "-json")
				if got.code != sound {
					t.Errorf("%s: %+v: %s", limit.text, got, limit.why)
					continue
				}
				r := got.replayed(t)
				refused := 0
				for _, k := range r.MostRefused {
					refused += k.Refused
				}
				if r.Requests != file.requests || r.Keys > file.keys || r.Granted+r.Refused != r.Requests ||
					refused > r.Refused || len(r.MostRefused) < mostShown && refused != r.Refused || r.Disagreements != 0 {
					t.Errorf("%s: %s: %s", limit.text, got.out, limit.why)
				}
			}
		})
	}
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestReplay(t *testing.T) {
	type want struct{ requests, keys, granted, refused, above, negative, unsorted, broken int }
	for _, row := range []struct {
		limit, lines string
		want         want
		most         []keyCount
		why          string
	}{
		{"1/s burst 1", "5,a\n5,a\n6,a\n6,b\n6,b\n6,b\n", want{requests: 6, keys: 2, granted: 3, refused: 3},
			[]keyCount{{"b", 2, 3}, {"a", 1, 3}}, "in its own time"},
		{"1/s burst 1", "6,a\n5,a\n7,a\n7,b\n", want{requests: 4, keys: 2, granted: 4, unsorted: 1}, nil, "sorted first"},
		{"1/s burst 1", "5,a\nnever,a\n6\n6,a\n", want{requests: 2, keys: 1, granted: 2, broken: 2}, nil, "broken lines are left out"},
		{"1/s burst 1", "-5,a\n-5,a\n-4,a\n0,a\n1,a\n1,a\n", want{requests: 6, keys: 1, granted: 4, refused: 2},
			[]keyCount{{"a", 2, 6}}, "from before 1970"},
		{"1/3s burst 1 step 3s", "-7.5,a\n-6.1,a\n-6,a\n-3.000000001,a\n-3,a\n", want{requests: 5, keys: 1, granted: 3, refused: 2},
			[]keyCount{{"a", 2, 5}}, "steps at multiples, from before 1970 too"},
		{"1/s burst 1", "5,b\n5,b\n5,a\n5,a\n", want{requests: 4, keys: 2, granted: 2, refused: 2},
			[]keyCount{{"a", 1, 2}, {"b", 1, 2}}, "ties by name"},
	} {
		name := write(t, "trace.csv", "time,key\n"+row.lines)
		checkReplay(t, weir().try("-trace", name, "-limit", row.limit, "-json"), fmt.Sprint(row.want), row.most, row.why)
	}
	name := write(t, "trace.csv", "time,key,cost\n5,a,3\n5,a,4\n5,a,-1\n5,a,0\n5,a,2\n5,a,1\n")
	checkReplay(t, weir().try("-trace", name, "-limit", "1/h burst 3", "-json"),
		fmt.Sprint(want{requests: 6, keys: 1, granted: 2, refused: 4, above: 1, negative: 1}), []keyCount{{"a", 4, 6}}, "costs of all kinds")
}

func checkReplay(t *testing.T, got result, want string, most []keyCount, why string) {
	t.Helper()
	if got.code != sound {
		t.Errorf("%+v: %s", got, why)
		return
	}
	r := got.replayed(t)
	have := fmt.Sprint(struct{ requests, keys, granted, refused, above, negative, unsorted, broken int }{
		r.Requests, r.Keys, r.Granted, r.Refused, r.TooLarge, r.Negative, r.Unsorted, r.Broken.Count,
	})
	if have != want || !slices.Equal(r.MostRefused, most) || r.Broken.Count != len(r.Broken.Lines) {
		t.Errorf("%s, %v, want %s, %v: %s", have, r.MostRefused, want, most, why)
	}
}

func TestReplayDocument(t *testing.T) {
	got := weir().try("-trace", "trace/testdata/rfc3339.csv", "-limit", "1/m burst 2", "-json")
	doc := got.document(t)
	if lost := missing(doc, "requests", "keys", "granted", "refused", "most_refused", "broken", "unsorted", "disagreements", "limit"); len(lost) > 0 {
		t.Errorf("no %q in %s", lost, got.out)
	}
	for _, row := range []struct{ name, want, why string }{
		{"requests", "197", "200 lines, three of them broken"},
		{"keys", "12", "made so"},
		{"unsorted", "20", "each tenth line"},
		{"disagreements", "0", "as always"},
		{"limit", "1/m burst 2", "as given"},
		{"format", "csv", "by its header"},
		{"first", "2026-01-05T07:59:58.727011279Z", "to the nanosecond"},
	} {
		if v := fmt.Sprint(doc[row.name]); v != row.want {
			t.Errorf("%s is %s, want %s: %s", row.name, v, row.want, row.why)
		}
	}
	lines := got.replayed(t).Broken.Lines
	if len(lines) != 3 || lines[0].Line != 40 || lines[1].Line != 90 || lines[2].Line != 150 || lines[0].Reason == "" {
		t.Errorf("broken lines: %+v", lines)
	}
	empty := weir().try("-trace", "trace/testdata/small.csv", "-limit", "unlimited", "-json").document(t)
	if v, ok := empty["most_refused"].([]any); !ok || len(v) != 0 {
		t.Errorf("most_refused of nobody is %v, want an empty list", empty["most_refused"])
	}
}

func TestReplayText(t *testing.T) {
	got := weir().try("-trace", "trace/testdata/rfc3339.csv", "-limit", "1/m burst 2")
	if got.code != sound || got.errors != "" {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{"3 broken (lines 40, 90, 150); 20 records out of order, sorted", "broken line 40: ", "limit      1/m burst 2",
		"requests   197\n", "keys       12\n", "granted    44\n", "refused    153 (77.7 %)\n", "most refused keys\n", "api/a: refused 61 of 66\n",
		"agrees in all 197 decisions"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s", want, got.out)
		}
	}
	hostile := write(t, "trace.csv", "time,key,cost\n5,\x1b[2J,9\n5,b,-1\n")
	got = weir().try("-trace", hostile, "-limit", "1/s burst 2")
	for _, want := range []string{`"\x1b[2J": refused 1 of 1`, "1 of them cost more than the burst of 2 and never pass", "1 of them have a negative cost"} {
		if !strings.Contains(got.out, want) || strings.Contains(got.out, "\x1b") {
			t.Errorf("no %q in\n%s", want, got.out)
		}
	}
}

// TestReplayForgets makes sure that keys are forgotten while the model watches, many times over.
func TestReplayForgets(t *testing.T) {
	var b strings.Builder
	b.WriteString("time,key\n")
	for i := range 20000 {
		b.WriteString(strconv.Itoa(i/4) + ",k" + strconv.Itoa(i*i%701) + "\n")
	}
	got := weir().try("-trace", write(t, "trace.csv", b.String()), "-limit", "1/m burst 1", "-json")
	if r := got.replayed(t); got.code != sound || r.Forgotten < 1000 || r.Refused < 1000 || r.Granted < 1000 {
		t.Errorf("%+v: %d forgotten", got, r.Forgotten)
	}
}

// An unfaithful limiter differs from the exact one as its fields say.
type unfaithful struct {
	*shard.Limiter[string]
	asked int
	wrong int // the request that gets the opposite verdict
	eager bool
}

func (u *unfaithful) Take(key string, n int) gcra.Decision {
	u.asked++
	d := u.Limiter.Take(key, n)
	if u.asked == u.wrong {
		return gcra.Decision{}
	}
	return d
}

func (u *unfaithful) Sweep() int {
	if u.eager {
		for key := range u.All() {
			u.Reset(key)
		}
	}
	return u.Limiter.Sweep()
}

func TestReplayFindsDisagreements(t *testing.T) {
	var b strings.Builder
	b.WriteString("time,key\n")
	for i := range 3000 {
		b.WriteString(strconv.Itoa(i/100) + ",k" + strconv.Itoa(i%7) + "\n")
	}
	name := write(t, "trace.csv", b.String())
	for _, row := range []struct {
		bad         unfaithful
		limit       string
		least, most int
		why         string
	}{
		{unfaithful{}, "1/s burst 5", 0, 0, "faithful after all"},
		{unfaithful{wrong: 1234}, "1/s burst 5", 1, 1, "one verdict"},
		{unfaithful{eager: true}, "1/s burst 5", 2, 3000, "forgets too early"},
		{unfaithful{}, "1/s burst 6", 2, 3000, "another burst"},
		{unfaithful{}, "1000000000/999999937ns burst 5", 2, 3000, "the rate is off by 6e-8"},
		{unfaithful{}, "1/s burst 5 step 2s", 2, 3000, "in steps"},
	} {
		p := weir()
		p.traced = func(_ gcra.Limit, c clock.Clock) traced {
			l, err := gcra.Parse(row.limit)
			if err != nil {
				t.Fatal(err)
			}
			bad := row.bad
			bad.Limiter = shard.New[string](l, shard.WithClock(c))
			return &bad
		}
		got := p.try("-trace", name, "-limit", "1/s burst 5", "-json")
		r := got.replayed(t)
		want := sound
		if row.least > 0 {
			want = broken
		}
		if got.code != want || r.Disagreements < row.least || r.Disagreements > row.most ||
			len(r.Disagreed) != min(r.Disagreements, mostShown) || (got.errors != "") != (row.least > 0) {
			t.Errorf("exit %d, %d disagreements, %s: %s", got.code, r.Disagreements, got.errors, row.why)
		}
		if text := p.try("-trace", name, "-limit", "1/s burst 5").out; strings.Contains(text, "disagrees in") != (row.least > 0) {
			t.Errorf("%s: %s", text, row.why)
		}
	}
}
