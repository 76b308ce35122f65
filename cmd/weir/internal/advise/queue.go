package advise

import (
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/gcra"
)

// maxQueue is the most ticks that a burst may have and be counted in the ticks that a burst of 1 is.
const maxQueue = 1 << 60

// A queue follows what a limit of one rate needs, of many keys.
type queue struct {
	rate  Rate
	limit gcra.Limit // of burst 1: for any burst whose ticks fit, the clock is read alike
	token int64      // its ticks
}

func newQueue(r Rate) queue {
	q := queue{rate: r, limit: r.limit(1)}
	at := gcra.At(&q.limit, 0)
	next, _ := gcra.Take(&q.limit, at.Tick, at, 1)
	q.token = next - at.Tick
	return q
}

// A need is one key under one rate.
type need struct {
	tat  int64
	most int64 // ticks that the queue was long
}

// after lets a request into the queue. Beyond maxQueue the queue stays that long.
func (q *queue) after(n *need, tick, cost int64) {
	base := max(n.tat, tick)
	hi, lo := bits.Mul64(uint64(cost), uint64(q.token))
	c := int64(lo)
	if hi > 0 || lo > maxQueue || base-tick > maxQueue-c {
		n.tat, n.most = tick+maxQueue, maxQueue+1
		return
	}
	n.tat = base + c
	n.most = max(n.most, n.tat-tick)
}

// burst is the smallest burst that such a need fits in, and 0 if there is none: also of nothing.
func (q *queue) burst(ticks int64) int64 {
	b := (ticks + q.token - 1) / q.token
	if b > maxQueue/q.token || int64(int(b)) != b {
		return 0
	}
	return b
}

// needs returns the need of each key, key by key, under each of the queues.
func (a *Advisor) needs(queues []queue) ([]need, error) {
	n := len(queues)
	all := make([]need, n*len(a.names))
	ticks := make([]int64, n)
	last := time.Duration(-1)
	err := a.pass("following the queues", func(r request, elapsed time.Duration) {
		if elapsed != last {
			last = elapsed
			for i := range queues {
				ticks[i] = gcra.At(&queues[i].limit, elapsed).Tick
			}
		}
		if r.cost == 0 {
			return
		}
		row := all[int(r.key)*n : (int(r.key)+1)*n]
		for i := range row {
			queues[i].after(&row[i], ticks[i], r.cost)
		}
	})
	return all, err
}

// curve fills in what each rate needs. A rate is left out where the burst is beyond maxQueue: a limit with such a burst has
// coarser ticks, which are not those that the queue was followed in. So is one whose limit's clock ends before the traffic
// does, as it would refill nothing in the end.
func (a *Advisor) curve(r *Result, rates []Rate) error {
	size := a.batch(len(rates), 16)
	for part := range slices.Chunk(rates, size) {
		queues := make([]queue, len(part))
		for i, rate := range part {
			queues[i] = newQueue(rate)
		}
		all, err := a.needs(queues)
		if err != nil {
			return err
		}
		for i := range queues {
			q := &queues[i]
			ended := gcra.At(&q.limit, a.span()).Tick == gcra.At(&q.limit, gcra.Never).Tick
			if p, ok := a.point(q, all[i:], len(queues)); ok && !ended {
				r.Curve = append(r.Curve, p)
			} else {
				r.Skipped = append(r.Skipped, q.rate.String())
			}
		}
	}
	if err := a.search(r.Curve); err != nil {
		return err
	}
	pacings := make([]*pacing, len(r.Curve))
	for i := range r.Curve {
		p := &r.Curve[i]
		pacings[i] = &pacing{limit: Rate{p.N, p.Period}.limit(a.most), out: &p.Pacing}
	}
	return a.pace(pacings)
}

// point reads every n-th of the needs.
func (a *Advisor) point(q *queue, all []need, n int) (Point, bool) {
	ticks := make([]int64, len(a.names))
	p := Point{Rate: q.rate.String(), N: q.rate.N, Period: q.rate.Period}
	most := int64(-1)
	key := 0
	for i := range ticks {
		ticks[i] = all[i*n].most
		if t := ticks[i]; t > most || t == most && strings.Compare(a.names[i], a.names[key]) < 0 {
			most, key = t, i
		}
	}
	p.Max = q.burst(most)
	if p.Max == 0 {
		return p, false
	}
	p.Key = a.text(int32(key))
	slices.Sort(ticks)
	at := func(percent int) int64 { return q.burst(ticks[rank(int64(len(ticks)), percent)]) }
	p.P50, p.P90, p.P99 = at(50), at(90), at(99)
	p.ForKeys = 1
	if spare := int64(len(ticks)) - 1 - a.o.ForKeys.of(int64(len(ticks))); spare >= 0 {
		p.ForKeys = max(q.burst(ticks[spare]), 1)
	}
	return p, true
}

// rank is the index of a quantile in n sorted values, by nearest rank.
func rank(n int64, percent int) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(percent))
	q, rest := bits.Div64(hi, lo, 100)
	if rest > 0 {
		q++
	}
	return int64(q) - 1
}
