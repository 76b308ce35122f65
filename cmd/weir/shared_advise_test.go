package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/advise"
	"github.com/weir-go/weir/cmd/weir/internal/brute"
	"github.com/weir-go/weir/cmd/weir/internal/check"
	"github.com/weir-go/weir/cmd/weir/internal/text"
)

// TestSharedAdvise holds every number that real traffic advises against replays and queues in math/big.
func TestSharedAdvise(t *testing.T) {
	for _, c := range traces {
		for _, share := range []string{"-refuse", "-refuse-keys"} {
			t.Run(fmt.Sprintf("%s cost=%s %s", c.name, c.cost, share), func(t *testing.T) {
				path, all, _ := c.trace(t)
				args := append([]string{"advise", path, share, "1%"}, c.flags...)
				r := decode[advise.Result](t, weir("", append(args, "-json")...))
				sameTotals(t, r, all)
				allowed, spared := r.Requests/100, int64(0)
				if share == "-refuse-keys" {
					allowed, spared = 0, r.Keys/100
				}
				if len(r.Curve) < 5 || len(r.Skipped) > 0 || len(r.Advice) < 2 {
					t.Fatalf("%d points, %d limits, %v", len(r.Curve), len(r.Advice), r.Skipped)
				}
				for i, p := range r.Curve {
					if i%5 == 0 || !sampled {
						check.Point(t, all, p, allowed, spared, r.Keys)
					}
				}
				var outs [][]brute.Outcome
				for _, a := range r.Advice {
					check.Advice(t, all, a, c.tick)
					n, period := a.Limit.Rate()
					outs = append(outs, brute.Replay(all, brute.Limit{N: int64(n), Period: int64(period), Burst: int64(a.Limit.Capacity())}))
					if a.Name != "generous" {
						leastInAMinute(t, r, a)
					}
				}
				sameTimeline(t, r.Timeline, all, outs)
				// Reading takes from the timeline what it counts, so the text is of a fresh one.
				r = decode[advise.Result](t, weir("", append(args, "-json")...))
				if got := weir("", args...).out; got != text.Advice(&r, text.Style{Width: 100}) {
					t.Errorf("people see something else:\n%s", got)
				}
			})
		}
	}
}

// leastInAMinute looks for a point of the curve that lets less through than the advice.
func leastInAMinute(t *testing.T, r advise.Result, a advise.Advice) {
	t.Helper()
	burst := func(p advise.Point) int64 {
		switch {
		case a.Name == "balanced":
			return p.Max
		case r.ForKeys != "":
			return p.ForKeys
		}
		return p.ForShare
	}
	minute := func(n, burst int64, period time.Duration) int64 { return burst + 60e9*n/int64(period) }
	n, period := a.Limit.Rate()
	mine := minute(int64(n), int64(a.Limit.Capacity()), period)
	found := false
	for _, p := range r.Curve {
		theirs := minute(p.N, burst(p), p.Period)
		if theirs < mine {
			t.Errorf("%v lets %d through in a minute, %s burst %d lets %d", a.Limit, mine, p.Rate, burst(p), theirs)
		}
		found = found || p.N == int64(n) && p.Period == period && burst(p) == int64(a.Limit.Capacity())
	}
	if !found {
		t.Errorf("%v is not on the curve", a.Limit)
	}
}

// sameTotals counts what the head of the advice says.
func sameTotals(t *testing.T, r advise.Result, all []brute.Request) {
	t.Helper()
	byKey, bySecond, bySecondAll := map[string]int64{}, map[string]int64{}, map[int64]int64{}
	want := advise.Result{Requests: int64(len(all))}
	for _, q := range all {
		second := time.Unix(0, q.At).Unix()
		want.Tokens += q.Cost
		want.Largest = max(want.Largest, q.Cost)
		byKey[q.Key] += q.Cost
		bySecond[fmt.Sprint(second, q.Key)] += q.Cost
		bySecondAll[second] += q.Cost
	}
	for key, n := range byKey {
		if b := &want.Busiest; n > b.Tokens || n == b.Tokens && key < b.Key {
			*b = advise.KeyTokens{Key: key, Tokens: n}
		}
	}
	most, mostAll := int64(0), int64(0)
	for _, n := range bySecond {
		most = max(most, n)
	}
	for _, n := range bySecondAll {
		mostAll = max(mostAll, n)
	}
	if r.Requests != want.Requests || r.Tokens != want.Tokens || r.Keys != int64(len(byKey)) || r.Largest != want.Largest || r.Busiest != want.Busiest || r.LeftOut != 0 {
		t.Errorf("%+v, want %+v", r, want)
	}
	if p := r.Peak; p.Tokens != most || bySecond[fmt.Sprint(p.At.Unix(), p.Key)] != most {
		t.Errorf("peak %+v, want %d", p, most)
	}
	if p := r.PeakAll; p.Tokens != mostAll || bySecondAll[p.At.Unix()] != mostAll {
		t.Errorf("peak of all %+v, want %d", p, mostAll)
	}
}
