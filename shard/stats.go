package shard

import (
	"sync/atomic"

	"github.com/weir-go/weir/gcra"
)

// Stats are counts since a limiter was made, read one after another while
// decisions go on. Requests are counted once each, a Wait or Reserve like a
// Take, and a Wait whose context ended like a refusal; a Settle that charges
// more than was reserved counts as a request of its own. The first four are 0
// without WithStats.
type Stats struct {
	Granted     int64 // requests granted
	Refused     int64 // requests refused, for whatever reason
	WouldRefuse int64 // requests let pass by WithDryRun only
	Waited      int64 // Waits that had to sleep and got their slot
	Keys        int   // remembered now
	Forgotten   int64 // keys forgotten
	Capped      int64 // decisions on new keys for which there was no room
}

// Stats returns the limiter's counts.
func (l *Limiter[K]) Stats() Stats {
	s := Stats{Keys: l.Len(), Forgotten: l.forgotten.Load(), Capped: l.capped.Load()}
	for i := range l.bins {
		l.bins[i].addTo(&s)
	}
	return s
}

// A tally counts requests. There is one for each shard, so that goroutines that
// decide on different keys seldom share a line.
type tally struct{ granted, refused, tried, waited atomic.Int64 }

func (t *tally) addTo(s *Stats) {
	s.Granted += t.granted.Load()
	s.Refused += t.refused.Load()
	s.WouldRefuse += t.tried.Load()
	s.Waited += t.waited.Load()
}

// A report is what the options say about decisions on their way out.
type report[K comparable] struct {
	stats bool
	dry   bool
	worst *sketch[K] // of the keys refused most; nil if it is off
}

func newReport[K comparable](cfg *config) report[K] {
	r := report[K]{stats: cfg.stats, dry: cfg.dry}
	if cfg.worst > 0 {
		r.worst = newSketch[K](cfg.worst)
	}
	return r
}

// silent reports whether answer does nothing.
func (r *report[K]) silent() bool { return !r.stats && !r.dry && r.worst == nil }

// answer is what a decision goes through on its way out.
func (r *report[K]) answer(t *tally, key K, d gcra.Decision) gcra.Decision {
	if !d.OK() && r.worst != nil {
		r.worst.sample(key)
	}
	return r.count(t, d)
}

func (r *report[K]) count(t *tally, d gcra.Decision) gcra.Decision {
	if r.stats {
		switch {
		case d.OK():
			t.granted.Add(1)
		case r.dry:
			t.tried.Add(1)
		default:
			t.refused.Add(1)
		}
	}
	if r.dry {
		return d.DryRun()
	}
	return d
}

func (r *report[K]) answerWait(t *tally, key K, err error, slept bool) {
	if err != nil && r.worst != nil {
		r.worst.sample(key)
	}
	if !r.stats {
		return
	}
	switch {
	case err != nil:
		t.refused.Add(1)
	case slept:
		t.waited.Add(1)
		fallthrough
	default:
		t.granted.Add(1)
	}
}
