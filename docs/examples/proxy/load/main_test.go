// The gate does not run load: this is what it reads and prints.

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const printed = `Running 5s test @ http://127.0.0.1:40001/
  1 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.97ms    2.35ms  23.48ms   80.46%
    Req/Sec    11.85k     1.17k   14.12k    68.00%
  Latency Distribution
     50%    2.31ms
     75%    3.82ms
     90%    6.06ms
     99%   11.37ms
  59013 requests in 5.00s, 6.92MB read
Requests/sec:  11794.50
Transfer/sec:      1.38MB
`

func TestParse(t *testing.T) {
	o, n, err := parse([]byte(printed))
	if want := (outcome{perSecond: 11794.5, p99: 11370 * time.Microsecond}); o != want || n != 59013 || err != nil {
		t.Errorf("%v %d %v, want %v", o, n, err, want)
	}
	o, _, err = parse([]byte(strings.Replace(printed, "11.37ms", "870.00us", 1)))
	if o.p99 != 870*time.Microsecond || err != nil {
		t.Errorf("%v %v", o, err)
	}
	o, _, err = parse([]byte(strings.Replace(printed, "11.37ms", "1.10s ", 1))) // which wrk pads
	if o.p99 != 1100*time.Millisecond || err != nil {
		t.Errorf("%v %v", o, err)
	}
	for _, row := range []struct{ old, new, want string }{
		{"Requests/sec", "  Non-2xx or 3xx responses: 7\nRequests/sec", "Non-2xx or 3xx responses: 7"},
		{"Requests/sec", "  Socket errors: connect 0, read 3, write 0, timeout 0\nRequests/sec", "Socket errors: connect 0, read 3"},
		{"59013 requests", "0 requests", "no request"},
		{"99% ", "98% ", "duration"},
		{"Requests/sec", "Requests", "parsing"},
		{"requests in", "answers in", "parsing"},
	} {
		if _, _, err := parse([]byte(strings.Replace(printed, row.old, row.new, 1))); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %s", row.new, err, row.want)
		}
	}
}

func TestParseStat(t *testing.T) {
	for _, row := range []struct {
		text string
		want time.Duration
	}{
		{"7 (proxy) S 1 7 7 0 -1 4194560 100 0 0 0 123 45 0 0 20 0 9 0", 1680 * time.Millisecond},
		{"7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 9 0", 30 * time.Millisecond},
		{"7 (proxy) S 1", 0},
		{"7 (proxy) S 1 7 7 0 -1 4194560 100 0 0 0 x 45 0 0 20 0 9 0", 0},
		{"", 0},
	} {
		if got := parseStat(row.text); got != row.want {
			t.Errorf("%q: %v, want %v", row.text, got, row.want)
		}
	}
}

func TestReport(t *testing.T) {
	var out bytes.Buffer
	ms := time.Millisecond
	report(&out, []outcome{{100, ms, 40 * time.Microsecond}, {300, 3 * ms, 60 * time.Microsecond}, {200, 2 * ms, 50 * time.Microsecond}},
		[]outcome{{150, 4 * ms, 51 * time.Microsecond}, {250, 1 * ms, 51 * time.Microsecond}})
	want := `median requests/s   off 200.0, on 200.0: +0.00 %
median p99          off 2000.0 µs, on 2500.0 µs: +25.00 %
median CPU/request  off 50.0 µs, on 51.0 µs: +2.00 %
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}

// TestBounds: what could not measure anything does not begin.
func TestBounds(t *testing.T) {
	for _, l := range []load{
		{rounds: 0, connections: 1, time: time.Second},
		{rounds: 1, connections: 0, time: time.Second},
		{rounds: 1, connections: 1, clients: -1, time: time.Second},
		{rounds: 1, connections: 1, time: time.Second - 1},
	} {
		if err := l.run(t.Context(), &bytes.Buffer{}); err == nil {
			t.Errorf("%+v: no error", l)
		}
	}
}
