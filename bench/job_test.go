package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

func small(limit string, more ...string) []string {
	return append([]string{"-keys", "2000", "-duration", "50ms", "-limit", limit}, more...)
}

func TestJob(t *testing.T) {
	for _, row := range []struct{ limit, why string }{
		{"2/s burst 20", "the default: refills little in this time"},
		{"1000/s burst 20", "keys are full again and again, and forgotten"},
		{"1000/s burst 1", "no burst"},
		{"7/s burst 3", "a burst that the first request empties"},
		{"0/s burst 5", "never refills"},
		{"100/s burst 20 start 5", "starts with a part"},
		{"100/s burst 20 start 0", "first requests are refused"},
		{"6/3s burst 10 step 3s start 0", "a step longer than the run"},
		{"50/10ms burst 70 step 10ms", "several steps"},
		{"999999937/s burst 100", "readings are rounded"},
		{"1/ns burst 1", "the finest refill"},
		{"7/d burst 1152921504606846976", "a tick is a token; a burst larger than a first request"},
		{"unlimited", "keys have no cells"},
		{"none", "everything is refused"},
	} {
		if _, err := gcra.Parse(row.limit); err != nil && strconv.IntSize == 32 {
			continue // a count beyond this platform's int
		}
		got := weir().try(small(row.limit, "-json")...)
		if got.code != sound {
			t.Errorf("%s: %+v: %s", row.limit, got, row.why)
			continue
		}
		doc := got.document(t)
		if lost := missing(doc, "command", "limit", "keys", "decisions_per_second", "latency_ns", "granted", "refused", "permitted",
			"bytes_per_key", "longest_insert_pause_ns", "violations", "hot_key_decisions_per_second", "machine_pause_ns", "go", "cpu", "cores"); len(lost) > 0 {
			t.Fatalf("%s: no %q in %s", row.limit, lost, got.out)
		}
		var r jobReport
		if err := json.Unmarshal([]byte(got.out), &r); err != nil {
			t.Fatal(err)
		}
		if r.Keys != 2000 || r.Decisions < 1 || r.DecisionsPerSecond < 1 || r.Seconds < .05 || len(r.Violations) != 0 ||
			r.Granted+r.Refused < r.Decisions || r.Permitted != nil && r.Granted > *r.Permitted {
			t.Errorf("%s: %s: %s", row.limit, got.out, row.why)
		}
		fine := int64(1)
		if r.Counter != "TSC" {
			fine = 0 // a clock may be too coarse for one decision
		}
		if l := r.Latency; l.P50 < fine || l.P50 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max || l.Samples < 1 || r.LongestInsert < fine {
			t.Errorf("%s: %+v, %d", row.limit, l, r.LongestInsert)
		}
		if (r.Permitted == nil) != (row.limit == "unlimited") || (r.BytesPerKey == nil) != (r.Remembered == 0) {
			t.Errorf("%s: %s", row.limit, got.out)
		}
	}
}

func TestJobText(t *testing.T) {
	got := weir().try(small("2/s burst 20")...)
	if got.code != sound || !strings.Contains(got.errors, "auditing 2 000 keys\n") {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{"decisions/s", "latency p50", "p99 ", "p99.9", "max", "that L1 permits", "tokens refused",
		"bytes per key", "longest insert", "hold", "go run ./bench -keys 2000 -duration 50ms -limit '2/s burst 20', go1."} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s", want, got.out)
		}
	}
	for line := range strings.Lines(got.out) {
		if strings.HasSuffix(line, " \n") {
			t.Errorf("%q ends in blanks", line)
		}
	}
}

// TestJobFewKeys has less keys than a block, or not a whole number of blocks.
func TestJobFewKeys(t *testing.T) {
	for _, keys := range []string{"1", "1023", "1024", "1025"} {
		if got := weir().try("-keys", keys, "-duration", "5ms"); got.code != sound {
			t.Errorf("-keys %s: %+v", keys, got)
		}
	}
	if got := weir().try("-keys", "1", "-duration", "1ns", "-json"); got.code != sound || got.document(t)["keys"] == nil {
		t.Errorf("no time to decide: %+v", got)
	}
}

// A lawless limiter breaks one law. Each does it so plainly that one later request shows it, however slow the machine is.
type lawless struct {
	*shard.Limiter[uint64]
	take func(l *shard.Limiter[uint64], key uint64, n int) gcra.Decision
	gone int    // keys that are missing in Len
	mute uint64 // the key that is never granted anything after its first request, nor has anything left
}

func (l *lawless) Take(key uint64, n int) gcra.Decision {
	if key == l.mute && n == 1 {
		return gcra.Refuse(&gcra.Limit{}, gcra.Instant{}, n)
	}
	return l.take(l.Limiter, key, n)
}

func (l *lawless) Peek(key uint64, n int) gcra.Decision {
	if key == l.mute {
		return gcra.Decision{}
	}
	return l.Limiter.Peek(key, n)
}

func (l *lawless) Len() int { return l.Limiter.Len() - l.gone }

func TestJobFindsBrokenLaws(t *testing.T) {
	const nobody = 1 << 63
	honest := (*shard.Limiter[uint64]).Take
	var once atomic.Bool
	for _, row := range []struct {
		limit string
		bad   lawless
		law   string
		why   string
	}{
		{"1/h burst 20", lawless{mute: nobody, take: func(l *shard.Limiter[uint64], key uint64, n int) gcra.Decision {
			l.Take(key, n)
			return gcra.Decision{}
		}}, "L1 window: broken for", "grants everything"},
		{"1/h burst 20", lawless{mute: nobody, take: func(l *shard.Limiter[uint64], key uint64, n int) gcra.Decision {
			if d := l.Take(key, n); d.OK() || once.Swap(true) {
				return d
			}
			return gcra.Decision{}
		}}, "conservation, tokens invented: broken for 1 of", "grants one token too many, to one key, once"},
		{"1/h burst 10000000", lawless{mute: nobody, take: func(l *shard.Limiter[uint64], key uint64, n int) gcra.Decision {
			d := l.Take(key, n)
			l.TakeUpTo(key, 10_000_000)
			return d
		}}, "conservation, tokens lost: broken for 2 000 of", "takes more than it grants"},
		{"2/s burst 20", lawless{mute: nobody, take: func(l *shard.Limiter[uint64], key uint64, n int) gcra.Decision {
			// As if the swap had failed and nobody had looked: once, for the hot key only.
			if l.Limit().Capacity() == 1_000_000_000 && n == 1 && !once.Swap(true) {
				return gcra.Decision{}
			}
			return l.Take(key, n)
		}}, "hot key: conservation, tokens invented: broken for 1 of 1 keys", "loses one charge on the hot key"},
		{"1000/s burst 100000", lawless{mute: 1234, take: honest}, "conservation, tokens lost: broken for 1 of", "starves one key"},
		{"1/h burst 20", lawless{mute: nobody, take: func(l *shard.Limiter[uint64], key uint64, n int) gcra.Decision {
			if key == 3 && n > 1 {
				n = 21
			}
			return l.Take(key, n)
		}}, "presence: 1 of", "refuses one first request"},
		{"1/h burst 20", lawless{mute: nobody, take: honest, gone: 1}, "presence: 2 000 keys owe time and 1 999", "forgets a key that owes time"},
		{"unlimited", lawless{mute: nobody, take: func(l *shard.Limiter[uint64], key uint64, n int) gcra.Decision {
			return l.Take(key, -n)
		}}, "unlimited: ", "refuses without a limit"},
	} {
		p := weir()
		p.keyed = func(l gcra.Limit, c clock.Clock) keyed {
			bad := row.bad
			bad.Limiter = shard.New[uint64](l, shard.WithClock(c))
			return &bad
		}
		once.Store(false)
		got := p.try(small(row.limit, "-json")...)
		if got.code != broken || !strings.Contains(got.errors, "bench: "+row.law) {
			t.Errorf("%+v, want %q: %s", got, row.law, row.why)
		}
		if v, _ := got.document(t)["violations"].([]any); len(v) == 0 {
			t.Errorf("no violations in %s: %s", got.out, row.why)
		}
		once.Store(false)
		if got := p.try(small(row.limit)...); got.code != broken || !strings.Contains(got.out, "BROKEN") {
			t.Errorf("%+v: %s", got, row.why)
		}
	}
}
