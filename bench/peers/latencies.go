package main

import (
	"slices"
	"time"
)

// fine is up to where latencies are counted by the nanosecond; longer ones are
// few, and written down one by one.
const fine = 1 << 14

// Latencies are how long each of many things took. Nothing is rounded. To add
// one touches a line of memory or two, most often the same.
type latencies struct {
	counts  [fine]uint32
	long    []time.Duration
	n       int
	elapsed time.Duration
}

func (l *latencies) clear() {
	clear(l.counts[:])
	if l.long == nil {
		l.long = make([]time.Duration, 0, 1<<16) // nobody is to grow it meanwhile
	}
	l.long, l.n, l.elapsed = l.long[:0], 0, 0
}

func (l *latencies) add(d time.Duration) {
	l.n++
	if d >= 0 && d < fine {
		l.counts[d]++
		return
	}
	l.long = append(l.long, d)
}

// quantile returns the least number of nanoseconds that so many in a thousand
// did not exceed.
func (l *latencies) quantile(perMille int) float64 {
	rank := (l.n*perMille + 999) / 1000 // from 1
	for d, n := range l.counts {
		if rank -= int(n); rank <= 0 {
			return float64(d)
		}
	}
	slices.Sort(l.long)
	return float64(l.long[rank-1])
}

func (l *latencies) perSecond() float64 { return float64(l.n) / max(l.elapsed.Seconds(), 1e-9) }
