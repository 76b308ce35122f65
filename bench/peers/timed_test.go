package main

import (
	"strings"
	"testing"
)

func TestTimedRejects(t *testing.T) {
	cfg := small(t)
	set := newKeyset(stringKeys(), 64, 2, uniform)
	asked := 0
	twin := func(i *instance[string], n int) subject[string] {
		return subject[string]{lib: "twin", open: func(limit, int) instance[string] {
			i.len = func() int { return n }
			return *i
		}}
	}
	// It asks a map that nobody has made for its key.
	var nobody map[string]string
	one := subject[string]{lib: "twin", open: func(l limit, keys int) instance[string] {
		i := openWeir[string]()(l, keys)
		allow := i.allow
		i.allow = func(key string) bool { return allow(nobody[key]) }
		return i
	}}
	deaf := subject[string]{lib: "twin", open: func(l limit, keys int) instance[string] {
		i := openWeir[string]()(l, keys)
		i.drain = func(string) {}
		return i
	}}
	for _, row := range []struct {
		twin subject[string]
		mix  mix
		want string
		why  string
	}{
		{twin(never[string](), 64), granted, "the first request", "refuses a new key"},
		{twin(always[string](), 1), granted, "remembers 1 keys of 64", "keeps one key"},
		{one, granted, "remembers 1 keys of 64", "looks its key up in a nil map"},
		{twin(always[string](), 64), refused, "share", "grants in the refused case"},
		{twin(always[string](), 64), mixed, "share", "grants in the mixed case"},
		{deaf, refused, "share", "is not emptied"},
		{twin(&instance[string]{allow: func(string) bool { asked++; return asked <= 1000 }}, 64), granted, "share", "its limit is too low"},
	} {
		asked = 0
		_, err := timed(cfg, row.twin, keysGranted(), set, []phase{{uniform, row.mix}})
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("got %v, want %q: %s", err, row.want, row.why)
		}
	}
}

// What timed reports is what it says of its requests.
func TestTimedProves(t *testing.T) {
	cfg := small(t, "-cpu", "1,2")
	set := newKeyset(stringKeys(), 64, 2, uniform)
	for _, s := range stringKeyed() {
		phases := []phase{{uniform, granted}}
		if s.drains() {
			phases = append(phases, phase{uniform, mixed}, phase{uniform, refused})
		}
		points, err := timed(cfg, s, keysGranted(), set, phases)
		if err != nil {
			t.Error(err)
			continue
		}
		for i, p := range points {
			share := []float64{100, 50, 0}[i/2]
			if p.value <= 0 || p.more[0] != 64 || p.more[1] < share-1 || p.more[1] > share+1 {
				t.Errorf("%s: %s: %v ns, %v keys, %v %% granted", s.lib, p.group, p.value, p.more[0], p.more[1])
			}
		}
	}
}
