package shard

import "github.com/weir-go/weir/gcra"

// Stats are counts since a limiter was made, read one after another while
// decisions go on.
type Stats struct {
	Keys      int   // remembered now
	Granted   int64 // requests granted; 0 without WithStats, as the next two
	Refused   int64 // requests refused, for whatever reason
	Waited    int64 // Waits that had to sleep and got their slot
	Forgotten int64 // keys forgotten
	Capped    int64 // new keys for which there was no room
}

// Stats returns the limiter's counts.
func (l *Limiter[K]) Stats() Stats {
	s := Stats{Keys: l.Len(), Forgotten: l.forgotten.Load(), Capped: l.capped.Load()}
	for i := range l.bins {
		b := &l.bins[i]
		s.Granted += b.granted.Load()
		s.Refused += b.refused.Load()
		s.Waited += b.waited.Load()
	}
	return s
}

// Counts are kept by shard, so that goroutines that decide on different keys
// seldom share a line.
func (b *bin[K]) count(on bool, d gcra.Decision) gcra.Decision {
	if on {
		if d.OK() {
			b.granted.Add(1)
		} else {
			b.refused.Add(1)
		}
	}
	return d
}

func (b *bin[K]) countWait(err error, slept bool) {
	switch {
	case err != nil:
		b.refused.Add(1)
	case slept:
		b.waited.Add(1)
		fallthrough
	default:
		b.granted.Add(1)
	}
}
