package ring

import (
	"errors"
	"fmt"
	"math/big"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// addresses returns n node names as a cluster would have them.
func addresses(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("10.0.%d.%d:7000", i/256, i%256)
	}
	return names
}

// of returns New(nodes), which must succeed.
func of(t testing.TB, nodes ...string) *Ring {
	t.Helper()
	r, err := New(nodes)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// without returns r.Without(dead), which must succeed.
func without(t testing.TB, r *Ring, dead ...string) *Ring {
	t.Helper()
	less, err := r.Without(dead...)
	if err != nil {
		t.Fatal(err)
	}
	return less
}

// underRace reports whether the race detector is on. Looking at every slot is ten times as dear then, and in a test of
// one goroutine there is nothing to find, so the longest of those do less.
func underRace() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func TestNewErrors(t *testing.T) {
	for _, row := range []struct {
		nodes []string
		want  error
		text  string
		why   string
	}{
		{nil, ErrNoNodes, "", "nobody to own anything"},
		{[]string{}, ErrNoNodes, "", "the same"},
		{[]string{""}, ErrEmptyNode, "nodes[0]", "the only one"},
		{[]string{"b", "a", ""}, ErrEmptyNode, "nodes[2]", "the caller's index, not the sorted one"},
		{[]string{"", ""}, ErrEmptyNode, "nodes[0]", "empty comes before duplicate"},
		{[]string{"a", "a"}, ErrDuplicateNode, `"a"`, "adjacent"},
		{[]string{"b", "a", "c", "b"}, ErrDuplicateNode, `"b"`, "apart"},
		{[]string{"a\n", "a\n"}, ErrDuplicateNode, `"a\n"`, "quoted, for a log line"},
		{addresses(MaxNodes + 1), ErrTooManyNodes, "1311, at most 1310", "one too many"},
	} {
		r, err := New(row.nodes)
		if !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.text) || r != nil {
			t.Errorf("New(%d names) = %v, %v, want %v with %q: %s", len(row.nodes), r, err, row.want, row.text, row.why)
		}
	}
}

func TestWithoutErrors(t *testing.T) {
	full := of(t, "a", "b", "c")
	for _, row := range []struct {
		r    *Ring
		dead []string
		want error
		text string
		why  string
	}{
		{full, []string{"x"}, ErrUnknownNode, `"x"`, "never there"},
		{full, []string{"a", ""}, ErrUnknownNode, `""`, "no node is called so"},
		{full, []string{"A"}, ErrUnknownNode, `"A"`, "byte by byte"},
		{full, []string{"a", "b", "c", "x"}, ErrUnknownNode, `"x"`, "a wrong name hides behind nothing"},
		{full, []string{"c", "a", "b"}, ErrNoNodes, "all 3", "all dead, unsorted"},
		{full, []string{"a", "a", "b", "c", "b"}, ErrNoNodes, "all 3", "all dead, with repeats"},
		{without(t, full, "a"), []string{"c", "b"}, ErrNoNodes, "all 3", "all dead, in two steps"},
		{without(t, full, "a", "b"), []string{"c"}, ErrNoNodes, "all 3", "the last one"},
		{of(t, "a"), []string{"a"}, ErrNoNodes, "all 1", "the only one"},
	} {
		r, err := row.r.Without(row.dead...)
		if !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.text) || r != nil {
			t.Errorf("Without(%q) = %v, %v, want %v with %q: %s", row.dead, r, err, row.want, row.text, row.why)
		}
	}
}

func TestNodes(t *testing.T) {
	names := []string{"c", "a", "b"}
	full := of(t, names...)
	names[0] = "changed" // the slice was not kept
	for _, row := range []struct {
		dead []string
		want []string
		why  string
	}{
		{nil, []string{"a", "b", "c"}, "sorted"},
		{[]string{"b"}, []string{"a", "c"}, "one out"},
		{[]string{"c", "a"}, []string{"b"}, "one left"},
	} {
		less := without(t, full, row.dead...)
		got := less.Nodes()
		if !slices.Equal(got, row.want) {
			t.Errorf("without %q: Nodes() = %q, want %q: %s", row.dead, got, row.want, row.why)
		}
		got[0] = "changed" // a slice of its own
		if again := less.Nodes(); !slices.Equal(again, row.want) {
			t.Errorf("without %q: a change of what Nodes returned changed the ring: %q", row.dead, again)
		}
	}
}

// A ring is a set of names and a set of those who are out. No order, repeat or history shows.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	full := of(t, "a", "b", "c", "d", "e")
	if r := of(t, "d", "b", "e", "a", "c"); *r.owner != *full.owner {
		t.Error("the order of the names given to New shows")
	}
	want := without(t, full, "a", "c", "d")
	before := *full.owner
	for _, row := range []struct {
		got *Ring
		why string
	}{
		{without(t, full, "d", "a", "c"), "unsorted"},
		{without(t, full, "c", "c", "a", "d", "a"), "repeats"},
		{without(t, without(t, full, "d"), "c", "a"), "in two steps"},
		{without(t, without(t, without(t, full, "c"), "a"), "d"), "one by one"},
		{without(t, without(t, full, "a", "d"), "a", "c"), "one of them twice"},
		{without(t, of(t, "e", "d", "c", "b", "a"), "a", "c", "d"), "another ring of the same names"},
	} {
		if *row.got.owner != *want.owner || !slices.Equal(row.got.Nodes(), want.Nodes()) {
			t.Errorf("the ring without a, c, d differs: %s", row.why)
		}
	}
	if full.owner != full.home || *full.owner != before || len(full.Nodes()) != 5 {
		t.Error("Without changed its receiver")
	}
	if without(t, full) != full || without(t, want, "d", "a") != want {
		t.Error("Without of nobody new is not the ring itself")
	}
}

// With any other size New might not end.
func TestSizeIsPrime(t *testing.T) {
	if !big.NewInt(size).ProbablyPrime(0) { // exact below 2^64
		t.Errorf("%d is not prime", size)
	}
}

func TestOwnerDoesNotAllocate(t *testing.T) {
	r := without(t, of(t, addresses(10)...), addresses(3)...)
	key := strings.Repeat("k", 100)
	var hash uint64
	if n := testing.AllocsPerRun(100, func() {
		_ = r.Owner(key)
		_ = r.OwnerHash(hash)
		hash++
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func FuzzRing(f *testing.F) {
	f.Add("a,b,c", "b", "key", uint64(1))
	f.Add("a,b,c", "c,b,a,a", "", uint64(0))
	f.Add("a,b,a", "b", "key", uint64(size))
	f.Add("a,,c", "", "\xff", ^uint64(0))
	f.Add("10.0.0.1:7000", "10.0.0.1:7000", "192.0.2.1", uint64(1)<<63)
	known := []error{ErrNoNodes, ErrEmptyNode, ErrDuplicateNode, ErrUnknownNode, ErrTooManyNodes}
	refused := func(t *testing.T, err error) {
		if !slices.ContainsFunc(known, func(k error) bool { return errors.Is(err, k) }) {
			t.Fatalf("an error of no kind: %v", err)
		}
	}
	f.Fuzz(func(t *testing.T, nodes, dead, key string, hash uint64) {
		full, err := New(strings.Split(nodes, ","))
		if err != nil {
			refused(t, err)
			return
		}
		home, homeOfHash := full.Owner(key), full.OwnerHash(hash)
		if !slices.Contains(full.Nodes(), home) {
			t.Fatalf("%q is owned by %q, who is no node", key, home)
		}
		less, err := full.Without(strings.Split(dead, ",")...)
		if err != nil {
			refused(t, err)
			return
		}
		live := less.Nodes()
		for _, row := range []struct{ home, got string }{{home, less.Owner(key)}, {homeOfHash, less.OwnerHash(hash)}} {
			if !slices.Contains(live, row.got) {
				t.Errorf("owned by %q, who is out", row.got)
			}
			if row.got != row.home && slices.Contains(live, row.home) {
				t.Errorf("moved from %q, who is live, to %q", row.home, row.got)
			}
		}
		if full.Owner(key) != home || full.OwnerHash(hash) != homeOfHash {
			t.Error("Without changed its receiver")
		}
	})
}

func BenchmarkOwner(b *testing.B) {
	for _, length := range []int{8, 16, 40} {
		b.Run(fmt.Sprintf("nodes=100/keybytes=%d", length), func(b *testing.B) {
			r := of(b, addresses(100)...)
			keys := make([]string, 1<<14)
			seen := map[string]bool{}
			for i := range keys {
				keys[i] = fmt.Sprintf("%0*d", length, i)
				seen[r.Owner(keys[i])] = true
			}
			if len(seen) != 100 {
				b.Fatalf("the keys have %d owners, want all 100", len(seen))
			}
			b.ReportAllocs()
			n := 0
			for i := 0; b.Loop(); i++ {
				n += len(r.Owner(keys[i%len(keys)]))
			}
			if n == 0 {
				b.Fatal("no owner has a name")
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for _, n := range []int{3, 100, MaxNodes} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				of(b, addresses(n)...)
			}
		})
	}
}

func BenchmarkWithout(b *testing.B) {
	for _, row := range []struct{ nodes, out int }{{3, 1}, {100, 1}, {100, 50}, {MaxNodes, MaxNodes - 1}} {
		b.Run(fmt.Sprintf("nodes=%d/out=%d", row.nodes, row.out), func(b *testing.B) {
			full, dead := of(b, addresses(row.nodes)...), addresses(row.out)
			b.ReportAllocs()
			for b.Loop() {
				without(b, full, dead...)
			}
		})
	}
}
