package advise

import (
	"slices"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A trial is the search for a burst at one rate.
type trial struct {
	point     *Point
	low, high int64 // low refuses too much, or is 0; high does not
	limit     gcra.Limit
	refused   int64
}

// search fills in ForShare, by bisection of all points at once. What they have in common is the pass over the requests.
func (a *Advisor) search(points []Point) error {
	allowed := a.o.Refuse.of(a.spool.count)
	var trials []*trial
	for i := range points {
		p := &points[i]
		p.ForShare = p.Max
		if allowed > 0 {
			trials = append(trials, &trial{point: p, high: p.Max})
		}
	}
	for {
		trials = slices.DeleteFunc(trials, func(t *trial) bool {
			t.point.ForShare = t.high
			return t.high-t.low <= 1
		})
		if len(trials) == 0 {
			return nil
		}
		for part := range slices.Chunk(trials, a.batch(len(trials), 8)) {
			if err := a.try(part, allowed); err != nil {
				return err
			}
		}
	}
}

// try halves what is left of each trial.
func (a *Advisor) try(trials []*trial, allowed int64) error {
	n := len(trials)
	for _, t := range trials {
		t.limit = Rate{t.point.N, t.point.Period}.limit(t.low + (t.high-t.low)/2)
		t.refused = 0
	}
	words := make([]int64, n*len(a.names))
	at := make([]gcra.Instant, n)
	last := time.Duration(-1)
	err := a.pass("searching bursts", func(r request, elapsed time.Duration) {
		if elapsed != last {
			last = elapsed
			for i, t := range trials {
				at[i] = gcra.At(&t.limit, elapsed)
			}
		}
		row := words[int(r.key)*n : (int(r.key)+1)*n]
		for i, t := range trials {
			if next, ok := gcra.Allow(&t.limit, row[i], at[i], int(r.cost)); ok {
				row[i] = next
			} else {
				t.refused++
			}
		}
	})
	for _, t := range trials {
		if b := int64(t.limit.Capacity()); t.refused <= allowed {
			t.high = b
		} else {
			t.low = b
		}
	}
	return err
}
