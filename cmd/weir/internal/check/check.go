// Package check holds results of the weir command against slow answers, for the tests of the packages and of the command.
package check

import (
	"fmt"
	"testing"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/advise"
	"github.com/weir-go/weir/cmd/weir/internal/brute"
	"github.com/weir-go/weir/gcra"
)

// Point holds what is told of a rate against replays, each a number of its own: with the burst it is as it should be, and
// with one token less it is not. allowed are the requests that may be refused for ForShare, spared the keys for ForKeys.
func Point(t testing.TB, records []brute.Request, p advise.Point, allowed, spared, keys int64) {
	t.Helper()
	known := map[int64][2]int64{} // what a burst refuses: several of the numbers are often one
	refused := func(burst int64) (requests, keys int64) {
		if r, ok := known[burst]; ok {
			return r[0], r[1]
		}
		requests, keys = brute.Refused(records, brute.Limit{N: p.N, Period: int64(p.Period), Burst: burst})
		known[burst] = [2]int64{requests, keys}
		return requests, keys
	}
	check := func(what string, burst int64, within func(requests, keys int64) bool) {
		t.Helper()
		if n, k := refused(burst); !within(n, k) {
			t.Fatalf("%s at %s: burst %d refuses %d requests of %d keys", what, p.Rate, burst, n, k)
		}
		if burst > 1 {
			if n, k := refused(burst - 1); within(n, k) {
				t.Fatalf("%s at %s: burst %d is more than needed: one less refuses %d requests of %d keys", what, p.Rate, burst, n, k)
			}
		}
	}
	check("all", p.Max, func(n, _ int64) bool { return n == 0 })
	check("share", p.ForShare, func(n, _ int64) bool { return n <= allowed })
	check("keys", p.ForKeys, func(_, k int64) bool { return k <= spared })
	for percent, burst := range map[int64]int64{50: p.P50, 90: p.P90, 99: p.P99} {
		if burst > 0 {
			check(fmt.Sprint(percent, " %"), burst, func(_, k int64) bool { return (keys-k)*100 >= percent*keys })
		}
	}
	Pacing(t, records, gcra.Per(int(p.N), p.Period).Burst(int(p.Pacing.Burst)), p.Pacing)
}

// Pacing holds the delays against a queue.
func Pacing(t testing.TB, records []brute.Request, l gcra.Limit, p advise.Pacing) {
	t.Helper()
	n, period := l.Rate()
	delays := brute.Delays(records, brute.Limit{N: int64(n), Period: int64(period), Burst: int64(l.Capacity())})
	want := advise.Pacing{Burst: int64(l.Capacity()), Never: int64(len(records) - len(delays))}
	if len(delays) > 0 {
		sum := int64(0)
		for _, d := range delays {
			sum += d
			if d > 0 {
				want.Waited++
			}
		}
		want.Mean = time.Duration(sum / int64(len(delays)))
		want.P50, want.P99 = time.Duration(brute.Quantile(delays, 50)), time.Duration(brute.Quantile(delays, 99))
		want.Max = time.Duration(delays[len(delays)-1])
	}
	if p != want {
		t.Fatalf("%v: %+v, want %+v", l, p, want)
	}
}

// Advice holds what a limit would have done against a replay.
func Advice(t testing.TB, records []brute.Request, a advise.Advice, tick time.Duration) {
	t.Helper()
	n, period := a.Limit.Rate()
	l := brute.Limit{N: int64(n), Period: int64(period), Burst: int64(a.Limit.Capacity())}
	bySecond := map[int64]int64{}
	var v struct{ refused, tokens, never, wait int64 }
	byKey := map[string]int64{}
	for i, o := range brute.Replay(records, l) {
		if !o.Refused {
			continue
		}
		v.refused++
		v.tokens += records[i].Cost
		v.wait = max(v.wait, o.Wait)
		if o.Never {
			v.never++
		}
		byKey[records[i].Key]++
		second := time.Unix(0, records[i].At).Unix()
		bySecond[second] += records[i].Cost
	}
	worst := advise.Second{}
	for s, tokens := range bySecond {
		if at := time.Unix(s, 0).UTC(); tokens > worst.Tokens || tokens == worst.Tokens && at.Before(worst.At) {
			worst = advise.Second{At: at, Tokens: tokens}
		}
	}
	got := a.Verdict
	if got.Refused != v.refused || got.Granted != int64(len(records))-v.refused || got.RefusedTokens != v.tokens || got.Never != v.never ||
		int64(got.LongestWait) != v.wait || got.RefusedKeys != int64(len(byKey)) || a.Seconds != int64(len(bySecond)) || a.Worst != worst {
		t.Fatalf("%v: %+v, want %+v, %d keys, %d seconds, %+v", a.Limit, a, v, len(byKey), len(bySecond), worst)
	}
	for _, k := range got.MostRefused {
		if byKey[k.Key] != k.Refused {
			t.Fatalf("%v: %+v, want %d", a.Limit, k, byKey[k.Key])
		}
	}
	// What was never used of the burst can be taken from it, and no more.
	if v.refused == 0 {
		l.Burst -= a.Headroom
		if l.Burst > 0 {
			if n, _ := brute.Refused(records, l); n > 0 {
				t.Fatalf("%v: without the headroom of %d %d are refused", a.Limit, a.Headroom, n)
			}
		}
		if l.Burst--; l.Burst > 0 {
			if n, _ := brute.Refused(records, l); n == 0 {
				t.Fatalf("%v: the headroom is more than %d", a.Limit, a.Headroom)
			}
		}
	} else if a.Headroom != 0 {
		t.Fatalf("%v: headroom %d, and something is refused", a.Limit, a.Headroom)
	}
	if slack := (l.N*int64(tick) + l.Period - 1) / l.Period; a.Slack != slack {
		t.Fatalf("%v: slack %d, want %d", a.Limit, a.Slack, slack)
	}
	Pacing(t, records, a.Limit, a.Pacing)
}
