package ring

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// shares counts the slots of each node.
func shares(r *Ring) []int {
	held := make([]int, len(r.nodes))
	for _, n := range r.owner {
		held[n]++
	}
	return held
}

// Slots can be counted exactly. Every live node has its share of them, rounded down or up, whoever is out.
func TestEven(t *testing.T) {
	t.Parallel()
	clumped := append(addresses(8), "node-30331", "node-144034") // Maglev walks the table for them in steps of 1 and -1
	for _, row := range []struct {
		nodes   []string
		out     []int
		percent float64
		why     string
	}{
		{addresses(1), []int{0}, 0, "all for one"},
		{addresses(2), []int{0, 1}, 0.001, ""},
		{addresses(3), []int{0, 1, 2}, 0.003, "a small cluster"},
		{addresses(10), []int{0, 1, 5, 9}, 0.007, ""},
		{addresses(100), []int{0, 1, 2, 10, 50, 90, 98, 99}, 0.08, "the promise of 1 % at 100 nodes, and better"},
		{addresses(MaxNodes), []int{0, 1, 655, MaxNodes - 1}, 1, "as many nodes as there may be"},
		{clumped, []int{0, 1, 5, 8, 9}, 0.01, "nodes whose slots lie close together"},
	} {
		full := of(t, row.nodes...)
		for _, out := range row.out {
			r := without(t, full, row.nodes[:out]...)
			live := len(row.nodes) - out
			fair := float64(size) / float64(live)
			worst := 0.0
			for i, held := range shares(r) {
				if slices.Contains(row.nodes[:out], r.nodes[i]) {
					if held != 0 {
						t.Errorf("%s is out and owns %d slots", r.nodes[i], held)
					}
					continue
				}
				if held != size/live && held != size/live+1 {
					t.Errorf("%d of %d nodes out: %s owns %d slots, fair is %.2f: %s",
						out, len(row.nodes), r.nodes[i], held, fair, row.why)
				}
				worst = max(worst, math.Abs(float64(held)/fair-1)*100)
			}
			if worst > row.percent {
				t.Errorf("%d of %d nodes out: %.4f %% from fair, want at most %v: %s",
					out, len(row.nodes), worst, row.percent, row.why)
			}
		}
	}
}

// What the slots are worth depends on the hash: keys as users have them must fall on the nodes as if by chance. The
// sum of squares is within six of its standard deviations of what chance gives; nothing here varies between runs.
func TestKeysSpread(t *testing.T) {
	t.Parallel()
	const nodes = 100
	keys := 100_000
	if underRace() {
		keys /= 5
	}
	full := of(t, addresses(nodes)...)
	half := without(t, full, full.Nodes()[:nodes/2]...)
	for _, row := range []struct {
		owner func(r *Ring, i int) string
		why   string
	}{
		{func(r *Ring, i int) string { return r.Owner(fmt.Sprintf("user-%d", i)) }, "numbered users"},
		{func(r *Ring, i int) string { return r.Owner(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)) }, "addresses"},
		{func(r *Ring, i int) string { return r.Owner(fmt.Sprintf("%d/orders", i)) }, "a common end"},
		{func(r *Ring, i int) string { return r.Owner(string([]byte{byte(i), byte(i >> 8), byte(i >> 16)})) }, "three bytes"},
		{func(r *Ring, i int) string { return r.OwnerHash(uint64(i)) }, "integers as they are"},
		{func(r *Ring, i int) string { return r.OwnerHash(uint64(i) << 40) }, "high bits only"},
		{func(r *Ring, i int) string { return r.OwnerHash(uint64(i) * size) }, "multiples of the table's size"},
	} {
		for _, r := range []*Ring{full, half} {
			count := map[string]int{}
			for i := range keys {
				count[row.owner(r, i)]++
			}
			live := len(r.Nodes())
			fair, sum := float64(keys)/float64(live), 0.0
			for _, n := range r.Nodes() {
				d := float64(count[n]) - fair
				sum += d * d / fair
			}
			if limit := float64(live-1) + 6*math.Sqrt(2*float64(live-1)); sum > limit {
				t.Errorf("%d live nodes: chi-square is %.0f, want at most %.0f: %s", live, sum, limit, row.why)
			}
		}
	}
}
