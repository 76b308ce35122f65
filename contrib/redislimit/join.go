package redislimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/gcra"
)

// A View is one key of a Limiter. It is a comparable value.
type View struct {
	of  *Limiter
	key string
}

// For returns the view of a key.
func (l *Limiter) For(key string) View { return View{l, key} }

// Take takes n tokens or none: see [Limiter.Take].
func (v View) Take(ctx context.Context, n int) (gcra.Decision, error) {
	return v.of.Take(ctx, v.key, n)
}

// Peek tells what Take would decide.
func (v View) Peek(ctx context.Context, n int) (gcra.Decision, error) {
	return v.of.Peek(ctx, v.key, n)
}

// Reserve books n tokens: see [Limiter.Reserve].
func (v View) Reserve(ctx context.Context, n int) (*Reservation, error) {
	return v.of.Reserve(ctx, v.key, n)
}

// WaitN waits for n tokens: see [Limiter.WaitN].
func (v View) WaitN(ctx context.Context, n int) error { return v.of.WaitN(ctx, v.key, n) }

// A Joint is several keys, of one limiter or of several, that decide together in
// one call: all of them grant a request, or none is charged, with no moment in
// between. Make it with [Join]. It never changes and is safe for concurrent use.
type Joint struct {
	members []member
	locks   []*Limiter // each once, in the order in which all joints lock
}

type member struct {
	View
	times int
}

// Join returns the joint of the views. The same one several times is asked so many
// times the tokens of a request. It fails if the keys, with their prefixes, are not
// in one hash slot, or on a Ring have no tag in common, since no script may touch two
// servers, and if the limiters were made for different clients.
func Join(views ...View) (*Joint, error) {
	if len(views) == 0 {
		return nil, errors.New("redislimit: Join of nothing")
	}
	j := new(Joint)
	for _, v := range views {
		if v.of == nil {
			return nil, errors.New("redislimit: Join: a view is of no limiter")
		}
		if !reflect.ValueOf(v.of.client).Comparable() || v.of.client != views[0].of.client {
			return nil, errors.New("redislimit: Join: the limiters have different clients")
		}
		first, key := views[0].name(), v.name()
		_, ring := v.of.client.(*redis.Ring) // which hashes tags, not slots
		if slotOf(first) != slotOf(key) || ring && tagOf(first) != tagOf(key) {
			return nil, fmt.Errorf("redislimit: Join: %.80q and %.80q are not in one hash slot: give them, and the prefixes, a part in braces that is the same, such as {user}", first, key)
		}
		if i := slices.IndexFunc(j.members, func(m member) bool { return m.View == v }); i >= 0 {
			j.members[i].times++
			continue
		}
		if i := slices.IndexFunc(j.members, func(m member) bool { return m.name() == key }); i >= 0 {
			return nil, fmt.Errorf("redislimit: Join: two limiters have the key %.80q: give them different prefixes", key)
		}
		j.members = append(j.members, member{v, 1})
		if !slices.Contains(j.locks, v.of) {
			j.locks = append(j.locks, v.of)
		}
	}
	slices.SortFunc(j.locks, func(a, b *Limiter) int { return cmp.Compare(a.order, b.order) })
	return j, nil
}

func (v View) name() string { return v.of.cfg.prefix + v.key }

// A round is one call of a joint.
type round struct {
	turn
	gens  []*generation // of the members
	fixed []gcra.Decision
	asked []int // the members that Redis is asked of
	costs []int
	no    bool // a member refuses whatever Redis says
	n     int
}

func (j *Joint) begin(n int) *round {
	r := &round{n: n}
	r.began = j.members[0].of.now() // by the clock of whose ask it is
	for _, l := range j.locks {
		if l.virtual != nil { // clocks of tests may differ, and do not count from when a limiter was made
			r.began = max(r.began, l.now())
		}
	}
	for _, l := range j.locks {
		l.mu.RLock()
	}
	r.gens, r.costs = make([]*generation, len(j.members)), make([]int, len(j.members))
	r.fixed = make([]gcra.Decision, len(j.members))
	for i, m := range j.members {
		g := m.of.gen
		cost, fits := gcra.Cost(n, m.times)
		r.gens[i], r.costs[i] = g, cost
		if g.trivial {
			d := g.without(gcra.Take, cost)
			if !fits {
				d = gcra.Exceeds(d)
			}
			r.fixed[i] = d
			r.no = r.no || !d.OK()
			continue
		}
		r.no = r.no || cost < 0 || cost > g.limit.Capacity()
		r.asked = append(r.asked, i)
	}
	return r
}

func (j *Joint) end() {
	for _, l := range j.locks {
		l.mu.RUnlock()
	}
}

// Take takes n tokens from every key, or from none. The decision is that of them
// all: Remaining is the least and ResetAfter the longest. If it is refused,
// RetryAfter is when all would pass, and Limit and Err are those of the refusal
// that takes so long. If Redis does not answer, the strictest policy of the
// limiters decides.
func (j *Joint) Take(ctx context.Context, n int) (gcra.Decision, error) {
	r := j.begin(n)
	defer j.end()
	if n <= 0 || r.no {
		return j.peek(ctx, r)
	}
	a, err := j.ask(ctx, r, query{op: "take", a: "0"})
	if err != nil {
		return j.failed(r, err)
	}
	return j.together(r, a, a == nil || a.ok), nil
}

// Peek tells what Take would decide, takes nothing and writes nothing.
func (j *Joint) Peek(ctx context.Context, n int) (gcra.Decision, error) {
	r := j.begin(n)
	defer j.end()
	return j.peek(ctx, r)
}

func (j *Joint) peek(ctx context.Context, r *round) (gcra.Decision, error) {
	a, err := j.ask(ctx, r, query{op: "peek", a: "0"})
	if err != nil {
		return j.failed(r, err)
	}
	return j.together(r, a, false), nil
}

// ask asks of the members that have a bucket. There is no answer if none has.
func (j *Joint) ask(ctx context.Context, r *round, q query) (*answer, error) {
	if len(r.asked) == 0 {
		return nil, nil
	}
	for _, i := range r.asked {
		cost := span{}
		if q.op != "peek" {
			cost, _ = r.gens[i].time(uint64(r.costs[i]))
		}
		m := j.members[i]
		q.of = append(q.of, charge{l: m.of, g: r.gens[i], key: m.key, cost: cost})
	}
	return j.members[0].of.ask(ctx, r.turn, &q)
}

// together is the decision of all members: charged, or only looked at.
func (j *Joint) together(r *round, a *answer, charged bool) gcra.Decision {
	ds := slices.Clone(r.fixed)
	for k, i := range r.asked {
		g, f := r.gens[i], a.keys[k]
		tat, at := g.before(f.missing, f.off)
		if ds[i] = gcra.Peek(&g.limit, tat, at, r.costs[i]); charged {
			_, ds[i] = gcra.Take(&g.limit, tat, at, r.costs[i])
		}
	}
	return j.both(r, ds)
}

func (j *Joint) both(r *round, ds []gcra.Decision) gcra.Decision {
	var all gcra.Decision
	for i, d := range ds {
		m := j.members[i]
		if _, fits := gcra.Cost(r.n, m.times); !fits {
			d = gcra.Exceeds(d)
		}
		if d = gcra.Share(d, m.times); i == 0 {
			all = d
		} else {
			all = gcra.Both(all, d)
		}
	}
	return all
}

// failed decides by the strictest policy: Closed if a limiter has it; else those
// with Local by their local limiters, one after another, and what was taken there
// stays taken if a later one refuses; those with Open grant.
func (j *Joint) failed(r *round, err error) (gcra.Decision, error) {
	ds := slices.Clone(r.fixed)
	closed := !errors.Is(err, ErrUnavailable)
	for _, i := range r.asked {
		closed = closed || j.members[i].of.policy.kind == closedPolicy
	}
	for _, i := range r.asked {
		m, g := j.members[i], r.gens[i]
		at := gcra.At(&g.limit, 0)
		switch {
		case closed:
			ds[i] = gcra.Refuse(&g.limit, at, r.costs[i])
		case m.of.local != nil:
			ds[i] = m.of.local.Take(m.key, r.costs[i])
			m.of.owing.note(m.of)
		default:
			_, ds[i] = gcra.Take(&g.limit, at.Tick, at, r.costs[i])
		}
	}
	if !closed {
		err = nil
	}
	return j.both(r, ds), err
}

// Reserve books n tokens of every key, all in the slot at which the last of them is
// there at the latest: Delay is that of the latest. Cancel and Settle give back to
// each what that gives back, one call for each.
func (j *Joint) Reserve(ctx context.Context, n int) (*Reservation, error) {
	r := j.begin(n)
	defer j.end()
	return j.reserve(ctx, r, gcra.Never)
}

func (j *Joint) reserve(ctx context.Context, r *round, within time.Duration) (*Reservation, error) {
	if r.n <= 0 || r.no {
		d, err := j.peek(ctx, r)
		return &Reservation{d: d, n: max(r.n, 0), delay: d.RetryAfter()}, err
	}
	for _, i := range r.asked {
		within = min(within, r.gens[i].wait)
	}
	a, err := j.ask(ctx, r, query{op: "book", a: "0", b: micros(within), c: "0"})
	if err != nil {
		d, err := j.failed(r, err)
		return &Reservation{d: d, n: r.n, delay: d.RetryAfter()}, err
	}
	res := &Reservation{n: r.n}
	if a == nil {
		res.d = j.both(r, r.fixed)
		return res, nil
	}
	if !a.ok {
		res.d = j.together(r, a, false)
		res.delay = res.d.RetryAfter()
		return res, nil
	}
	ds := slices.Clone(r.fixed)
	for k, i := range r.asked {
		g, f := r.gens[i], a.keys[k]
		tat, at := g.before(f.missing, f.off)
		_, ds[i] = gcra.Book(&g.limit, tat, at, at.Tick, r.costs[i])
		res.parts = append(res.parts, part{j.members[i].of, g, j.members[i].key, j.members[i].times, f})
	}
	res.d = j.both(r, ds)
	res.delay = time.Duration(a.delay) * time.Microsecond
	return res, nil
}

// Wait waits for one token of every key: see [Joint.WaitN].
func (j *Joint) Wait(ctx context.Context) error { return j.WaitN(ctx, 1) }

// WaitN takes n tokens from every key as soon as all permit it. It books a slot in
// each and sleeps until the latest; errors are those of [Limiter.WaitN].
func (j *Joint) WaitN(ctx context.Context, n int) error {
	deadline, err := left(ctx)
	if err != nil {
		return err
	}
	r, res, err := j.book(ctx, deadline, n)
	switch {
	case err != nil:
		return err
	case !res.OK():
		most := gcra.Never
		for _, i := range r.asked {
			most = min(most, r.gens[i].wait)
		}
		return refusal(res.d, deadline, most)
	case res.delay <= 0:
		return nil
	}
	return res.sleep(ctx)
}

func (j *Joint) book(ctx context.Context, deadline time.Duration, n int) (*round, *Reservation, error) {
	r := j.begin(n)
	defer j.end()
	res, err := j.reserve(ctx, r, deadline)
	return r, res, err
}

// Limit returns the tightest limit: that of the least burst, divided by how often
// it is asked; the first of equal ones.
func (j *Joint) Limit() gcra.Limit {
	var tight gcra.Limit
	least := -1
	for _, m := range j.members {
		l := m.of.Limit()
		if burst := l.Capacity() / m.times; least < 0 || burst < least {
			tight, least = l, burst
		}
	}
	return tight
}
