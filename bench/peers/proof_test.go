package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSubjectsLimit(t *testing.T) {
	for _, err := range []error{
		probes(single(), stringKeys(), 1),
		probes(stringKeyed(), stringKeys(), 1000),
		probes(append(uintKeyed(), inserting()...), uintKeys(), 1000),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}

// What probe has to reject.
func TestProbe(t *testing.T) {
	with := func(allow func(limit) func(string) bool) subject[string] {
		return subject[string]{lib: "twin", open: func(l limit, _ int) instance[string] {
			return instance[string]{allow: allow(l)}
		}}
	}
	weir := openWeir[string]()
	var nobody map[string]string
	for _, row := range []struct {
		twin subject[string]
		want string
		why  string
	}{
		{with(func(limit) func(string) bool { return always[string]().allow }), "request 4 on", "grants everything"},
		{with(func(limit) func(string) bool { return never[string]().allow }), "request 1 on", "refuses everything"},
		{with(func(l limit) func(string) bool {
			x := l.xtime()
			return func(string) bool { return x.Allow() }
		}), "request 1 on key client-000000003", "all keys share a bucket"},
		{with(func(l limit) func(string) bool {
			i := weir(l, 10)
			return func(key string) bool { return i.allow(nobody[key]) }
		}), "request 1 on key client-000000003", "looks its key up in a nil map"},
		{with(func(l limit) func(string) bool {
			l.burst--
			return weir(l, 10).allow
		}), "request 3 on", "one token short"},
		{with(func(l limit) func(string) bool {
			l.per = time.Nanosecond
			return weir(l, 10).allow
		}), "request 4 on", "refills at once"},
		{subject[string]{lib: "twin", open: func(l limit, keys int) instance[string] {
			i := weir(l, keys)
			i.len = func() int { return 1 }
			return i
		}}, "remembers 1 keys of 10", "lost its keys"},
		{subject[string]{lib: "twin", open: func(l limit, keys int) instance[string] {
			i := weir(l, keys)
			i.many = func(keys []string, ok []bool) {
				for n := range keys {
					ok[n] = i.allow(keys[0])
				}
			}
			return i
		}}, "request 1 on key client-000000003", "a batch is about its first key"},
	} {
		err := probe(row.twin, stringKeys().make(first(10)))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.why, err, row.want)
		}
	}
}

func TestL1(t *testing.T) {
	l := limit{1000, time.Second, 50}
	for _, row := range []struct {
		granted int
		elapsed time.Duration
		want    bool
		why     string
	}{
		{50, 0, true, "the burst"},
		{51, time.Millisecond - 1, false, "a token that is not there yet"},
		{51, time.Millisecond, true, "there it is"},
		{150, 100 * time.Millisecond, true, "all that there was"},
		{151, 100 * time.Millisecond, false, "one more"},
		{49, 0, false, "less than the burst"},
	} {
		if err := l1(l, row.granted, row.elapsed); (err == nil) != row.want {
			t.Errorf("%d in %v: %v: %s", row.granted, row.elapsed, err, row.why)
		}
	}
}

func TestLaw(t *testing.T) {
	keys := stringKeys().make(first(lawKeys))
	for _, s := range stringKeyed() {
		if s.yields {
			continue
		}
		if share, err := law(s, keys, 2, time.Microsecond); err != nil || share <= 0 || share > 1 {
			t.Errorf("%s: %v of what L1 permits, %v", s.lib, share, err)
		}
	}
	for _, row := range []struct {
		change func(*limit)
		why    string
	}{
		{func(l *limit) { l.burst *= 100 }, "a burst too large"},
		{func(l *limit) { l.per = time.Microsecond }, "a rate too high"},
		{func(l *limit) { *l = limit{1, time.Hour, l.burst - 1} }, "a burst too small"},
	} {
		twin := subject[string]{lib: "twin", open: func(l limit, keys int) instance[string] {
			row.change(&l)
			return openWeir[string]()(l, keys)
		}}
		if _, err := law(twin, keys, 2, 0); err == nil {
			t.Errorf("no error: %s", row.why)
		}
	}
}

// Where nothing is to be refused, nothing is for longer than a run lasts, and
// where nothing is to be granted, neither.
func TestLimitsSuffice(t *testing.T) {
	for _, row := range []struct {
		limit limit
		asks  int // on one key
		owes  time.Duration
		why   string
	}{
		{hotGranted(), 2e9, 0, "10 s at 200 million a second on one key"},
		{keysGranted(), 1.6e7, 5 * time.Minute, "a second of Zipf at 150 million, of which one key gets a tenth; filling 8 M keys takes less than 5 minutes"},
		{allRefused(), 1, time.Hour, "no token comes back"},
	} {
		if row.limit.burst < row.asks {
			t.Errorf("burst %d, want %d: %s", row.limit.burst, row.asks, row.why)
		}
		if got := row.limit.weir().Interval(); got < row.owes {
			t.Errorf("a token is back after %v, want %v: %s", got, row.owes, row.why)
		}
		// The sums that libraries make in nanoseconds, of Unix times for one.
		year := 365 * 24 * time.Hour
		if room := time.Duration(1<<63-1) - 60*year; row.limit.interval() > room/time.Duration(row.limit.burst) {
			t.Errorf("%v tokens of %v do not fit a Unix time in nanoseconds", row.limit.burst, row.limit.interval())
		}
	}
}

func TestSpare(t *testing.T) {
	refusing := func(lost int, sized bool) error {
		s := subject[string]{lib: "twin", sized: sized}
		i := instance[string]{allow: func(string) bool { lost--; return lost < 0 }}
		_, err := fill(s, &i, make([]string, 10))
		return err
	}
	if err := errors.Join(refusing(0, false), refusing(1, true)); err != nil {
		t.Error(err)
	}
	if refusing(1, false) == nil || refusing(2, true) == nil {
		t.Error("a new key is refused: no error")
	}
}
