package main

import (
	"strings"
	"testing"
)

// always and never are instances that do not look at the key.
func always[K comparable]() *instance[K] {
	return &instance[K]{allow: func(K) bool { return true }}
}

func never[K comparable]() *instance[K] {
	return &instance[K]{allow: func(K) bool { return false }}
}

// orderOf asks about these keys, which have the numbers of where they stand.
func orderOf(keys ...string) order[string] {
	return newOrder(kind[string]{"twin", func([]uint32) []string { return keys }}, first(len(keys)))
}

func setOf(orders ...order[string]) keyset[string] {
	return keyset[string]{asked: map[dist][]order[string]{uniform: orders}}
}

func TestCheck(t *testing.T) {
	good := newKeyset(stringKeys(), 8, 2, uniform)
	all := good.claims[uniform]
	with := func(c claim, m mix, lost ...uint32) claim {
		c.mix, c.lost = m, map[uint32]bool{}
		for _, number := range lost {
			c.lost[number] = true
		}
		return c
	}
	// What the well-known benchmark does: the keys come out of a map that
	// nobody has made.
	var names map[int]string
	looked := make([]string, 8)
	for i := range looked {
		looked[i] = names[i]
	}
	number := func(key string) int { return int(key[len(key)-1] - '0') }
	even := &instance[string]{allow: func(key string) bool { return number(key)%2 == 0 }}
	but3 := &instance[string]{allow: func(key string) bool { return number(key) != 3 }}
	only3 := &instance[string]{allow: func(key string) bool { return number(key) == 3 }}
	inBatches := &instance[string]{many: func(keys []string, ok []bool) {
		for i := range keys {
			ok[i] = true
		}
	}}
	halfBatches := &instance[string]{many: func(keys []string, ok []bool) {
		for i := range keys {
			ok[i] = i%2 == 0
		}
	}}
	for _, row := range []struct {
		set   keyset[string]
		claim claim
		of    *instance[string]
		asks  int
		want  string
		why   string
	}{
		{good, with(all, granted), always[string](), 20, "", "all granted"},
		{good, with(all, refused), never[string](), 20, "", "all refused"},
		{good, with(all, mixed), even, 20, "", "every second granted"},
		{good, with(all, mixed), even, 13, "", "every second granted, wherever the walk begins"},
		{good, with(all, granted), inBatches, 20, "", "all granted in batches"},
		{good, with(all, granted, 3), but3, 20, "", "granted, but for a key without room"},
		{good, with(all, granted, 3), always[string](), 20, "share", "a key without room is granted"},
		{good, with(all, granted), halfBatches, 20, "share", "half of each batch refused"},
		{good, with(all, granted), never[string](), 20, "share", "refused where all is granted"},
		{good, with(all, refused), always[string](), 20, "share", "granted where all is refused"},
		{good, with(all, mixed), always[string](), 20, "share", "granted where half is refused"},
		{good, with(all, mixed), never[string](), 20, "share", "refused where half is granted"},
		{good, with(all, mixed), but3, 20, "share", "the wrong half"},
		{good, with(all, granted), but3, 20, "share", "one key in eight refused"},
		{good, with(all, refused), only3, 20, "share", "one key in eight granted"},
		{good, with(all, granted), always[string](), 3, "diversity", "not enough was asked"},
		{good, with(uniform.claim(9), granted), always[string](), 20, "diversity", "fewer keys than claimed"},
		{setOf(orderOf(good.stored...), orderOf("a", "a", "a", "a", "a", "a", "a", "a")), with(all, granted), always[string](), 20,
			"diversity", "one goroutine asks about one key only"},
		{setOf(orderOf(looked...), orderOf(looked...)), with(all, granted), always[string](), 20,
			"diversity: goroutine 1 of 2 has 1 different keys", "keys looked up in a nil map"},
		{setOf(orderOf(good.stored[:7]...), orderOf(good.stored[:7]...)), with(all, granted), always[string](), 20,
			"diversity", "a key is missing"},
		{setOf(orderOf(append(good.stored, good.stored[0])...), orderOf(good.stored...)), with(all, granted), always[string](), 20,
			"diversity", "a key comes twice before all have come"},
	} {
		walks := row.set.walks(uniform, 2)
		for _, w := range walks {
			w.run(row.of, 3) // of before: not what is claimed
			w.restart()
			w.run(row.of, row.asks)
		}
		_, err := check(row.claim, walks)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.HasPrefix(err.Error(), row.want)) {
			t.Errorf("got %v, want %q: %s", err, row.want, row.why)
		}
	}
}

// The model counts what it says, from wherever the walk is.
func TestModel(t *testing.T) {
	numbers := shuffled(10, 1)
	for _, m := range []mix{granted, refused, mixed} {
		for _, lost := range []map[uint32]bool{nil, {4: true, 7: true}} {
			c := claim{mix: m, lost: lost}
			for start := range numbers {
				want := 0
				for asks := range 35 {
					if got := c.model(numbers, start, asks); got != want {
						t.Fatalf("%s, lost %v, %d requests from %d: %d, want %d", m, lost, asks, start, got, want)
					}
					n := numbers[(start+asks)%len(numbers)]
					if (m == granted || m == mixed && n%2 == 0) && !lost[n] {
						want++
					}
				}
			}
		}
	}
}

func TestTouched(t *testing.T) {
	for _, row := range []struct {
		asks, want int
		batches    bool
		why        string
	}{
		{0, 0, false, "nothing yet"},
		{5, 5, false, "each once"},
		{8, 8, false, "all"},
		{20, 8, false, "all, and again"},
		{5, 5, true, "each once, at once"},
		{20, 8, true, "all, and again, batches end with the order"},
	} {
		seen := make(map[string]bool)
		of := &instance[string]{allow: func(key string) bool { seen[key] = true; return true }}
		if row.batches {
			of.many = func(keys []string, ok []bool) {
				for _, key := range keys {
					seen[key] = true
				}
			}
		}
		w := newKeyset(stringKeys(), 8, 1, uniform).walks(uniform, 1)
		w[0].run(of, 3)
		w[0].restart()
		clear(seen)
		w[0].run(of, row.asks)
		if got := touched(w); got != row.want || len(seen) != row.want || w[0].asks != row.asks {
			t.Errorf("touched %d, really %d, with %d requests, want %d: %s", got, len(seen), w[0].asks, row.want, row.why)
		}
	}
	// Together, not each.
	walks := newKeyset(stringKeys(), 100, 2, uniform).walks(uniform, 2)
	seen := make(map[string]bool)
	for _, w := range walks {
		w.run(&instance[string]{allow: func(key string) bool { seen[key] = true; return true }}, 30)
	}
	if got := touched(walks); got != len(seen) {
		t.Errorf("touched %d, really %d", got, len(seen))
	}
}

func TestAudit(t *testing.T) {
	good := newKeyset(stringKeys(), 100, 2, uniform, zipf)
	if good.audited != nil {
		t.Error(good.audited)
	}
	// Different numbers, one key.
	nameless := kind[string]{"twin", func(numbers []uint32) []string { return make([]string, len(numbers)) }}
	if set := newKeyset(nameless, 100, 2, uniform); set.audited == nil {
		t.Error("all keys are empty: no error")
	}
}
