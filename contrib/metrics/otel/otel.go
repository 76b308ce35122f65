// Package otel has the OpenTelemetry instruments of what limiters did. Package
// metrics says what is counted. The instruments, all with the attribute
// weir.policy, are:
//
//	weir.requests        counter, {request}; weir.result is allowed, denied, would_deny or error
//	weir.waits           counter, {wait}
//	weir.wait.time       counter, s
//	weir.keys            up-down counter, {key}
//	weir.keys.forgotten  counter, {key}
//	weir.requests.capped counter, {request}
//
// All are asynchronous: the limiters are read when a reader collects.
package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/weir-go/weir/contrib/metrics"
)

// The attributes.
const (
	Policy = attribute.Key("weir.policy")
	Result = attribute.Key("weir.result")
)

// Register makes the instruments and observes the policies through them until
// the registration is unregistered. Policies that come or go later come or go
// with the next collection. The error is the meter's.
func Register(meter metric.Meter, policies *metrics.Policies) (metric.Registration, error) {
	if policies == nil {
		panic("weir: metrics: Register of nil")
	}
	var failed []error
	counter := func(name, unit, text string) metric.Int64ObservableCounter {
		c, err := meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
		failed = append(failed, err)
		return c
	}
	requests := counter("weir.requests", "{request}", "Requests by result: allowed, denied, would_deny (let pass by a dry run only), error (a cost that can never pass, or no decision).")
	waits := counter("weir.waits", "{wait}", "Waits that slept and got their slot.")
	slept, err := meter.Float64ObservableCounter("weir.wait.time", metric.WithUnit("s"), metric.WithDescription("Time that Waits slept, for a slot or in vain."))
	failed = append(failed, err)
	keys, err := meter.Int64ObservableUpDownCounter("weir.keys", metric.WithUnit("{key}"), metric.WithDescription("Keys that are remembered."))
	failed = append(failed, err)
	forgotten := counter("weir.keys.forgotten", "{key}", "Keys that were forgotten, their buckets being full.")
	capped := counter("weir.requests.capped", "{request}", "Decisions on new keys for which there was no room.")
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for policy, c := range policies.All() {
			of := metric.WithAttributes(Policy.String(policy))
			for result, n := range c.Results() {
				o.ObserveInt64(requests, n, metric.WithAttributes(Policy.String(policy), Result.String(result)))
			}
			o.ObserveInt64(waits, c.Waits, of)
			o.ObserveFloat64(slept, c.WaitSeconds, of)
			o.ObserveInt64(keys, c.Keys, of)
			o.ObserveInt64(forgotten, c.Forgotten, of)
			o.ObserveInt64(capped, c.Capped, of)
		}
		return nil
	}, requests, waits, slept, keys, forgotten, capped)
}
