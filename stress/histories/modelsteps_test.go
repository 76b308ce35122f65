package histories_test

import (
	"time"

	"github.com/weir-go/weir/gcra"
)

// book is ReserveWithin over a TAT. The slot may be that far away from the
// operation's first reading, also if a later one decides.
func (c *checker) book(o *op, within time.Duration, b *gcra.Booking) decide {
	return func(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
		booked, d := gcra.Book(l, tat, at, at.Tick, n)
		left := max(within-(c.read-o.reads[0].at), 0)
		if booked.Slot > at.Tick && within != gcra.Never && booked.Slot > gcra.At(l, at.Elapsed+left).Tick {
			booked, d = gcra.Booking{}, gcra.Peek(l, tat, at, n)
		}
		*b = booked
		if !d.OK() {
			return tat, d
		}
		return booked.End, d
	}
}

func (c *checker) reserve(s *state, o *op) (after []state) {
	var b gcra.Booking
	c.each(s, o, o.lim, o.key, c.book(o, o.within, &b), func(v sight, next int64, d gcra.Decision) {
		delay := d.RetryAfter()
		if d.OK() {
			delay = gcra.Until(&limits[s.lims[o.lim].gens[v.gen].limit], b.Slot, v.at)
		}
		if judge(d) != o.verdict || delay != o.delay {
			return
		}
		s := s.write(o.lim, o.key, v, next)
		if d.OK() {
			s.books[o.target] = bookState{Booking: b, n: o.n, lim: o.lim, key: o.key, gen: v.gen, made: true}
		}
		after = append(after, *s)
	})
	return after
}

// settle gives back, or charges what was used beyond. Of two at a time one is
// settled, and the other may return before that one has done so.
func (c *checker) settle(s *state, o *op) (after []state) {
	b := &s.books[o.target]
	switch {
	case !b.made:
		return nil
	case b.settled, o.n < 0:
		return []state{*s}
	case len(o.reads) == 0 && o.rival:
		after = append(after, *s)
	}
	done := *s
	done.books[o.target].settled = true
	if o.n > b.n {
		more := *o
		more.n, more.key, more.lim = o.n-b.n, b.key, b.lim
		c.each(&done, &more, b.lim, b.key, c.charge, func(v sight, next int64, _ gcra.Decision) {
			after = append(after, *done.write(b.lim, b.key, v, next))
		})
		return after
	}
	return append(after, c.giveBack(&done, o, b, b.n-o.n)...)
}

// giveBack returns tokens as rule 15 says; nothing across a Reset or SetLimit.
// That they were forgotten meanwhile makes no difference.
func (c *checker) giveBack(s *state, o *op, b *bookState, n int) (after []state) {
	l := &s.lims[b.lim]
	k := &l.keys[b.key]
	if b.lost || b.gen != l.cur || n == 0 || b.Cost == 0 {
		after = append(after, *s)
		if b.lost || !c.traits[b.lim].lazy || k.gen != b.gen {
			return after
		}
	}
	reads := o.readings()
	idle := len(reads) == 0
	if idle { // it saw at once that nothing can come of it: at any instant of its own
		for _, shown := range c.h.shown {
			if o.from <= shown && shown <= o.to {
				reads = append(reads, shown)
			}
		}
	}
	g := &l.gens[b.gen]
	for _, read := range reads {
		if b.gen != l.cur { // rule 21
			if next := &l.gens[b.gen+1]; o.call >= next.ret || read > next.since {
				continue
			}
		}
		at := c.at(g, read)
		next := gcra.GiveBack(&limits[g.limit], k.tat, at, b.Booking, n)
		if idle && next != k.tat {
			continue
		}
		after = append(after, *s.write(b.lim, b.key, sight{gen: b.gen, tat: k.tat, read: read, at: at}, next))
	}
	return after
}

func (c *checker) moveRead(s *state, o *op) (after []state) {
	c.each(s, o, 0, o.key, look, func(v sight, _ int64, d gcra.Decision) {
		g := &s.lims[0].gens[v.gen]
		tat := v.tat
		if v.never {
			tat = g.fresh
		}
		s := s.write(0, o.key, v, v.tat)
		s.moved[o.client] = balance{g.limit, max(tat-v.at.Tick, 0)}
		after = append(after, *s)
	})
	return after
}

// moveRaise leaves there the smaller of two balances. There is always room.
func (c *checker) moveRaise(s *state, o *op) (after []state) {
	if o.err != nil {
		return nil
	}
	in := s.moved[o.client]
	raise := func(l *gcra.Limit, tat int64, at gcra.Instant, _ int) (int64, gcra.Decision) {
		return max(tat, gcra.Convert(in.behind, &limits[in.limit], gcra.Instant{}, l, at)), gcra.Decision{}
	}
	c.each(s, o, 1, o.key, raise, func(v sight, next int64, _ gcra.Decision) {
		s := s.write(1, o.key, v, next)
		s.moved[o.client] = balance{}
		after = append(after, *s)
	})
	return after
}

// end is the state after the last step of a joint operation, if that came to
// the decision.
func (s *state) end(o *op, d gcra.Decision) []state {
	if judge(d) != o.whole.verdict {
		return nil
	}
	after := *s
	after.asked[o.client] = jointState{}
	return []state{after}
}

// jointAsk is one member's Peek. If all grant, the tightest is charged first.
func (c *checker) jointAsk(s *state, o *op) (after []state) {
	c.each(s, o, o.lim, o.key, look, func(v sight, next int64, d gcra.Decision) {
		s := s.write(o.lim, o.key, v, next)
		j := &s.asked[o.client]
		j.asked[o.lim] = d
		a, b := j.asked[0], j.asked[1]
		var tightest uint8
		if b.Remaining() < a.Remaining() {
			tightest = 1
		}
		switch yes := a.OK() && b.OK(); {
		case o.lim == 0:
			after = append(after, *s)
		case o.last:
			if !yes || o.whole.kind == jointPeek {
				after = append(after, s.end(o, gcra.Both(a, b))...)
			}
		case yes && tightest == o.first:
			after = append(after, *s)
		}
	})
	return after
}

// jointBook is the charge of one member, at once or not at all.
func (c *checker) jointBook(s *state, o *op) (after []state) {
	var b gcra.Booking
	c.each(s, o, o.lim, o.key, c.book(o, 0, &b), func(v sight, next int64, d gcra.Decision) {
		s := s.write(o.lim, o.key, v, next)
		j := &s.asked[o.client]
		all := gcra.Both(j.asked[0], j.asked[1])
		switch {
		case !j.booked && d.OK() && !o.last:
			j.booked, j.first = true, d
			j.back = bookState{Booking: b, n: o.n, lim: o.lim, key: o.key, gen: v.gen, made: true}
			after = append(after, *s)
		case !j.booked && !d.OK() && o.last:
			after = append(after, s.end(o, gcra.Both(d, all))...)
		case j.booked && d.OK() && o.last:
			after = append(after, s.end(o, gcra.Both(j.first, d))...)
		case j.booked && !d.OK() && !o.last:
			// What is given back is there again, and said to be.
			if judge(gcra.Both(d, all)) == o.whole.verdict {
				after = append(after, *s)
			}
		}
	})
	return after
}

// jointBack is the roll-back of the member that was charged first.
func (c *checker) jointBack(s *state, o *op) (after []state) {
	j := s.asked[o.client]
	if !j.booked {
		return nil
	}
	for _, next := range c.giveBack(s, o, &j.back, j.back.n) {
		next.asked[o.client] = jointState{}
		after = append(after, next)
	}
	return after
}
