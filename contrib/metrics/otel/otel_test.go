package otel_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/weir-go/weir/contrib/metrics"
	"github.com/weir-go/weir/contrib/metrics/internal/did"
	"github.com/weir-go/weir/contrib/metrics/otel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type sample struct{ name, policy, result string }

// collect reads all instruments through the SDK.
func collect(t *testing.T, reader sdk.Reader) (samples map[sample]float64, kinds map[string]string) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	samples, kinds = map[sample]float64{}, map[string]string{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				add(t, samples, m.Name, data)
				kinds[m.Name] = fmt.Sprint(m.Unit, data.IsMonotonic, data.Temporality)
			case metricdata.Sum[float64]:
				add(t, samples, m.Name, data)
				kinds[m.Name] = fmt.Sprint(m.Unit, data.IsMonotonic, data.Temporality)
			default:
				t.Errorf("%s is a %T", m.Name, m.Data)
			}
			if m.Description == "" {
				t.Errorf("%s is not described", m.Name)
			}
		}
	}
	return samples, kinds
}

func add[N int64 | float64](t *testing.T, samples map[sample]float64, name string, data metricdata.Sum[N]) {
	t.Helper()
	for _, p := range data.DataPoints {
		policy, _ := p.Attributes.Value(otel.Policy)
		result, ok := p.Attributes.Value(otel.Result)
		if want := 1 + strings.Count(fmt.Sprint(ok), "true"); p.Attributes.Len() != want {
			t.Errorf("%s has the attributes %v", name, p.Attributes.ToSlice())
		}
		samples[sample{name, policy.AsString(), result.AsString()}] = float64(p.Value)
	}
}

// What is collected is what was done, under as many attributes as are told.
func TestCollect(t *testing.T) {
	policies, done := did.Policies(t)
	reader := sdk.NewManualReader()
	registration, err := otel.Register(sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test"), policies)
	if err != nil {
		t.Fatal(err)
	}
	got, kinds := collect(t, reader)
	want := map[sample]float64{}
	for policy, c := range done {
		for _, series := range did.All(c) {
			want[sample{series.Otel, policy, series.Result}] = series.Value
			if kind := fmt.Sprint(series.Unit, !series.Falls, metricdata.CumulativeTemporality); kinds[series.Otel] != kind {
				t.Errorf("%s is %s, want %s", series.Otel, kinds[series.Otel], kind)
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("collected %v\nwant      %v", got, want)
	}

	for _, name := range []string{"calls", "front", "rehearsal"} {
		policies.Remove(name)
	}
	got, _ = collect(t, reader)
	for s := range got {
		if s.policy != "trial" {
			t.Errorf("%v, though its policy was removed", s)
		}
	}
	if len(got) != 9 {
		t.Errorf("%d series of one policy, want 9", len(got))
	}
	if err := registration.Unregister(); err != nil {
		t.Fatal(err)
	}
	if got, _ = collect(t, reader); len(got) != 0 {
		t.Errorf("after it was unregistered: %v", slices.Collect(maps.Keys(got)))
	}
}

// A meter that fails is told.
func TestRegisterFails(t *testing.T) {
	if _, err := otel.Register(broken{}, new(metrics.Policies)); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if _, err := otel.Register(noop.NewMeterProvider().Meter(""), new(metrics.Policies)); err != nil {
		t.Error(err)
	}
}

var errBroken = errors.New("broken")

type broken struct{ noop.Meter }

func (broken) Int64ObservableUpDownCounter(string, ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	return nil, errBroken
}

func (broken) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	panic("registered without instruments")
}
