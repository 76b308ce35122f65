package lease

import "sync/atomic"

// Stats are counts since the limiter was made, but for Keys. They are read one after
// another.
type Stats struct {
	Asked    int64 // questions to the store: round trips, but for what it decides by itself
	Leased   int64 // tokens that came with leases
	Returned int64 // tokens that Close gave back, of which the store may have kept some
	Lost     int64 // tokens that expired unspent, as far as that was noticed
	Keys     int   // keys that are remembered
}

// What decisions by a lease do not touch.
type tally struct{ asked, leased, returned, lost atomic.Int64 }

// Stats returns the counts. A lease that expired is noticed when its key is asked
// about, or forgotten.
func (l *Limiter) Stats() Stats {
	return Stats{
		Asked: l.asked.Load(), Leased: l.leased.Load(),
		Returned: l.returned.Load(), Lost: l.lost.Load(),
		Keys: int(l.keys.n.Load()),
	}
}
