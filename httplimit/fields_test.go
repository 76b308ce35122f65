package httplimit

import (
	"math"
	"math/big"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

func TestPolicyText(t *testing.T) {
	for _, row := range []struct {
		limit      gcra.Limit
		name, want string
		why        string
	}{
		{gcra.PerMinute(100).Burst(100), "burst", `"burst";q=100;w=60`, "the draft's example"},
		{gcra.PerDay(1000).Burst(1000), "daily", `"daily";q=1000;w=86400`, "and the other one"},
		{gcra.PerSecond(3).Burst(10), "x", `"x";q=10;w=4`, "3.33 s are rounded up"},
		{gcra.PerSecond(1000), "x", `"x";q=1;w=1`, "a window is never 0"},
		{gcra.Per(0, s).Burst(7), "x", `"x";q=7`, "what does not refill has no window"},
		{gcra.Limit{}, "x", `"x";q=0`, "nor has nothing"},
		{gcra.Unlimited(), "x", ``, "no limit, no field"},
		{gcra.PerSecond(1), `a "b" \c`, `"a \"b\" \\c";q=1;w=1`, "quotes and backslashes are escaped"},
		{gcra.PerSecond(1), " ~", `" ~";q=1;w=1`, "the ends of what a string may contain"},
	} {
		ps := policies{list: []policy{{name: row.name, quoted: quote(row.name)}}}
		if got := string(ps.advertise(nil, &row.limit)); got != row.want {
			t.Errorf("%v: %q, want %q: %s", row.limit, got, row.want, row.why)
		}
		if row.want == "" {
			continue
		}
		items, ok := parseList(row.want)
		if !ok || len(items) != 1 || items[0].value != row.name {
			t.Errorf("%q reads as %v", row.want, items)
		}
	}
	if strconv.IntSize == 64 {
		big := gcra.Per(1<<30, s).Burst(math.MaxInt >> 13)
		if got, want := string(appendPolicy(nil, `"x"`, big)), `"x";q=999999999999999;w=1048576`; got != want {
			t.Errorf("%q, want %q: integers have 15 digits", got, want)
		}
	}
}

// TestFieldsHold puts numbers of the fields beside exact ones, for limits and
// histories of all kinds.
func TestFieldsHold(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	around := func(max float64) int64 { return 1 + int64(math.Exp(rnd.Float64()*math.Log(max))) }
	granted, refused, lowered, empty := 0, 0, 0, 0
	for range 20_000 {
		period := time.Duration(math.Exp(rnd.Float64() * math.Log(float64(2000*time.Hour))))
		n := int(min(around(1e6), 32*int64(max(period, 1))))
		limit := gcra.Per(n, max(period, 1)).Burst(int(around(1e6)))
		step := time.Duration(0)
		if rnd.IntN(4) == 0 {
			step = time.Duration(around(1e10))
			limit = limit.InSteps(step)
		}
		var clk clock.Manual
		l := gatomic.NewLimiter(limit, gatomic.WithClock(&clk))
		for range 4 {
			clk.Advance(time.Duration(around(1e10)))
			cost := rnd.IntN(limit.Capacity() + 1)
			if rnd.IntN(3) == 0 {
				cost = l.Peek(0).Remaining()
			}
			d := l.Take(cost)
			r, w := available(d, &limit)
			if r < 0 || r > int64(d.Remaining()) {
				t.Fatalf("%v: r=%d with %d left", limit, r, d.Remaining())
			}
			// r/w <= n/period
			rate := big.NewRat(int64(n), int64(max(period, 1)))
			if w == never && r == 0 && d.ResetAfter() == gcra.Never {
				continue // centuries from full
			}
			if w < 1 {
				t.Fatalf("%v: t=%d", limit, w)
			}
			if big.NewRat(r, w*int64(time.Second)).Cmp(rate) > 0 {
				t.Fatalf("%v: r=%d;t=%d is faster than the rate", limit, r, w)
			}
			if !d.OK() {
				refused++
				if r < int64(d.Remaining()) {
					lowered++
				}
				after := seconds(d.RetryAfter())
				if d.RetryAfter() == gcra.Never {
					continue // centuries away: no Retry-After
				}
				if w > after {
					t.Fatalf("%v: t=%d after Retry-After %d", limit, w, after)
				}
				if wait := d.RetryAfter(); time.Duration(after)*s < wait || time.Duration(after-1)*s >= wait {
					t.Fatalf("%v: Retry-After %d for %v", limit, after, wait)
				}
				// And no less than can be told: one token more would be too fast,
				// or there is none.
				if more := big.NewRat(r+1, w*int64(time.Second)); r < int64(d.Remaining()) && more.Cmp(rate) <= 0 {
					t.Fatalf("%v: r=%d;t=%d, could be more", limit, r, w)
				}
				continue
			}
			granted++
			if r > 0 {
				// Nor longer than it has to be.
				if r == int64(d.Remaining()) && w > 1 && big.NewRat(r, (w-1)*int64(time.Second)).Cmp(rate) <= 0 {
					t.Fatalf("%v: r=%d;t=%d, could be sooner", limit, r, w)
				}
				continue
			}
			empty++
			// Within t there is no token: one second less, at the least, and a step.
			if wait := l.Peek(1).RetryAfter(); wait > 0 && time.Duration(w-1)*s >= wait+step {
				t.Fatalf("%v: r=0;t=%d with a token after %v", limit, w, wait)
			}
		}
	}
	if granted < 10_000 || refused < 10_000 || lowered < 1000 || empty < 1000 {
		t.Errorf("%d granted, %d refused, %d lowered, %d empty: some are too few", granted, refused, lowered, empty)
	}
}

// TestFieldsAtTheEdges: decisions that no Take makes.
func TestFieldsAtTheEdges(t *testing.T) {
	at := func(l *gcra.Limit) gcra.Instant { return gcra.At(l, 0) }
	years := gcra.Per(1, 9*365*24*time.Hour).Burst(100)
	second := gcra.PerSecond(1).Burst(5)
	_, debt := gcra.Debit(&second, at(&second).Tick, at(&second), 9, 5)
	third := gcra.Per(3, 3*s+1).Burst(2)
	_, one := gcra.Take(&third, at(&third).Tick, at(&third), 1)
	_, owed := gcra.Take(&years, at(&years).Tick, at(&years), 1)
	for _, row := range []struct {
		d    gcra.Decision
		l    *gcra.Limit
		r, t int64
		why  string
	}{
		{debt, &second, 0, 1, "in debt: not before an interval"},
		{one, &third, 1, 2, "a third of a nanosecond more than a second"},
		{owed, &years, 32, 9223372037, "99 tokens take longer than a time.Duration: fewer are told"},
		{gcra.Decision{}, new(gcra.Limit), 0, never, "nothing granted by nothing"},
	} {
		if r, w := available(row.d, row.l); r != row.r || w != row.t {
			t.Errorf("r=%d;t=%d, want r=%d;t=%d: %s", r, w, row.r, row.t, row.why)
		}
	}
	for _, row := range []struct {
		d    time.Duration
		want int64
	}{{0, 1}, {1, 1}, {s, 1}, {s + 1, 2}, {math.MaxInt64, 9223372037}, {-5, 1}} {
		if got := seconds(row.d); got != row.want {
			t.Errorf("seconds(%d) = %d, want %d", row.d, got, row.want)
		}
	}
}

// TestEpochRoundsUp: the bucket is full at the Unix time that is told, and not
// a second before.
func TestEpochRoundsUp(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		at := time.Unix(1_800_000_000, rnd.Int64N(3)*rnd.Int64N(5e8))
		limit := gcra.Every(time.Duration(1 + rnd.Int64N(3e9)*rnd.Int64N(2)))
		_, d := gcra.Take(&limit, 1, gcra.At(&limit, 0), rnd.IntN(2))
		m := &middleware{}
		WithXRateLimit(func() time.Time { return at })(&m.config)
		h := http.Header{}
		m.tellOlder(h, d, &limit)
		reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		full := at.Add(d.ResetAfter())
		if told := time.Unix(reset, 0); told.Before(full) || !told.Add(-s).Before(full) {
			t.Fatalf("full at %d.%09d, told %d", full.Unix(), full.Nanosecond(), reset)
		}
	}
}
