package trace

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestCost(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int
		err  string
		why  string
	}{
		{"", 1, "", "empty is the default"},
		{"0", 0, "", "kept"},
		{"-7", -7, "", "kept: the limit answers ErrCost"},
		{"+7", 7, "", "a sign"},
		{strconv.Itoa(math.MaxInt), math.MaxInt, "", "the largest int of this platform"},
		{strconv.Itoa(math.MinInt), math.MinInt, "", "the smallest"},
		{strconv.FormatUint(math.MaxInt+1, 10), 0, "-bit", "one more"},
		{strings.Repeat("9", 99), 0, "...", "far more, shortened"},
		{"1.0", 0, "not an integer", "a point"},
		{"1e3", 0, "not an integer", "an exponent"},
		{"0x1", 0, "not an integer", "hexadecimal"},
		{"-", 0, "not an integer", "a log's word for none is not CSV's"},
	} {
		got, err := parseCost([]byte(c.in))
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q = %d, %v; want %d, %q", c.why, c.in, got, err, c.want, c.err)
		}
	}
}
