package atomic_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// checkWindows checks law L1 over tokens by slot: by the bucket that they
// would have been taken from one after the other, in tokens times the period,
// which is whole numbers.
func checkWindows(t *testing.T, limit gcra.Limit, tokens map[time.Duration]int) {
	t.Helper()
	n, period := limit.Rate()
	full := int64(limit.Capacity()) * int64(period)
	level, last, sum := full, time.Duration(0), 0
	for _, at := range slices.Sorted(maps.Keys(tokens)) {
		level = min(level+int64(at-last)*int64(n), full)
		level -= int64(tokens[at]) * int64(period)
		last = at
		if sum += tokens[at]; level < 0 {
			t.Fatalf("more than %v allows: %d tokens up to %v, %d of them there", limit, sum, at, tokens[at])
		}
	}
	if sum == 0 {
		t.Fatal("nothing was granted, so nothing is proved")
	}
}
