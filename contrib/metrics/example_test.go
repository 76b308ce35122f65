package metrics_test

import (
	"expvar"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/contrib/metrics"
	"github.com/weir-go/weir/contrib/metrics/otel"
	"github.com/weir-go/weir/contrib/metrics/prom"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// One set of policies for both systems.
func Example() {
	var clk clock.Manual
	clients := shard.New[string](gcra.PerSecond(50).Burst(2), shard.WithStats(), shard.WithClock(&clk))
	var policies metrics.Policies
	policies.Set("clients", clients)

	registry := prometheus.NewRegistry()
	registry.MustRegister(prom.NewCollector(&policies))
	scraped := promhttp.HandlerFor(registry, promhttp.HandlerOpts{}) // at /metrics

	provider := sdk.NewMeterProvider() // with a reader of yours
	if _, err := otel.Register(provider.Meter("example.com/server"), &policies); err != nil {
		panic(err)
	}

	for range 3 {
		clients.Allow("ann")
	}
	answer := httptest.NewRecorder()
	scraped.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range lines(answer.Body.String(), "weir_requests_total{") {
		fmt.Println(line)
	}
	// Output:
	// weir_requests_total{policy="clients",result="allowed"} 2
	// weir_requests_total{policy="clients",result="denied"} 1
	// weir_requests_total{policy="clients",result="error"} 0
	// weir_requests_total{policy="clients",result="would_deny"} 0
}

// The counts of a limiter under /debug/vars, without any of these packages.
func Example_expvar() {
	var clk clock.Manual
	clients := shard.New[string](gcra.PerSecond(50).Burst(2), shard.WithStats(), shard.WithClock(&clk))
	expvar.Publish("weir.clients", expvar.Func(func() any { return clients.Stats() }))

	clients.Allow("ann")
	fmt.Println(expvar.Get("weir.clients"))
	// Output: {"Granted":1,"Refused":0,"Invalid":0,"WouldRefuse":0,"Waited":0,"WaitMicros":0,"Keys":1,"Forgotten":0,"Capped":0}
}

// A decision in a log, without a word on who asked unless that may be written.
func Example_slog() {
	var clk clock.Manual
	clients := shard.New[string](gcra.PerSecond(50).Burst(2), shard.WithClock(&clk))
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))

	if d := clients.Take("ann", 3); !d.OK() {
		log.Warn("refused", "err", d.Err(), "limit", d.Limit(), "remaining", d.Remaining())
	}
	// Output: level=WARN msg=refused err="weir: cost exceeds the burst" limit="50/s burst 2" remaining=2
}
