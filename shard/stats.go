package shard

import (
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/gcra"
)

// Stats are counts since a limiter was made, read one after another while
// decisions go on. Requests are counted once each, a Wait or Reserve like a
// Take, and a Wait whose context ended like a refusal; a Settle that charges
// more than was reserved counts as a request of its own. The first six are 0
// without WithStats. No count but Keys decreases, nor does Refused − Invalid.
type Stats struct {
	Granted     int64 // requests granted
	Refused     int64 // requests refused, for whatever reason
	Invalid     int64 // of those, with a cost below 0 or above the burst
	WouldRefuse int64 // requests let pass by WithDryRun only
	Waited      int64 // Waits that had to sleep and got their slot
	WaitMicros  int64 // microseconds that Waits slept, for a slot or in vain
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
	l.rare.addTo(&s)
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

// A rareTally counts what does not happen on every decision: once for a whole
// limiter, on a line of its own. What it counts as invalid is not counted as
// refused, so that the two have a sum and a difference that never decrease.
type rareTally struct {
	invalid, micros atomic.Int64
	_               [48]byte
}

// addTo adds nothing if t is nil.
func (t *rareTally) addTo(s *Stats) {
	if t != nil {
		s.Invalid = t.invalid.Load()
		s.Refused += s.Invalid
		s.WaitMicros = t.micros.Load()
	}
}

// A report is what the options say about decisions on their way out.
type report[K comparable] struct {
	stats bool
	dry   bool
	worst *sketch[K] // of the keys refused most; nil if it is off
	rare  *rareTally // nil without stats
}

func newReport[K comparable](cfg *config) report[K] {
	r := report[K]{stats: cfg.stats, dry: cfg.dry}
	if cfg.stats {
		r.rare = new(rareTally)
	}
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
			r.refuse(t, d.Err())
		}
	}
	if r.dry {
		return d.DryRun()
	}
	return d
}

func (r *report[K]) refuse(t *tally, err error) {
	if err == gcra.ErrExceedsBurst || err == gcra.ErrCost {
		r.rare.invalid.Add(1)
	} else {
		t.refused.Add(1)
	}
}

// asleep returns when a Wait that has to sleep began to, by the runtime's time,
// as its timers do. It is zero if nobody counts.
func (r *report[K]) asleep(sleeps bool) (since time.Time) {
	if r.stats && sleeps {
		since = time.Now()
	}
	return since
}

// answerWait is answer for a Wait, which slept if since is not zero.
func (r *report[K]) answerWait(t *tally, key K, err error, since time.Time) {
	if err != nil && r.worst != nil {
		r.worst.sample(key)
	}
	if !r.stats {
		return
	}
	slept := !since.IsZero()
	if slept {
		r.rare.micros.Add(time.Since(since).Round(time.Microsecond).Microseconds())
	}
	switch {
	case err != nil:
		r.refuse(t, err)
	case slept:
		t.waited.Add(1)
		fallthrough
	default:
		t.granted.Add(1)
	}
}
