package httplimit

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// seen is what an observer was told of one request.
type seen struct {
	verdict error // of the decision
	served  bool
	err     error
}

// TestObserver: each request that is asked about is told once, with what came
// of it.
func TestObserver(t *testing.T) {
	down := errors.New("down")
	limiter := func(opts ...shard.Option) Limiter[string] {
		l := shard.New[string](gcra.Per(0, s).Burst(2), opts...)
		l.Take("bob", 2)
		return Local(l)
	}
	key := func(r *http.Request) (string, error) { return r.Header.Get("Who"), nil }
	dry := WithDryRun(func(*http.Request, gcra.Decision, error) {})
	open := WithErrorHandler(func(http.ResponseWriter, *http.Request, error) bool { return true })
	for _, row := range []struct {
		by   Limiter[string]
		who  string
		cost int
		opts []Option
		want []seen
		why  string
	}{
		{limiter(), "ann", 1, nil, []seen{{nil, true, nil}}, "granted"},
		{limiter(), "ann", 0, nil, []seen{{nil, true, nil}}, "for nothing"},
		{limiter(), "bob", 1, nil, []seen{{gcra.ErrLimited, false, nil}}, "refused"},
		{limiter(), "ann", 3, nil, []seen{{gcra.ErrExceedsBurst, false, nil}}, "too large"},
		{limiter(), "ann", -1, nil, []seen{{gcra.ErrCost, false, gcra.ErrCost}}, "the cost function's mistake"},
		{limiter(), "", 1, nil, []seen{{nil, false, ErrKey}}, "no key"},
		{&asked{err: down}, "ann", 1, nil, []seen{{nil, false, down}}, "no decision"},
		{&asked{err: down}, "ann", 1, []Option{open}, []seen{{nil, true, down}}, "and served all the same"},
		{limiter(), "bob", 1, []Option{dry}, []seen{{gcra.ErrLimited, true, nil}}, "a dry run of the middleware"},
		{limiter(), "ann", 1, []Option{dry}, []seen{{nil, true, nil}}, "which grants"},
		{limiter(), "", 1, []Option{dry}, []seen{{nil, true, ErrKey}}, "and serves who has no key"},
		{limiter(), "ann", -1, []Option{dry}, []seen{{gcra.ErrCost, true, gcra.ErrCost}}, "and what has a wrong cost"},
		{limiter(shard.WithDryRun()), "bob", 1, nil, []seen{{gcra.ErrLimited, true, nil}}, "a dry run of the engine"},
		{limiter(), "bob", 1, []Option{WithSkip(func(*http.Request) bool { return true })}, nil, "nobody was asked"},
	} {
		var got []seen
		order := ""
		type name struct{}
		r := httptest.NewRequest("GET", "/", nil)
		r = r.WithContext(context.WithValue(r.Context(), name{}, 1))
		r.Header.Set("Who", row.who)
		h := New(row.by, key, append(row.opts,
			WithCost(func(*http.Request) int { return row.cost }),
			WithObserver(func(ctx context.Context, d gcra.Decision, served bool, err error) {
				if ctx != r.Context() {
					t.Errorf("another context: %s", row.why)
				}
				order += "observed "
				got = append(got, seen{d.Err(), served, err})
			}))...)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { order += "served" }))
		h.ServeHTTP(httptest.NewRecorder(), r)
		if !slices.Equal(got, row.want) {
			t.Errorf("told %v, want %v: %s", got, row.want, row.why)
		}
		if served := len(row.want) == 1 && row.want[0].served; served && order != "observed served" {
			t.Errorf("%q: %s", order, row.why)
		}
	}
}
