package prom_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"github.com/weir-go/weir/contrib/metrics"
	"github.com/weir-go/weir/contrib/metrics/internal/did"
	"github.com/weir-go/weir/contrib/metrics/prom"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A sample is a time series as it was scraped.
type sample struct{ name, policy, result string }

// scrape reads the metrics as Prometheus does: over HTTP, as text.
func scrape(t *testing.T, c *http.Client, url string) (map[sample]float64, map[string]dto.MetricType, string) {
	t.Helper()
	res, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	samples, kinds := map[sample]float64{}, map[string]dto.MetricType{}
	for name, f := range families {
		kinds[name] = f.GetType()
		for _, m := range f.Metric {
			s := sample{name: name}
			for _, l := range m.Label {
				switch l.GetName() {
				case "policy":
					s.policy = l.GetValue()
				case "result":
					s.result = l.GetValue()
				default:
					t.Errorf("%s has the label %s", name, l.GetName())
				}
			}
			samples[s] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return samples, kinds, string(body)
}

// serve exposes a collector on a loopback socket.
func serve(t *testing.T, p *metrics.Policies) (*http.Client, string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(prom.NewCollector(p))
	srv := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	t.Cleanup(srv.Close)
	return srv.Client(), srv.URL
}

// What is scraped is what was done, and no key is in it.
func TestScrape(t *testing.T) {
	policies, done := did.Policies(t)
	client, url := serve(t, policies)
	got, kinds, text := scrape(t, client, url)
	want := map[sample]float64{}
	for policy, c := range done {
		for _, series := range did.All(c) {
			want[sample{series.Prom, policy, series.Result}] = series.Value
			kind := dto.MetricType_COUNTER
			if series.Falls {
				kind = dto.MetricType_GAUGE
			}
			if kinds[series.Prom] != kind {
				t.Errorf("%s is a %v, want %v", series.Prom, kinds[series.Prom], kind)
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("scraped %v\nwant    %v", got, want)
	}
	for _, key := range did.Keys() {
		if strings.Contains(text, key) {
			t.Errorf("the key %q is told:\n%s", key, text)
		}
	}
}

// The names and texts are as Prometheus wants them.
func TestLint(t *testing.T) {
	policies, _ := did.Policies(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(prom.NewCollector(policies))
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) != 0 {
		t.Errorf("%v, %v", problems, err)
	}
	if n, err := testutil.GatherAndCount(registry); n != 4*9 || err != nil {
		t.Errorf("%d series, %v", n, err)
	}
}

// Policies come and go between scrapes, and names may need escaping.
func TestPoliciesComeAndGo(t *testing.T) {
	var policies metrics.Policies
	client, url := serve(t, &policies)
	names := func() []string {
		samples, _, _ := scrape(t, client, url)
		seen := map[string]bool{}
		for s := range samples {
			seen[s.policy] = true
		}
		return slices.Sorted(maps.Keys(seen))
	}
	l := shard.New[int](gcra.PerSecond(1), shard.WithStats())
	odd := "a \"b\" \\ \n {c=\"d\"}\u2028"
	for _, row := range []struct {
		do   func()
		want []string
	}{
		{func() {}, nil},
		{func() { policies.Set("b", l); policies.Set("a", l) }, []string{"a", "b"}},
		{func() { policies.Set("a", l) }, []string{"a", "b"}},
		{func() { policies.Remove("a"); policies.Remove("nobody") }, []string{"b"}},
		{func() { policies.Set(odd, l) }, []string{odd, "b"}},
	} {
		row.do()
		if got := names(); !slices.Equal(got, row.want) {
			t.Errorf("policies %q, want %q", got, row.want)
		}
	}
}

// While decisions race with scrapes no counter decreases, and in the end all
// requests are there.
func TestCountersNeverDecrease(t *testing.T) {
	l := shard.New[int](gcra.PerSecond(1000).Burst(3), shard.WithStats())
	var policies metrics.Policies
	policies.Set("calls", l)
	client, url := serve(t, &policies)
	var load sync.WaitGroup
	var stop atomic.Bool
	var rounds atomic.Int64
	defer load.Wait()
	defer stop.Store(true)
	for w := range 2 {
		load.Go(func() {
			for i := w; !stop.Load(); i++ {
				for n := range 5 { // 4 is above the burst
					l.Take(i%3, n)
				}
				rounds.Add(1)
			}
		})
	}
	var last map[sample]float64
	check := func() (moved bool) {
		now, kinds, _ := scrape(t, client, url)
		for s, n := range now {
			if kinds[s.name] == dto.MetricType_COUNTER && n < last[s] {
				t.Errorf("%v fell from %v to %v", s, last[s], n)
			}
			moved = moved || n > last[s] && last[s] > 0
		}
		last = now
		return moved
	}
	for met := 0; met < 20; { // as many scrapes that met the load
		if check() {
			met++
		}
	}
	stop.Store(true)
	load.Wait()
	check()
	var sum float64
	for _, result := range []string{"allowed", "denied", "would_deny", "error"} {
		sum += last[sample{"weir_requests_total", "calls", result}]
	}
	want := float64(rounds.Load())
	if sum != 5*want || last[sample{"weir_requests_total", "calls", "error"}] != want {
		t.Errorf("in the end %v, after %v rounds", last, want)
	}
}
