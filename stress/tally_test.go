package stress_test

import (
	"fmt"
	"time"

	"github.com/weir-go/weir/gcra"
)

// What a model remembers beside the words that it is about: which limits were
// in force since when, and what a key was charged. With that the laws are
// checked.

const (
	quarters = 4 // of a token: what balances are counted in
	gensMost = 4 // generations
	logMost  = 6
)

// eras are the generations that were published; the last one is current.
type eras struct {
	gens  int8
	since [gensMost]int8 // S + 1; 0 is not read yet
}

// start is the reading that a generation begins with.
func (e *eras) start(gen int8) time.Duration { return time.Duration(e.since[gen] - 1) }

// tally is what was taken from a key.
type tally struct {
	log    [logMost]charge // in the order of their dates; sorted, so that it does not tell what came first
	logged int8
	reset  int8 // the instant of the last reset
}

// charge is quarters of a token taken at an instant, by a decision under a
// generation; by an actor plus one, if it was a booking.
type charge struct{ date, gen, kept, by int8 }

func (c charge) before(d charge) bool {
	if c.date != d.date {
		return c.date < d.date
	}
	if c.gen != d.gen {
		return c.gen < d.gen
	}
	return c.by < d.by || c.by == d.by && c.kept < d.kept
}

func (a *tally) add(c charge) {
	i := a.logged
	for i > 0 && c.before(a.log[i-1]) {
		a.log[i] = a.log[i-1]
		i--
	}
	a.log[i] = c
	a.logged++
}

// returned takes quarters that came back out of an actor's charge.
func (a *tally) returned(by int, kept int8) {
	for i := range a.log[:a.logged] {
		if a.log[i].by == int8(by+1) {
			a.log[i].kept -= kept
		}
	}
}

// forget is what a reset does to the past.
func (a *tally) forget(now int8) { *a = tally{reset: now} }

// rates are the limits of the generations.
type rates struct{ limits []gcra.Limit }

func (r *rates) limit(gen int8) *gcra.Limit { return &r.limits[gen] }

// at is the instant of a reading under a generation.
func (r *rates) at(e *eras, gen, now int8) gcra.Instant {
	return gcra.At(r.limit(gen), max(time.Duration(now), e.start(gen)))
}

// forward converts a TAT from one generation to a later one.
func (r *rates) forward(e *eras, tat, from, to int8) int8 {
	for g := from; g < to; g++ {
		old, next := r.limit(g), r.limit(g+1)
		s := e.start(g + 1)
		tat = int8(gcra.Convert(int64(tat), old, gcra.At(old, s), next, gcra.At(next, s)))
	}
	return tat
}

// fresh is the TAT of a key without a cell under the first generation.
func (r *rates) fresh() int8 { return int8(gcra.Fresh(r.limit(0), gcra.At(r.limit(0), 0))) }

// ticks is how many a token has.
func (r *rates) ticks(gen int8) int64 {
	l := r.limit(gen)
	b, _ := gcra.Book(l, 1, gcra.At(l, 0), 1, 1)
	return b.Cost
}

// audit replays the charges in the order of their dates on an exact bucket,
// which keeps its tokens when the limit changes. It is never overdrawn: that
// is the window law. What the key has at the end is no more than that bucket,
// or a charge was lost; and a key without charges since its reset reads as one
// never seen. A loaded key began full whatever the limit says; has returns the
// balance that a look at the key finds.
func (r *rates) audit(e *eras, a *tally, loaded bool, now int8, has func(end int8) int) error {
	gen, last := int8(0), int8(0)
	level := r.limit(0).Capacity() * quarters
	if !loaded {
		level -= int(r.fresh()-1) * quarters / int(r.ticks(0)) // as Start says
	}
	burst := level
	fill := func(date int8) {
		level += int(date-last) * quarters / int(r.ticks(gen))
		burst = r.limit(gen).Capacity() * quarters
		level, last = min(level, burst), date
	}
	through := func(date, to int8) {
		for g := gen + 1; g < e.gens; g++ {
			s := e.since[g] - 1
			if s > date || s == date && g > to {
				break
			}
			fill(s)
			gen = g
			level = min(level, r.limit(g).Capacity()*quarters)
		}
		fill(date)
	}
	for _, c := range a.log[:a.logged] {
		through(max(c.date, a.reset), c.gen) // no credit for an instant before it
		if level -= int(c.kept); level < 0 {
			return fmt.Errorf("overdrawn by %d quarters of a token at %d: %+v, S+1 %v", -level, c.date, a.log[:a.logged], e.since)
		}
	}
	end := max(now, last)
	through(end, e.gens-1)
	got := has(end)
	if got > level {
		return fmt.Errorf("%d quarters of a token are there at %d, %d after the charges %+v, S+1 %v", got, end, level, a.log[:a.logged], e.since)
	}
	rounded := 0 // less than a tick at each change
	for g := int8(1); g < e.gens; g++ {
		rounded += quarters/int(r.ticks(g)) - 1
	}
	if a.logged == 0 && got < level-rounded {
		return fmt.Errorf("%d quarters of a token are there at %d without a charge, want %d", got, end, level)
	}
	return nil
}
