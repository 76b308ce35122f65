package metrics_test

import (
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/contrib/metrics"
	"github.com/weir-go/weir/contrib/metrics/internal/did"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPolicies(t *testing.T) {
	p, want := did.Policies(t)
	var names []string
	for name, got := range p.All() {
		names = append(names, name)
		if got != want[name] {
			t.Errorf("%s did %+v, want %+v", name, got, want[name])
		}
		p.Remove("trial") // which has been read, or is yet to be
	}
	if !slices.Equal(names, []string{"calls", "front", "rehearsal", "trial"}) {
		t.Errorf("policies %q", names)
	}
	for name, c := range p.All() {
		sum := int64(0)
		for _, n := range c.Results() {
			sum += n
		}
		if name != "calls" || sum != c.Allowed+c.Denied+c.Errors {
			t.Errorf("%s: %d requests of %+v", name, sum, c)
		}
		for result := range c.Results() {
			if result != "allowed" {
				t.Errorf("the first result is %s", result)
			}
			break
		}
		break
	}
}

// A limiter that counts nothing has keys all the same.
func TestWithoutStats(t *testing.T) {
	l := shard.New[int](gcra.PerHour(1))
	l.Take(1, 1)
	var p metrics.Policies
	p.Set("a", l)
	for _, got := range p.All() {
		if want := (metrics.Counts{Keys: 1}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func TestSetPanicsOnNonsense(t *testing.T) {
	l := shard.New[int](gcra.PerHour(1))
	for _, row := range []struct {
		name string
		s    metrics.Source
		why  string
	}{
		{"", l, "no name"},
		{"\xff", l, "a label that cannot be told"},
		{"a", nil, "nothing to watch"},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("it did not panic: %s", row.why)
				}
			}()
			new(metrics.Policies).Set(row.name, row.s)
		}()
	}
}

// lines yields the lines of a text that begin so.
func lines(text, prefix string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, prefix) && !yield(strings.TrimSpace(line)) {
				return
			}
		}
	}
}

// withoutTime makes a log the same every time.
func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
