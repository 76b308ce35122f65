package main

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/shard"
)

// A small flood of each kind, which has to prove itself.
func TestInFlood(t *testing.T) {
	cfg := small(t)
	for _, f := range floods() {
		points, err := inFlood(cfg, f)
		if err != nil {
			t.Errorf("%s: %v", f.lib, err)
		}
		var groups []string
		for _, p := range points {
			groups = append(groups, p.group)
			p50, p99, longest, asked, flood := p.more[0], p.more[1], p.more[2], p.more[3], p.more[4]
			if p50 <= 0 || p50 > p99 || p99 > p.value || p.value > longest || asked <= 0 {
				t.Errorf("%s: %s: p99.9 %v and %v", f.lib, p.group, p.value, p.more)
			}
			if before := strings.HasSuffix(p.group, " before"); before != (flood == 0) {
				t.Errorf("%s: %s: %v thousand new keys a second", f.lib, p.group, flood)
			}
			if strings.Contains(p.group, "=200k/s") && flood > 201 {
				t.Errorf("%s: %s: %v thousand new keys a second", f.lib, p.group, flood)
			}
		}
		if len(points) != 6 || len(slices.Compact(slices.Sorted(slices.Values(groups)))) != 6 {
			t.Errorf("%s: groups %q, want six", f.lib, groups)
		}
	}
}

// A limiter that loses honest keys to the flood, or does not get new ones, is
// found out.
func TestInFloodRejects(t *testing.T) {
	honestly := floods()[slices.IndexFunc(floods(), func(f flooded) bool { return f.lib == "weir-refuse" })]
	for _, row := range []struct {
		text  string
		spoil func(*target) func(uint64) bool
		want  string
	}{
		{"a decision takes nothing", func(i *target) func(uint64) bool {
			var asks atomic.Int64
			allow := i.allow
			return func(key uint64) bool {
				if key < 1<<63 && asks.Add(1)%1501 == 0 {
					return true // nothing is taken
				}
				return allow(key)
			}
		}, "balance: "},
		{"the flood has a key that is there", func(i *target) func(uint64) bool {
			allow := i.allow
			return func(key uint64) bool {
				if key >= 1<<63 && i.stats().Capped > 1000 {
					key = uintKey(0) >> 1
				}
				return allow(key)
			}
		}, "flood: "},
		{"new keys are granted", func(i *target) func(uint64) bool {
			allow := i.allow
			return func(key uint64) bool { return allow(key) || i.stats().Capped > 1000 }
		}, "flood: "},
	} {
		f := honestly
		f.open = func(keys int) target {
			i := honestly.open(keys)
			inner := i
			i.allow = row.spoil(&inner)
			return i
		}
		if _, err := inFlood(small(t), f); err == nil || !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.text, err, row.want)
		}
	}
}

func TestFloodProof(t *testing.T) {
	refuses, admits, grows := flooded{capped: true}, flooded{capped: true, admits: true}, flooded{}
	for _, row := range []struct {
		text          string
		f             flooded
		after         shard.Stats
		keys, granted int
		ok            bool
	}{
		{"all turned away", refuses, shard.Stats{Capped: 100}, 100, 0, true},
		{"some kept", refuses, shard.Stats{Capped: 97, Keys: 3}, 100, 3, true},
		{"one was not new", refuses, shard.Stats{Capped: 99}, 100, 0, false},
		{"one was forgotten", refuses, shard.Stats{Capped: 99, Keys: 1, Forgotten: 1}, 100, 1, false},
		{"one too many was granted", refuses, shard.Stats{Capped: 100}, 100, 1, false},
		{"there was room", refuses, shard.Stats{Keys: 100}, 100, 100, false},
		{"all admitted", admits, shard.Stats{Capped: 97, Keys: 3}, 100, 100, true},
		{"one not", admits, shard.Stats{Capped: 97, Keys: 3}, 100, 99, false},
		{"all kept", grows, shard.Stats{Keys: 100}, 100, 100, true},
		{"one not kept", grows, shard.Stats{Keys: 99, Capped: 1}, 100, 99, false},
	} {
		if err := row.f.proof(shard.Stats{}, row.after, &flow{keys: row.keys, granted: row.granted}); (err == nil) != row.ok {
			t.Errorf("%s: %v", row.text, err)
		}
	}
}

func TestLatencies(t *testing.T) {
	var l latencies
	for range 2 { // the second after clear
		l.clear()
		for n := range 2000 {
			l.add(time.Duration(n+1) * 10 * time.Nanosecond) // the last ones beyond fine
		}
		for _, row := range []struct {
			perMille int
			want     float64
		}{{1, 20}, {500, 10_000}, {990, 19_800}, {999, 19_980}, {1000, 20_000}} {
			if got := l.quantile(row.perMille); got != row.want {
				t.Errorf("quantile %d is %v, want %v", row.perMille, got, row.want)
			}
		}
	}
	l.clear()
	l.add(7)
	if got := l.quantile(1) + l.quantile(1000); got != 14 {
		t.Errorf("of one: %v", got)
	}
}
