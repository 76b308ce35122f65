package exact

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

func TestSpec(t *testing.T) {
	const day = 24 * time.Hour
	for _, row := range []struct {
		text string
		want Spec
		why  string
	}{
		{"100/s burst 20", Spec{N: 100, Period: time.Second, Burst: 20, Start: 20}, "starts full"},
		{"5000/h", Spec{N: 5000, Period: time.Hour, Burst: 1, Start: 1}, "burst 1"},
		{"6/3s burst 10 step 3s start 0", Spec{N: 6, Period: 3 * time.Second, Burst: 10, Step: 3 * time.Second}, "all words"},
		{"0/s burst 100", Spec{Period: time.Second, Burst: 100, Start: 100}, "never refills"},
		{"1/1h30m", Spec{N: 1, Period: 90 * time.Minute, Burst: 1, Start: 1}, "a compound period"},
		{"1/7d burst 2 step 1d", Spec{N: 1, Period: 7 * day, Burst: 2, Start: 2, Step: day}, "days"},
		{"3/m", Spec{N: 3, Period: time.Minute, Burst: 1, Start: 1}, "a minute is no million"},
		{"3/ms", Spec{N: 3, Period: time.Millisecond, Burst: 1, Start: 1}, "nor a millisecond a minute"},
		{"3/us step 5ns", Spec{N: 3, Period: time.Microsecond, Burst: 1, Start: 1, Step: 5}, "microseconds, printed with a µ"},
		{"3/d", Spec{N: 3, Period: day, Burst: 1, Start: 1}, "a day"},
		{"unlimited", Spec{Unlimited: true}, "no bucket"},
		{"none", Spec{Period: time.Second}, "an empty one"},
	} {
		l, err := gcra.Parse(row.text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := SpecOf(l); err != nil || got != row.want {
			t.Errorf("%s: %+v, %v, want %+v: %s", row.text, got, err, row.want, row.why)
		}
	}
}

// TestModel has answers that were worked out by hand.
func TestModel(t *testing.T) {
	const ms, s = int64(time.Millisecond), int64(time.Second)
	type ask struct {
		at   int64
		n    int
		want Answer
		why  string
	}
	limited, exceeds, cost := gcra.ErrLimited, gcra.ErrExceedsBurst, gcra.ErrCost
	for _, row := range []struct {
		limit string
		born  int64
		asks  []ask
	}{
		{"3/s burst 3 start 0", 0, []ask{
			{0, 1, Answer{0, 0, 333333334, time.Second, limited}, "a third of a second, rounded up"},
			{333 * ms, 1, Answer{0, 0, 333334, 667 * time.Millisecond, limited}, "not yet"},
			{334 * ms, 1, Answer{1, 0, 0, 999333334, nil}, "the first"},
			{1000 * ms, 2, Answer{2, 0, 0, time.Second, nil}, "the third at 1000, not 1001"},
		}},
		{"6/3s burst 10 step 3s", 1 * s, []ask{
			{1 * s, 3, Answer{3, 7, 0, 2 * time.Second, nil}, "full"},
			{2 * s, 5, Answer{5, 2, 0, 4 * time.Second, nil}, "eight of ten are gone"},
			{3 * s, 7, Answer{7, 1, 0, 6 * time.Second, nil}, "six came at second 3"},
			{4 * s, 9, Answer{0, 1, 5 * time.Second, 5 * time.Second, limited}, "second 9 brings the tokens for nine"},
			{4 * s, 1, Answer{1, 0, 0, 5 * time.Second, nil}, "one is left"},
		}},
		{"1/s burst 2", -5 * s, []ask{
			{-5 * s, 2, Answer{2, 0, 0, 2 * time.Second, nil}, "before the epoch"},
			{-4 * s, 1, Answer{1, 0, 0, 2 * time.Second, nil}, "a second later"},
			{-4*s + 1, 1, Answer{0, 0, time.Second - 1, 2*time.Second - 1, limited}, "and a nanosecond"},
		}},
		{"1/3s burst 1 step 3s", -5 * s, []ask{
			{-5 * s, 1, Answer{1, 0, 0, 2 * time.Second, nil}, "born at -6"},
			{-4 * s, 1, Answer{0, 0, time.Second, time.Second, limited}, "-3 is the next multiple"},
			{-3 * s, 1, Answer{1, 0, 0, 3 * time.Second, nil}, "and brings the token"},
		}},
		{"0/s burst 2", 0, []ask{
			{0, 1, Answer{1, 1, 0, gcra.Never, nil}, "an allowance"},
			{1e18, 2, Answer{0, 1, gcra.Never, gcra.Never, limited}, "does not come back"},
			{1e18, 3, Answer{0, 1, gcra.Never, gcra.Never, exceeds}, "too large"},
			{1e18, -3, Answer{0, 1, gcra.Never, gcra.Never, cost}, "no refund"},
			{1e18, 0, Answer{0, 1, 0, gcra.Never, nil}, "nothing is granted"},
		}},
		{"none", 0, []ask{
			{0, 0, Answer{0, 0, 0, 0, nil}, "nothing of nothing"},
			{0, 1, Answer{0, 0, gcra.Never, 0, exceeds}, "too large"},
		}},
		{"unlimited", 0, []ask{
			{0, math.MaxInt, Answer{math.MaxInt, math.MaxInt, 0, 0, nil}, "everything"},
			{0, -1, Answer{0, math.MaxInt, gcra.Never, 0, cost}, "except this"},
		}},
	} {
		l, err := gcra.Parse(row.limit)
		if err != nil {
			t.Fatal(err)
		}
		s, err := SpecOf(l)
		if err != nil {
			t.Fatal(err)
		}
		m := New(s, row.born)
		for _, a := range row.asks {
			if got := m.Take("k", a.at, a.n); got != a.want {
				t.Errorf("%s: %d tokens at %d: %v, want %v: %s", row.limit, a.n, a.at, got, a.want, a.why)
			}
		}
	}
}

// A recorded clock reads what it is set to, before the epoch too.
type recorded int64

func (r *recorded) Now() time.Duration { return time.Duration(*r) }

// TestModelAgrees plays random histories, of times before the epoch and to the end of the range too, of bad costs, and with
// keys that are forgotten.
func TestModelAgrees(t *testing.T) {
	limits := []string{
		"1/s burst 1", "3/s burst 5", "99/s burst 99 start 7", "100000/m burst 20000", "7/d burst 3", "0/s burst 4", "unlimited", "none",
		"6/3s burst 10 step 3s start 0", "999999937/s burst 1000", "5/7ns burst 2", "50/ns burst 60", "33/ns burst 3 step 5ns",
		"13/11us burst 4 step 17us", "9990000000/s burst 65536", "7/d burst 1152921504606846976", "1/80000h burst 2",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, text := range limits {
		l, err := gcra.Parse(text)
		if err != nil {
			if strconv.IntSize == 32 {
				continue
			}
			t.Fatal(err)
		}
		s, err := SpecOf(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, born := range []int64{0, 1, -12345678901, 1767600000e9, math.MinInt64, math.MinInt64 + 7, math.MaxInt64 - 1e9} {
			clk := recorded(born)
			limiter, m := shard.New[string](l, shard.WithClock(&clk)), New(s, born)
			for i := range 400 {
				if step := r.Int64N(1 << (r.Uint64N(62) + 1)); step < math.MaxInt64-max(int64(clk), 0) && r.IntN(3) > 0 {
					if i < 350 {
						step >>= 25 // so that the range is not used up at once
					}
					clk += recorded(step)
				}
				n := r.IntN(4)
				switch r.IntN(8) {
				case 0:
					n = -n
				case 1:
					n = r.IntN(min(l.Capacity(), math.MaxInt-5)+5) - 1
				}
				key := string('a' + rune(r.IntN(3)))
				got, want := AnswerOf(limiter.Take(key, n)), m.Take(key, int64(clk), n)
				if got != want {
					t.Fatalf("%s, born at %d, request %d of %d at %d: %v, the model %v", text, born, i, n, clk, got, want)
				}
				if r.IntN(20) == 0 {
					limiter.Sweep()
				}
			}
		}
	}
}
