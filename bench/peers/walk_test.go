package main

import (
	"strings"
	"testing"
)

func always[K comparable](K) bool { return true }
func never[K comparable](K) bool  { return false }

func TestKeys(t *testing.T) {
	const n = 1000
	set := stringKeys(n, 2)
	stored := newOrder(set.stored)
	if stored.distinct != n {
		t.Errorf("%d keys stored, want %d", stored.distinct, n)
	}
	same := 0
	for g, o := range set.asked {
		if o.distinct != n {
			t.Errorf("goroutine %d asks about %d keys, want %d", g, o.distinct, n)
		}
		if newOrder(append(o.keys, set.stored...)).distinct != n {
			t.Errorf("goroutine %d asks about keys that are not stored", g)
		}
		for i, key := range o.keys {
			if len(key) != 16 {
				t.Fatalf("key %q has %d bytes, want 16", key, len(key))
			}
			if key == set.stored[i] || key == set.asked[0].keys[i] && g > 0 {
				same++
			}
		}
	}
	if same > n/10 {
		t.Errorf("%d keys stand where they stand in another order", same)
	}
	if got := newOrder(uintKeys(n)).distinct; got != n {
		t.Errorf("%d uint64 keys, want %d", got, n)
	}
}

func TestCheck(t *testing.T) {
	good := stringKeys(8, 2)
	lone := keyset[string]{asked: []order[string]{
		newOrder(good.stored), newOrder([]string{"a", "a", "a", "a", "a", "a", "a", "a"}),
	}}
	short := keyset[string]{asked: []order[string]{newOrder(good.stored[:7]), newOrder(good.stored[:7])}}
	for _, row := range []struct {
		set   keyset[string]
		claim claim
		allow func(string) bool
		want  string
		why   string
	}{
		{good, claim{8, true}, always[string], "", "all granted"},
		{good, claim{8, false}, never[string], "", "all refused"},
		{good, claim{8, true}, never[string], "share", "refused where all is granted"},
		{good, claim{8, false}, always[string], "share", "granted where all is refused"},
		{good, claim{8, true}, func(key string) bool { return key != good.stored[3] }, "share", "one key in eight refused"},
		{good, claim{8, false}, func(key string) bool { return key == good.stored[3] }, "share", "one key in eight granted"},
		{good, claim{9, true}, always[string], "diversity", "fewer keys than claimed"},
		{lone, claim{8, true}, always[string], "diversity", "one goroutine asks about one key only"},
		{short, claim{8, true}, always[string], "diversity", "a key is missing"},
	} {
		walks := row.set.walks(2)
		for _, w := range walks {
			w.run(row.allow, 20)
		}
		err := check(row.claim, walks)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.HasPrefix(err.Error(), row.want)) {
			t.Errorf("got %v, want %q: %s", err, row.want, row.why)
		}
	}
}

func TestTouched(t *testing.T) {
	for _, row := range []struct {
		asks, want int
		why        string
	}{
		{0, 0, "nothing yet"},
		{5, 5, "each once"},
		{8, 8, "all"},
		{20, 8, "all, and again"},
	} {
		seen := make(map[string]bool)
		w := stringKeys(8, 1).walks(1)
		w[0].run(func(key string) bool { seen[key] = true; return true }, row.asks)
		if got := touched(w); got != row.want || len(seen) != row.want {
			t.Errorf("touched %d, really %d, want %d: %s", got, len(seen), row.want, row.why)
		}
	}
}

func TestTimedRejects(t *testing.T) {
	cfg := small(t)
	set := stringKeys(64, 2)
	twin := func(allow func(string) bool, n int) subject[string] {
		return subject[string]{lib: "twin", open: func(limit) instance[string] {
			return instance[string]{allow: allow, len: func() int { return n }}
		}}
	}
	asked := 0
	for _, row := range []struct {
		twin  subject[string]
		claim claim
		want  string
		why   string
	}{
		{twin(never, 64), claim{64, true}, "the first request", "refuses a new key"},
		{twin(always, 1), claim{64, true}, "remembered", "keeps one key"},
		{twin(always, 64), claim{64, false}, "share", "grants in the refused case"},
		{twin(func(string) bool { asked++; return asked <= 1000 }, 64), claim{64, true}, "share", "its limit is too low"},
		{twin(always, 64), claim{65, true}, "diversity", "fewer keys than the name says"},
	} {
		asked = 0
		_, err := timed(cfg, row.twin, limit{}, row.claim, set)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("got %v, want %q: %s", err, row.want, row.why)
		}
	}
}
