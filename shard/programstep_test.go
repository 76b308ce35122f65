package shard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir/gcra"
)

func debitOfModel(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
	return gcra.Debit(l, tat, at, n, l.Capacity())
}

// step reads one operation and does it with a limiter and with a table.
func (p *program) step() error {
	op, side := p.d.IntN(20), p.d.IntN(2)
	k := &hostileKeys[p.d.IntN(len(hostileKeys))]
	a := p.pairs[0][side]
	switch op {
	case 0, 1:
		p.pass(a.m.limit)
		return nil
	case 2:
		limit := p.limits[p.d.IntN(len(p.limits))]
		for _, pair := range p.pairs {
			pair[side].m.set(limit, p.clk.Now())
			pair[side].SetLimit(limit)
		}
		return nil
	}
	n, extra := p.cost(a.m.limit.Capacity()), p.d.IntN(256)
	for _, pair := range p.pairs {
		if err := p.do(op, pair[side], pair[1-side], k, n, extra); err != nil {
			a := pair[side]
			return fmt.Errorf("operation %d of a %T, %s, cost %d, under %v: %w", op, a.keyedEngine, k.text, n, a.m.limit, err)
		}
	}
	return nil
}

func (p *program) do(op int, a, other *actor, k *hostileKey, n, extra int) error {
	now := p.clk.Now()
	switch op {
	case 3:
		return a.decide(k, n, now, func(key any, n int) gcra.Decision { return a.For(key).Take(n) }, gcra.Take)
	case 4:
		return a.decide(k, n, now, a.TakeUpTo, gcra.TakeUpTo)
	case 5:
		return a.decide(k, n, now, a.Peek, look)
	case 6:
		return a.decide(k, n, now, a.Debit, debitOfModel)
	case 7:
		return a.decide(k, n, now, func(key any, n int) gcra.Decision { return a.For(key).Debit(n) }, debitOfModel)
	case 8, 9:
		return a.reserve(k, gcra.Never, n, now, extra%2 == 0)
	case 10:
		within := [...]time.Duration{0, 1, -1, a.m.limit.Interval(), a.m.limit.FillTime(), gcra.Never - 1}[extra%6]
		return a.reserve(k, within, n, now, extra%2 == 0)
	case 11, 12:
		if len(a.held) == 0 {
			return nil
		}
		i := extra % len(a.held)
		if extra >= 128 {
			n = max(a.held[i].loan.n, 0) - 1 + extra%3
		}
		return a.settle(i, n, now)
	case 13:
		if k.bad {
			return a.unhashable(func() { a.Reset(k.key) })
		}
		if a.Reset(k.key); !k.nan {
			a.m.reset(k.id, now)
		}
	case 14:
		return a.moveTo(other, k, now)
	case 15:
		return p.waits(a, k, n, extra)
	case 16:
		return p.batch(a, k, n, extra)
	case 17:
		return p.joint(a, other, k, n, extra)
	case 18:
		return a.swept(now)
	default:
		return a.allow(k, n, now)
	}
	return nil
}

func (a *actor) allow(k *hostileKey, n int, now time.Duration) error {
	if k.bad {
		return a.unhashable(func() { a.AllowN(k.key, n) })
	}
	capped := a.Stats().Capped
	got := a.AllowN(k.key, n)
	next, want := gcra.Take(a.m.limit, a.tat(k), a.m.at(now), n)
	kept, err := a.store(k, next, capped, now)
	if !kept && a.policy == Refuse {
		want = gcra.Decision{}
	}
	if err == nil && got != (kept && want.OK() || !kept && a.policy == Admit) {
		err = fmt.Errorf("allowed: %v", got)
	}
	return err
}

func (a *actor) moveTo(other *actor, k *hostileKey, now time.Duration) error {
	move := func() error {
		if a.lim != nil {
			return a.lim.Move(k.key, other.lim)
		}
		return a.tab.Move(k.key, other.tab)
	}
	if k.bad {
		return a.unhashable(func() { _ = move() })
	}
	capped := other.Stats().Capped
	switch err := move(); {
	case k.nan && (err != ErrNoRoom || other.Stats().Capped != capped+1):
		return fmt.Errorf("moved: %v, and counted %d", err, other.Stats().Capped-capped)
	case k.nan:
	case err == nil:
		a.m.move(k.id, other.m, now)
	case err != ErrNoRoom:
		return err
	case other.Stats().Capped == capped:
		return errors.New("no room, and nothing counted")
	default:
		_, err := other.store(k, -1, capped, now)
		return err
	}
	return nil
}

// waits calls WaitN with contexts that are done, or that leave it an hour.
func (p *program) waits(a *actor, k *hostileKey, n, extra int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	var done error
	switch extra % 4 {
	case 0:
		cancel()
		done = context.Canceled
	case 1:
		c, end := context.WithDeadline(context.Background(), time.Unix(0, 0))
		defer end()
		ctx, done = c, context.DeadlineExceeded
	case 2:
		c, end := context.WithCancelCause(context.Background())
		end(errors.New("a cause"))
		ctx, done = c, context.Canceled
	}
	// An hour less what has passed: between the two it is not known.
	left := time.Hour
	if _, d, delay := a.book(k, gcra.Never, n, p.clk.Now()); done == nil && d.OK() && delay > left-time.Minute && delay <= left {
		return nil
	}
	return a.wait(k, n, p.clk.Now(), ctx, done, left)
}

// batch decides on some keys at once, in their order.
func (p *program) batch(a *actor, k *hostileKey, n, extra int) error {
	if a.tab == nil {
		return nil
	}
	now := p.clk.Now()
	keys, costs := make([]any, extra%40), make([]int, extra%40)
	members := make([]*hostileKey, len(keys))
	for i := range keys {
		members[i] = k
		if i%3 > 0 {
			members[i] = &hostileKeys[(extra+i*i)%17]
		}
		keys[i], costs[i] = members[i].key, []int{n, 1, 0}[i%3]
	}
	decisions := make([]gcra.Decision, len(keys))
	run := func() { a.tab.TakeBatch(keys, costs, decisions) }
	if k.bad && len(keys) > 0 { // among the first 32, before any is decided
		return a.unhashable(run)
	}
	// Nothing is ever turned away here but NaN.
	run()
	for i, got := range decisions {
		at := a.m.at(now)
		next, want := gcra.Take(a.m.limit, a.tat(members[i]), at, costs[i])
		if members[i].nan && next != a.tat(members[i]) && a.policy == Refuse {
			want = emptied(a.m.limit, at, costs[i])
		}
		a.put(members[i], next)
		if err := sameDecision(got, want); err != nil {
			return fmt.Errorf("item %d, %s, cost %d: %w", i, members[i].text, costs[i], err)
		}
	}
	return nil
}

// joint asks two keys here and one there together; the two may be the same.
func (p *program) joint(a, other *actor, k *hostileKey, n, extra int) error {
	now := p.clk.Now()
	second, third := &hostileKeys[extra%14], &hostileKeys[(extra+extra/14)%14]
	j := Join(a.For(k.key), a.For(second.key), other.For(third.key))
	if k.bad {
		// Both ask the others before any is charged.
		if err := other.unhashable(func() { j.Take(n) }); err != nil {
			return err
		}
		return a.unhashable(func() { j.Reserve(n) })
	}
	if k.nan || a.most > 0 {
		return nil
	}
	type part struct {
		a     *actor
		k     *hostileKey
		times int
	}
	parts := []part{{a, k, 1}, {a, second, 1}, {other, third, 1}}
	if k.id == second.id {
		parts = []part{{a, k, 2}, {other, third, 1}}
	}
	want := true
	for _, m := range parts {
		cost, fits := gcra.Cost(n, m.times)
		d := gcra.Peek(m.a.m.limit, m.a.tat(m.k), m.a.m.at(now), cost)
		if !fits {
			d = gcra.Exceeds(d) // which unlimited does not mind
		}
		want = want && d.OK()
	}
	if d := j.Take(n); d.OK() != want {
		return fmt.Errorf("the joint's decision is %v, want ok %v", d.Err(), want)
	}
	if !want {
		return nil
	}
	for _, m := range parts {
		cost, _ := gcra.Cost(n, m.times)
		next, _ := gcra.Allow(m.a.m.limit, m.a.tat(m.k), m.a.m.at(now), cost)
		m.a.put(m.k, next)
	}
	return nil
}

// swept forgets what is full, and nothing else.
func (a *actor) swept(now time.Duration) error {
	if a.lim == nil {
		return nil
	}
	before := a.Len()
	if n := a.lim.Sweep(); before-a.Len() != n {
		return fmt.Errorf("forgot %d of %d keys and left %d", n, before, a.Len())
	}
	if a.m.fresh > a.m.at(now).Tick {
		return nil
	}
	owing := 0
	for id := range hostileIDs {
		if a.m.tat(id) > a.m.at(now).Tick {
			owing++
		}
	}
	if a.Len() != owing {
		return fmt.Errorf("%d keys are left and %d owe", a.Len(), owing)
	}
	return nil
}
