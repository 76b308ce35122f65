package main

import (
	"context"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const start = int64(1_800_000_000_000_000) // µs since 1970

// A twin decides like weir, in integers, but for what it gets wrong. It keeps its
// buckets here and takes the time from Redis.
type twin struct {
	name     string
	interval func(l limit) (n, d int64) // ns of a token: n/d
	forget   int64                      // ns: it forgets keys so long before they are full
	more     int                        // it tells so many tokens more
	early    time.Duration              // it tells a retry so much earlier
}

func precise(l limit) (n, d int64) { return int64(l.period), int64(l.n) }

// open makes its taker: a TAT in ns times d.
func (w twin) open(c *redis.Client, l limit) (taker, error) {
	tats := make(map[string]*big.Int)
	n, d := w.interval(l)
	big64 := func(x int64) *big.Int { return big.NewInt(x) }
	burst := new(big.Int).Mul(big64(n), big64(int64(l.burst)))
	return func(ctx context.Context, key string, cost int) (answer, error) {
		t, err := c.Time(ctx).Result()
		if err != nil {
			return answer{}, err
		}
		now := new(big.Int).Mul(big64(t.UnixNano()), big64(d))
		tat := tats[key]
		if tat == nil || new(big.Int).Sub(tat, now).Cmp(new(big.Int).Mul(big64(w.forget), big64(d))) < 0 {
			tat = now
		}
		next := new(big.Int).Add(tat, new(big.Int).Mul(big64(n), big64(int64(cost))))
		over := new(big.Int).Sub(next, new(big.Int).Add(now, burst))
		a := answer{granted: over.Sign() <= 0}
		if a.granted {
			tats[key], tat = next, next
		} else {
			up := new(big.Int).Add(over, big64(d-1))
			a.retry = time.Duration(up.Div(up, big64(d)).Int64()) - w.early
		}
		left := new(big.Int).Sub(burst, new(big.Int).Sub(tat, now))
		a.remaining = int(left.Div(left, big64(n)).Int64()) + w.more
		return a, nil
	}, nil
}

// judgeTwin runs sequences under all the limits and returns the sum.
func judgeTwin(t *testing.T, w twin) tally {
	t.Helper()
	c, err := openClock(clockMini, start)
	if err != nil {
		t.Fatal(err)
	}
	defer c.end()
	all, err := compareAll(t.Context(), c, start, []library{{w.name, w.open}}, judged(), 10, 40, 1)
	if err != nil {
		t.Fatal(err)
	}
	var sum tally
	for _, one := range all {
		sum.sum(one)
	}
	return sum
}

// TestTwins shows that the comparison finds what is wrong, where it is, and nothing
// where nothing is.
func TestTwins(t *testing.T) {
	rounded := func(l limit) (n, d int64) { return int64(l.period) / int64(l.n), 1 }
	for _, row := range []struct {
		twin                                twin
		granted, refused, left, rest, retry bool
	}{
		{twin: twin{name: "exact", interval: precise}},
		{twin{name: "interval in whole ns", interval: rounded}, true, false, true, true, true},
		{twin{name: "forgets a second early", interval: precise, forget: int64(time.Second)}, true, false, true, true, true},
		{twin{name: "one token more in words", interval: precise, more: 1}, false, false, true, true, false},
		{twin{name: "retry a ns early", interval: precise, early: 1}, false, false, false, false, true},
		{twin{name: "retry 2 µs late", interval: precise, early: -2 * time.Microsecond}, false, false, false, false, true},
		{twin{name: "slower by less than a ns", interval: func(l limit) (int64, int64) { return int64(l.period) + 1, int64(l.n) }}, false, true, true, true, false},
	} {
		got := judgeTwin(t, row.twin)
		if got.requests != 2800 || got.grants < 1000 || got.grants > 2600 {
			t.Errorf("%s: %d of %d granted: that proves too little", row.twin.name, got.grants, got.requests)
		}
		for _, c := range []struct {
			name string
			got  count
			want bool
		}{
			{"granted", got.granted, row.granted}, {"refused", got.refused, row.refused},
			{"left", got.left, row.left}, {"rest", got.rest, row.rest}, {"retry", got.retry, row.retry},
		} {
			if (c.got.any > 0) != c.want {
				t.Errorf("%s: %s: %v wrong, want any: %v", row.twin.name, c.name, c.got, c.want)
			}
		}
	}
}

// TestWeirIsExact compares the real libraries, on miniredis always.
func TestWeirIsExact(t *testing.T) {
	for _, kind := range []string{clockMini, clockFaked} {
		t.Run(kind, func(t *testing.T) {
			c, err := openClock(kind, start)
			if err != nil && kind == clockFaked {
				t.Skipf("no redis-server whose clock can be set: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer c.end()
			all, err := compareAll(t.Context(), c, start, libraries(), judged(), 8, 40, 2)
			if err != nil {
				t.Fatal(err)
			}
			if err := exact(all); err != nil {
				t.Error(err)
			}
			sums := make(map[string]tally)
			for _, one := range all {
				s := sums[one.lib]
				s.sum(one)
				sums[one.lib] = s
			}
			for lib, s := range sums {
				if s.requests != 2240 || s.grants < 1000 || s.grants > 2100 {
					t.Errorf("%s: %d of %d granted: that proves too little", lib, s.grants, s.requests)
				}
			}
			// The comparison sees them decide: both are known to be inexact.
			if r, th := sums[redisRate], sums[throttle]; r.granted.any+r.refused.any == 0 || th.granted.any == 0 {
				t.Errorf("redis_rate: %v, throttled: %v: nothing is wrong", r.counts(), th.counts())
			}
		})
	}
}

// TestExactRefuses: the program fails for one wrong nanosecond of weir's.
func TestExactRefuses(t *testing.T) {
	l := judged()[0]
	for _, row := range []struct {
		t    tally
		want error
	}{
		{tally{lib: weir, limit: l, requests: 9}, nil},
		{tally{lib: throttle, limit: l, granted: count{1, 1}}, nil},
		{tally{lib: weir, limit: l, granted: count{1, 0}}, errWrong},
		{tally{lib: weir, limit: l, refused: count{1, 0}}, errWrong},
		{tally{lib: weir, limit: l, left: count{1, 0}}, errWrong},
		{tally{lib: weir, limit: l, rest: count{1, 0}}, errWrong},
		{tally{lib: weir, limit: l, retry: count{1, 0}}, errWrong},
	} {
		if err := exact([]tally{{lib: weir}, row.t}); !errors.Is(err, row.want) {
			t.Errorf("%+v: %v, want %v", row.t, err, row.want)
		}
	}
}

// TestJudge judges single answers under 1/s burst 2, both tokens taken at 0.
func TestJudge(t *testing.T) {
	const s = int64(1_000_000)
	for _, row := range []struct {
		at   int64
		cost int
		a    answer
		want tally
		why  string
	}{
		{s, 1, answer{granted: true}, tally{}, "a token is there"},
		{s - 1, 1, answer{retry: time.Microsecond}, tally{}, "a µs before"},
		{s - 1, 1, answer{granted: true}, tally{granted: count{1, 0}}, "a µs too early, which the clock does not tell apart"},
		{s - 2, 1, answer{granted: true}, tally{granted: count{1, 1}}, "two µs too early"},
		{s, 1, answer{}, tally{refused: count{1, 0}}, "refused when it is just there"},
		{s + 1, 1, answer{}, tally{refused: count{1, 1}}, "refused a µs later"},
		{s, 1, answer{granted: true, remaining: 1}, tally{left: count{1, 1}}, "a token too many is told"},
		{2*s - 1, 1, answer{granted: true, remaining: 1}, tally{left: count{1, 0}}, "which is there a µs later"},
		{s, 2, answer{retry: time.Second}, tally{rest: count{1, 0}}, "one token is there, just"},
		{s + s/2, 2, answer{retry: time.Second / 2}, tally{rest: count{1, 1}}, "one token is there, for long"},
		{0, 1, answer{retry: time.Second - 1}, tally{retry: count{1, 0}}, "a ns too early"},
		{0, 1, answer{retry: time.Second + time.Microsecond}, tally{}, "a µs late, as far as the clock tells"},
		{0, 1, answer{retry: time.Second + 1001}, tally{retry: count{1, 1}}, "later than that"},
		{0, 1, answer{retry: time.Second - 1001}, tally{retry: count{1, 1}}, "more than a µs too early"},
	} {
		b := newBucket(limit{1, time.Second, 2}, 0)
		b.take(2)
		b.advance(row.at)
		var got tally
		got.judge(b, row.cost, row.a)
		row.want.requests = 1
		if row.a.granted {
			row.want.grants = 1
		}
		if got != row.want {
			t.Errorf("%s: %+v, want %+v", row.why, got, row.want)
		}
	}
}
