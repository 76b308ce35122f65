package metrics_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/weir-go/weir/contrib/metrics/internal/did"
	"github.com/weir-go/weir/contrib/metrics/prom"
)

// A dashboard is what the test reads of one.
type dashboard struct {
	UID, Title string
	Panels     []struct {
		ID          int
		Title, Type string
		Description string
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ Expr, LegendFormat string }
	}
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

// An exported metric is what a dashboard can ask for.
type exported struct {
	counter bool
	labels  map[string][]string // to their values
}

func exports(t *testing.T) map[string]exported {
	t.Helper()
	policies, _ := did.Policies(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(prom.NewCollector(policies))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]exported{}
	for _, f := range families {
		e := exported{f.GetType() == dto.MetricType_COUNTER, map[string][]string{}}
		for _, m := range f.Metric {
			for _, l := range m.Label {
				e.labels[l.GetName()] = append(e.labels[l.GetName()], l.GetValue())
			}
		}
		all[f.GetName()] = e
	}
	return all
}

var (
	selector = regexp.MustCompile(`(rate\()?(weir_\w+)(?:\{([^}]*)\})?(\[\$__rate_interval\]\))?`)
	matcher  = regexp.MustCompile(`(\w+)(=~?)"([^"]*)"`)
	grouping = regexp.MustCompile(`by \(([^)]*)\)`)
	filled   = regexp.MustCompile(`\{\{(\w+)\}\}`)
)

// faults lists what is wrong with a query, given what is exported, and notes in
// used which metrics it asks for.
func faults(expr, legend string, all map[string]exported, used map[string]bool) (bad []string) {
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if strings.Count(expr, "(") != strings.Count(expr, ")") {
		say("parentheses do not match")
	}
	known := map[string]bool{}
	found := selector.FindAllStringSubmatch(expr, -1)
	for _, m := range found {
		rate, name, matchers := m[1] != "" && m[4] != "", m[2], m[3]
		e, ok := all[name]
		if !ok {
			say("%s is not exported", name)
			continue
		}
		used[name] = true
		if e.counter != rate {
			say("%s: a counter: %v, as a rate: %v", name, e.counter, rate)
		}
		for label := range e.labels {
			known[label] = true
		}
		if !strings.Contains(matchers, `policy=~"$policy"`) {
			say("%s: the policy that was chosen is not asked for", name)
		}
		for _, m := range matcher.FindAllStringSubmatch(matchers, -1) {
			values, ok := e.labels[m[1]]
			if !ok {
				say("%s has no label %s", name, m[1])
			}
			for _, value := range strings.Split(m[3], "|") {
				if value != "$policy" && !slices.Contains(values, value) {
					say("%s: %s is never %q", name, m[1], value)
				}
			}
		}
	}
	if len(found) == 0 {
		say("it asks for nothing")
	}
	grouped := map[string]bool{}
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(m[1], ", ") {
			grouped[label] = true
			if !known[label] {
				say("it groups by %s", label)
			}
		}
	}
	for _, m := range filled.FindAllStringSubmatch(legend, -1) {
		if !grouped[m[1]] {
			say("the legend has %s, which is not left", m[1])
		}
	}
	return bad
}

// What the dashboard asks for is exported, and what is exported is on it.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	all, used := exports(t), map[string]bool{}
	ids, places := map[int]bool{}, map[[2]int]bool{}
	for _, p := range d.Panels {
		if p.Title == "" || p.Description == "" || p.Type != "timeseries" || len(p.Targets) == 0 || ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d %q is not whole, or has another one's id", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if places[at] {
					t.Fatalf("panel %q lies on another one", p.Title)
				}
				places[at] = true
			}
		}
		for _, target := range p.Targets {
			for _, bad := range faults(target.Expr, target.LegendFormat, all, used) {
				t.Errorf("%s: %s\n\t%s", p.Title, bad, target.Expr)
			}
		}
	}
	for name := range all {
		if !used[name] {
			t.Errorf("%s is on no panel", name)
		}
	}
	if d.UID == "" || d.Title == "" || len(all) != 6 {
		t.Errorf("dashboard %q %q, %d metrics", d.UID, d.Title, len(all))
	}
	v := d.Templating.List
	if len(v) != 2 || v[0].Type != "datasource" || v[1].Definition != "label_values(weir_keys, policy)" || v[1].Name != "policy" {
		t.Errorf("variables %+v", v)
	}
}

// The check can fail.
func TestDashboardRefuses(t *testing.T) {
	all := exports(t)
	const good = `sum by (policy, result) (rate(weir_requests_total{policy=~"$policy", result=~"denied|would_deny"}[$__rate_interval]))`
	for _, row := range []struct{ from, to, legend, why string }{
		{"", "", "{{policy}} {{result}}", ""},
		{"weir_requests_total", "weir_request_total", "", "another name"},
		{"rate(", "(", "", "a counter that is not a rate"},
		{"[$__rate_interval]", "", "", "nor this"},
		{"rate(weir_requests_total", "rate(weir_keys", "", "a gauge that is"},
		{`policy=~"$policy", `, "", "", "another policy than was chosen"},
		{"result=~", "outcome=~", "", "another label"},
		{"would_deny", "refused", "", "another value"},
		{"policy, result", "policy, key", "", "a group that is not there"},
		{"sum by (policy, result)", "sum by (policy)", "{{result}}", "a legend without its label"},
		{"]))", "])", "", "a parenthesis too few"},
		{good, "1", "", "no metric"},
	} {
		bad := faults(strings.Replace(good, row.from, row.to, 1), row.legend, all, map[string]bool{})
		if (len(bad) != 0) != (row.why != "") {
			t.Errorf("%s: %q", row.why, bad)
		}
	}
}
