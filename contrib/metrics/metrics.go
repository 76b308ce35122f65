// Package metrics tells monitoring systems what limiters of package shard did:
// its package prom is a Prometheus collector, its package otel are OpenTelemetry
// instruments. A limiter is known by the name of its policy.
//
//	var policies metrics.Policies
//	policies.Set("clients", clients) // made with shard.WithStats()
//	prometheus.MustRegister(prom.NewCollector(&policies))
//	registration, err := otel.Register(meter, &policies)
//
// Limiters count by themselves (see shard.Stats), and are read when somebody
// scrapes: a decision costs nothing more for being watched. What they cannot see
// middleware counts, with a [Counter]: its own dry run, requests without a key, and
// limiters that do not answer or have no Stats. Both packages say the same of each
// policy:
//
//   - Requests by result: allowed; denied, for want of tokens or of time;
//     would_deny, let pass by a dry run only, whatever the reason; and error,
//     refused for what is a mistake of the caller: a cost below 0 or above the
//     burst. Each request is one of these. A Wait whose context ended is denied.
//     In middleware a request on which there was no decision is an error too,
//     served or not, as is a cost below 0 in its dry run.
//   - Waits that slept and got their slot, and the time that all Waits slept,
//     those that gave up included. What is reserved, and slept for by the
//     caller or in a joint, is a request and not a wait.
//   - Keys remembered, keys forgotten, and decisions on keys for which there was
//     no room.
//
// A key is never a label: there can be millions, and they may be secrets. Which
// keys are refused most tells the TopRefused of a limiter, for logs.
//
// # What holds
//
// No count but that of the keys decreases, however decisions race with
// scrapes, unless Set puts a new limiter in an old one's place: then counts
// begin at 0 again, which both systems take for a restart. Counts are read one
// after another, so a sum over results may lack requests that were decided
// meanwhile, and the next scrape has them.
//
// Requests and waits are 0 for a limiter without shard.WithStats, which is not to
// be told from one that nobody asks. What a limiter refuses in a joint is not
// counted as refused by it: see package shard.
package metrics

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/weir-go/weir/shard"
)

// A Source has counts: a Limiter or a Table of package shard. Reading those of a
// Table adds up to 1024 counters.
type Source interface {
	Stats() shard.Stats
}

// Policies are the limiters that are watched, by name. The zero Policies has
// none. It must not be copied, and is safe for concurrent use.
type Policies struct {
	mu sync.Mutex
	of map[string]Source
}

// Set names a limiter, in place of one that had the name. Names are labels: they
// should be few, and stay. It panics if the name is empty or not UTF-8, or if
// there is no source.
func (p *Policies) Set(name string, s Source) {
	if name == "" || !utf8.ValidString(name) || s == nil {
		panic(fmt.Sprintf("weir: metrics: Set(%q, %v): want a name in UTF-8 and a source", name, s))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[string]Source{}
	}
	p.of[name] = s
}

// Remove forgets a name.
func (p *Policies) Remove(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, name)
}

// All iterates over what the policies have done so far, ordered by name. The
// loop may change which there are, for later iterations.
func (p *Policies) All() iter.Seq2[string, Counts] {
	return func(yield func(string, Counts) bool) {
		p.mu.Lock()
		of := maps.Clone(p.of)
		p.mu.Unlock()
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if !yield(name, counts(of[name].Stats())) {
				return
			}
		}
	}
}

// Counts are what one policy has done so far, as both systems tell it.
type Counts struct {
	Allowed, Denied, WouldDeny, Errors int64 // requests
	Waits                              int64
	WaitSeconds                        float64
	Keys                               int64
	Forgotten, Capped                  int64
}

func counts(s shard.Stats) Counts {
	return Counts{
		Allowed:     s.Granted,
		Denied:      s.Refused - s.Invalid,
		WouldDeny:   s.WouldRefuse,
		Errors:      s.Invalid,
		Waits:       s.Waited,
		WaitSeconds: float64(s.WaitMicros) / 1e6,
		Keys:        int64(s.Keys),
		Forgotten:   s.Forgotten,
		Capped:      s.Capped,
	}
}

// Results iterates over the requests by their result, the value of a label.
func (c Counts) Results() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		_ = yield("allowed", c.Allowed) && yield("denied", c.Denied) &&
			yield("would_deny", c.WouldDeny) && yield("error", c.Errors)
	}
}
