package advise

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseRates(t *testing.T) {
	for _, row := range []struct{ in, want string }{
		{"10/s", "10/s"},
		{"2/s, 30/m,1/s", "30/m 1/s 2/s"},
		{"60/m,1/s", "60/m"},
		{"90/1m30s", "90/1m30s"},
		{"10/s burst 2", "error"}, {"0/s", "error"}, {"unlimited", "error"}, {"none", "error"}, {"", "error"}, {"10", "error"}, {"1/s,,2/s", "error"},
		{"1/s step 1s", "error"},
	} {
		all, err := ParseRates(row.in)
		var words []string
		for _, r := range all {
			words = append(words, r.String())
		}
		got := strings.Join(words, " ")
		if err != nil {
			got = "error"
		}
		if got != row.want {
			t.Errorf("%q: %s, %v, want %s", row.in, got, err, row.want)
		}
	}
}

// TestMaxKeys asks for more keys than are ever numbered, which are not fewer than the default.
func TestMaxKeys(t *testing.T) {
	for _, row := range []struct{ most, want int }{{0, DefaultKeys}, {-1, DefaultKeys}, {1, 1}, {math.MaxInt32, math.MaxInt32}, {math.MaxInt, math.MaxInt32}} {
		if got := New(Options{MaxKeys: row.most}).o.MaxKeys; got != row.want {
			t.Errorf("%d: %d, want %d", row.most, got, row.want)
		}
	}
}

func TestShare(t *testing.T) {
	for _, row := range []struct {
		in, text string
		of, want int64
	}{
		{"0.1%", "0.1%", 30969, 30}, {"0.001", "0.1%", 999, 0}, {"100%", "100%", 7, 7}, {"1", "100%", 7, 7}, {"0", "0%", 7, 0},
		{"12.5%", "12.5%", 8, 1}, {"0.000000001%", "0.000000001%", 1 << 62, 46116860}, {"33.3%", "33.3%", 1 << 62, 1535691444136320172},
	} {
		s, err := ParseShare(row.in)
		if err != nil || s.String() != row.text || s.of(row.of) != row.want {
			t.Errorf("%q: %v, %v, of %d: %d, want %d", row.in, s, err, row.of, s.of(row.of), row.want)
		}
	}
	for _, bad := range []string{"", "%", "-1%", "101%", "1.1", "x", "1e-3", ".5", "0.0000000001", "1 %%"} {
		if s, err := ParseShare(bad); err == nil {
			t.Errorf("%q: %v", bad, s)
		}
	}
}

func TestLadder(t *testing.T) {
	rat := func(r Rate) *big.Rat { return big.NewRat(r.N, int64(r.Period)) }
	for _, row := range []struct{ low, high Rate }{
		{Rate{1, 24 * time.Hour}, Rate{1e9, time.Second}},
		{Rate{364, 46321 * time.Second}, Rate{11, time.Second}},
		{Rate{7, time.Second}, Rate{7, time.Second}},
		{Rate{1, 9000 * time.Hour}, Rate{1, time.Second}},
		{Rate{1 << 62, time.Second}, Rate{1 << 62, time.Second}},
		{Rate{1, time.Second}, Rate{80, time.Second}},
		{Rate{2, time.Hour}, Rate{3, time.Minute}},
		{Rate{50, time.Hour}, Rate{4, time.Second}},
		{Rate{1000, time.Second}, Rate{1, time.Second}},
	} {
		all := ladder(row.low, row.high)
		if len(all) == 0 || len(all) > mostRates || !slices.IsSortedFunc(all, Rate.compare) {
			t.Errorf("%v to %v: %v", row.low, row.high, all)
			continue
		}
		if row.high.N < 1<<60 && rat(all[0]).Cmp(rat(row.low)) < 0 {
			t.Errorf("%v to %v begins at %v", row.low, row.high, all[0])
		}
		if row.high.N < 1<<60 && row.low.compare(row.high) <= 0 && rat(all[len(all)-1]).Cmp(rat(row.high)) < 0 {
			t.Errorf("%v to %v ends at %v", row.low, row.high, all[len(all)-1])
		}
		if len(all) < mostRates && all[0].compare(Rate{2, time.Hour}) >= 0 {
			for i, r := range all[1:] {
				if step := new(big.Rat).Quo(rat(r), rat(all[i])); step.Cmp(big.NewRat(11, 10)) < 0 || step.Cmp(big.NewRat(134, 100)) > 0 {
					t.Errorf("from %v to %v is a step of %s", all[i], r, step.FloatString(2))
				}
			}
		}
		for i, r := range all {
			if r.limit(1).Capacity() != 1 || i > 0 && all[i-1].compare(r) == 0 {
				t.Errorf("%v", all)
			}
		}
	}
}
