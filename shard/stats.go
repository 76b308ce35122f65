package shard

import "github.com/weir-go/weir/gcra"

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
	Capped      int64 // new keys for which there was no room
}

// Stats returns the limiter's counts.
func (l *Limiter[K]) Stats() Stats {
	s := Stats{Keys: l.Len(), Forgotten: l.forgotten.Load(), Capped: l.capped.Load()}
	for i := range l.bins {
		b := &l.bins[i]
		s.Granted += b.granted.Load()
		s.Refused += b.refused.Load()
		s.WouldRefuse += b.tried.Load()
		s.Waited += b.waited.Load()
	}
	return s
}

// answer is what a decision goes through on its way out: it is counted, by
// shard, so that goroutines that decide on different keys seldom share a line.
func (l *Limiter[K]) answer(b *bin[K], key K, d gcra.Decision) gcra.Decision {
	refused := !d.OK()
	if refused && l.worst != nil {
		l.worst.sample(key)
	}
	if l.stats {
		switch {
		case !refused:
			b.granted.Add(1)
		case l.dry:
			b.tried.Add(1)
		default:
			b.refused.Add(1)
		}
	}
	if l.dry {
		return d.DryRun()
	}
	return d
}

func (l *Limiter[K]) answerWait(b *bin[K], key K, err error, slept bool) {
	if err != nil && l.worst != nil {
		l.worst.sample(key)
	}
	if !l.stats {
		return
	}
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
