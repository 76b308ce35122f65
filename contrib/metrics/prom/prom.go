// Package prom is a Prometheus collector of what limiters did. Package metrics
// says what is counted. The metrics, all with the label policy, are:
//
//	weir_requests_total{result}  counter: allowed, denied, would_deny, error
//	weir_waits_total             counter
//	weir_wait_seconds_total      counter
//	weir_keys                    gauge
//	weir_forgotten_total         counter
//	weir_capped_total            counter
//
// The file dashboard.json in the folder above is a Grafana dashboard of them.
package prom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-go/weir/contrib/metrics"
)

// A Collector tells Prometheus what the limiters have done so far. Make it with
// [NewCollector]. It is safe for concurrent use. Policies that come or go
// later come or go in the next scrape. For labels of your own, register it with
// prometheus.WrapRegistererWith.
type Collector struct {
	policies *metrics.Policies
	requests *prometheus.Desc
	others   []other
}

// An other is a metric with no label but the policy.
type other struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(metrics.Counts) float64
}

// NewCollector returns a collector of the policies.
func NewCollector(policies *metrics.Policies) *Collector {
	if policies == nil {
		panic("weir: metrics: NewCollector of nil")
	}
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"policy"}, labels...), nil)
	}
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	return &Collector{policies,
		describe("weir_requests_total", "Requests by result: allowed, denied, would_deny (let pass by a dry run only), error (a cost that can never pass, or no decision).", "result"),
		[]other{
			{describe("weir_waits_total", "Waits that slept and got their slot."), counter, func(c metrics.Counts) float64 { return float64(c.Waits) }},
			{describe("weir_wait_seconds_total", "Time that Waits slept, for a slot or in vain."), counter, func(c metrics.Counts) float64 { return c.WaitSeconds }},
			{describe("weir_keys", "Keys that are remembered."), gauge, func(c metrics.Counts) float64 { return float64(c.Keys) }},
			{describe("weir_forgotten_total", "Keys that were forgotten, their buckets being full."), counter, func(c metrics.Counts) float64 { return float64(c.Forgotten) }},
			{describe("weir_capped_total", "Decisions on new keys for which there was no room."), counter, func(c metrics.Counts) float64 { return float64(c.Capped) }},
		}}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	to <- c.requests
	for _, o := range c.others {
		to <- o.desc
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	for policy, counts := range c.policies.All() {
		for result, n := range counts.Results() {
			to <- prometheus.MustNewConstMetric(c.requests, prometheus.CounterValue, float64(n), policy, result)
		}
		for _, o := range c.others {
			to <- prometheus.MustNewConstMetric(o.desc, o.kind, o.of(counts), policy)
		}
	}
}
