package report

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/cmd/weir/internal/advise"
	"github.com/weir-go/weir/cmd/weir/internal/logs"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An input is traffic with what to make of it.
type input struct {
	name   string
	file   string
	key    string   // "" for what is found
	cost   string   // likewise
	limits []string // nil to advise
	joint  bool
	refuse string
	rates  string
	secret func(key []byte) string
}

func (in input) spec(t *testing.T, s string) replay.Spec {
	t.Helper()
	spec, err := replay.ParseSpec(s)
	if err != nil {
		t.Fatal(err)
	}
	key, cost := in.parsed(t)
	if spec.Key.Default() {
		spec.Key = key
	}
	if spec.Cost.Default() {
		spec.Cost = cost
	}
	return spec
}

func (in input) parsed(t *testing.T) (key logs.Key, cost logs.Cost) {
	t.Helper()
	var err error
	if in.key != "" {
		if key, err = logs.ParseKey(in.key); err != nil {
			t.Fatal(err)
		}
	}
	if in.cost != "" {
		if cost, err = logs.ParseCost(in.cost); err != nil {
			t.Fatal(err)
		}
	}
	return key, cost
}

func (in input) options(keys []logs.Key, costs []logs.Cost) logs.Options {
	return logs.Options{Keys: keys, Costs: costs, Window: 5 * time.Second, Hide: in.secret != nil}
}

func (in input) replay(t *testing.T) *replay.Result {
	t.Helper()
	var specs []replay.Spec
	for _, s := range in.limits {
		specs = append(specs, in.spec(t, s))
	}
	e, err := replay.New(specs, replay.Options{Joint: in.joint, Text: in.secret})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := logs.Read([]string{in.file}, in.options(e.Keys(), e.Costs()), e.Add)
	if err != nil {
		t.Fatal(err)
	}
	return e.Result(sum)
}

func (in input) advise(t *testing.T) *advise.Result {
	t.Helper()
	o := advise.Options{Text: in.secret}
	o.Key, o.Cost = in.parsed(t)
	var err error
	if in.refuse != "" {
		if o.Refuse, err = advise.ParseShare(in.refuse); err != nil {
			t.Fatal(err)
		}
	}
	if in.rates != "" {
		if o.Rates, err = advise.ParseRates(in.rates); err != nil {
			t.Fatal(err)
		}
	}
	a := advise.New(o)
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	sum, err := logs.Read([]string{in.file}, in.options(a.Keys(), a.Costs()), a.Add)
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Result(sum)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// page is the page of an input.
func (in input) page(t *testing.T) []byte {
	t.Helper()
	var html []byte
	var err error
	if o := (Options{Hide: in.secret != nil}); in.limits == nil {
		html, err = Advice(in.advise(t), o)
	} else {
		html, err = Replay(in.replay(t), o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return html
}

// A sample is a page to look at, with the plots that it has to have.
type sample struct {
	name  string
	html  []byte
	plots []string
	brief bool // two views of it are enough
}

func pages(t *testing.T) (all []sample) {
	t.Helper()
	for _, in := range inputs(t) {
		s := sample{name: in.name, html: in.page(t), plots: []string{"curve", "time"}, brief: !slices.Contains([]string{"busy", "joint", "hostile", "web"}, in.name)}
		if in.limits != nil {
			s.plots = s.plots[1:]
		}
		if in.name == "free" {
			s.plots = nil // nothing costs anything
		}
		all = append(all, s)
	}
	return all
}

// inputs are generated, and recorded ones where those are present.
func inputs(t *testing.T) []input {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return file
	}
	busy := put("busy.csv", traffic(3000, 40))
	one := put("one.csv", "time,key,cost\n2026-01-02T03:04:05Z,a,7\n")
	years := "time,key\n"
	for i := range 40 {
		years += fmt.Sprintf("%d-06-15T12:00:00Z,decade-%d\n", 1986+i, i/10)
	}
	all := []input{
		{name: "years", file: put("years.csv", years), limits: []string{"2/1000d burst 2"}},
		{name: "busy", file: busy, refuse: "1%"},
		{name: "cost", file: busy, key: "all", cost: "cost", refuse: "0.1%"},
		{name: "few-rates", file: busy, rates: "1/m", refuse: "5%"},
		{name: "one", file: one, rates: "1/s"},
		{name: "free", file: put("free.csv", "time,key,cost\n2026-01-02T03:04:05Z,a,0\n2026-01-02T03:04:06Z,b,-\n")},
		{name: "replay", file: busy, limits: []string{"strict=10/m burst 5", "20/m burst 30 step 3s", "all: unlimited", "none"}},
		{name: "joint", file: busy, joint: true, limits: []string{"each=10/m burst 10", "all cost cost: 20000/m burst 20000"}},
		{name: "replay-one", file: one, limits: []string{"1/s burst 3"}},
		{name: "hostile", file: put("<b>&'\"evil\u202e.csv", hostile()), limits: []string{"1/h"}},
		{name: "hostile-advise", file: filepath.Join(dir, "<b>&'\"evil\u202e.csv"), refuse: "1%"},
	}
	traces := recorded()
	if traces == "" {
		return all // TestRecorded says so
	}
	web := filepath.Join(traces, "web-2015-combined.log")
	return append(all,
		input{name: "nasa", file: filepath.Join(traces, "nasa-1995-08-01.csv"), refuse: "0.1%"},
		input{name: "web", file: web, refuse: "0.1%"},
		input{name: "llm", file: filepath.Join(traces, "llm-2023-code.csv"), refuse: "0.1%"},
		input{name: "web-paths", file: web, key: "client,path", limits: []string{"1/m burst 3", "path: 1/m burst 2"}},
	)
}

// recorded is where recorded traffic is: beside the checkout, or where WEIR_TRACES says. It is "" for nowhere.
func recorded() string {
	for _, dir := range []string{os.Getenv("WEIR_TRACES"), "../../../../../shared/traces"} {
		if _, err := os.Stat(filepath.Join(dir, "web-2015-combined.log")); err == nil {
			return dir
		}
	}
	return ""
}

// Where there is recorded traffic, it is among what all tests look at.
func TestRecorded(t *testing.T) {
	if recorded() == "" {
		t.Skip("recorded traffic is not beside this checkout, nor where WEIR_TRACES says")
	}
	for _, name := range []string{"nasa", "web", "llm", "web-paths"} {
		check(t, inputNamed(t, name).page(t))
	}
}

// traffic is of keys that come in bursts, a few of them most of the time.
func traffic(n, keys int) string {
	r := rand.New(rand.NewPCG(1, 2))
	at := time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC)
	var b strings.Builder
	b.WriteString("time,key,cost\n")
	for range n {
		if r.IntN(12) == 0 {
			at = at.Add(time.Duration(r.IntN(120_000)) * time.Millisecond)
		}
		at = at.Add(time.Duration(r.IntN(900)) * time.Millisecond)
		key := r.IntN(1 + r.IntN(keys))
		fmt.Fprintf(&b, "%s,tenant-%03d,%d\n", at.Format("2006-01-02T15:04:05.000Z"), key, 10+r.IntN(200)*(1+key%3))
	}
	return b.String()
}

// evil are keys that would do something to a page, a terminal or a reader's eyes.
func evil() []string {
	return []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "'--></style></svg><b>x", "{{.Title}}", "&lt;&#60;&amp;",
		"\u202eright to left", "\u05e9\u05dc\u05d5\u05dd", "\x01\x02\x1b[2Jbell\x07", "\xff\xfe\xc3(", "a  b", " ", "\u2028line", "\ufffe\uffff",
		strings.Repeat("long", 2500), strings.Repeat("long", 2499) + "lonG", "javascript:alert(1)", "]]>", "<!--", "\u200b",
	}
}

// hostile is a log of those keys: the rarest first.
func hostile() string {
	var b strings.Builder
	b.WriteString("time,key,cost\n")
	n := 0
	for i, key := range evil() {
		for range i + 2 {
			n++
			fmt.Fprintf(&b, "%d,\"%s\",1\n", 1_800_000_000+n, strings.ReplaceAll(key, `"`, `""`))
		}
	}
	b.WriteString("<script>,\"</li><script>x\",1\nyesterday\x00\xff,b,1\n1800000999,b,\"\u202e<b>\"\n")
	return b.String()
}
