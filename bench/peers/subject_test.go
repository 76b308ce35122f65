package main

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSubjectsLimit(t *testing.T) {
	one, many := stringKeys(1, 1), stringKeys(1000, 1)
	for _, s := range single() {
		if err := probe(s, one.stored); err != nil {
			t.Error("single:", err)
		}
	}
	for _, s := range stringKeyed() {
		if err := probe(s, many.stored); err != nil {
			t.Error("string:", err)
		}
	}
	for _, s := range append(keyed[uint64](), inserting()...) {
		if err := probe(s, uintKeys(1000)); err != nil {
			t.Error("uint64:", err)
		}
	}
}

// What probe has to reject.
func TestProbe(t *testing.T) {
	with := func(allow func(limit) func(string) bool) subject[string] {
		return subject[string]{lib: "twin", open: func(l limit) instance[string] {
			return instance[string]{allow: allow(l)}
		}}
	}
	forgetful := openWeir[string]
	for _, row := range []struct {
		twin subject[string]
		want string
		why  string
	}{
		{with(func(limit) func(string) bool {
			return func(string) bool { return true }
		}), "request 4 on", "grants everything"},
		{with(func(limit) func(string) bool {
			return func(string) bool { return false }
		}), "request 1 on", "refuses everything"},
		{with(func(l limit) func(string) bool {
			x := l.xtime()
			return func(string) bool { return x.Allow() }
		}), "request 1 on key client-000000003", "all keys share a bucket"},
		{with(func(l limit) func(string) bool {
			l.burst--
			return openWeir[string](l).allow
		}), "request 3 on", "one token short"},
		{with(func(l limit) func(string) bool {
			l.per = time.Nanosecond
			return openWeir[string](l).allow
		}), "request 4 on", "refills at once"},
		{subject[string]{lib: "twin", open: func(l limit) instance[string] {
			i := forgetful(l)
			i.len = func() int { return 1 }
			return i
		}}, "remembers 1 keys of 10", "lost its keys"},
	} {
		err := probe(row.twin, stringKeys(10, 1).stored)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.why, err, row.want)
		}
	}
}

// Where nothing is to be refused, nothing is for longer than a run lasts.
func TestGrantedLimitsAreEnough(t *testing.T) {
	for _, row := range []struct {
		limit  limit
		asks   int // on one key
		forget time.Duration
		why    string
	}{
		{hotGranted(), 1e12, 0, "an hour at 277 million a second on one key"},
		{keysGranted(), 2e5, time.Hour, "an hour at 58 million a second on a million keys, none full before the next asks"},
	} {
		if row.limit.burst < row.asks {
			t.Errorf("burst %d, want %d: %s", row.limit.burst, row.asks, row.why)
		}
		if got := row.limit.weir().Interval(); got < row.forget {
			t.Errorf("a key is full again after %v, want %v: %s", got, row.forget, row.why)
		}
	}
}
