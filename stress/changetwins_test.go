package stress_test

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/stress"
)

func ledgerSubject(_ *testing.T, flaw string) stress.Subject {
	return stress.Subject{Name: "ledger: " + flaw, New: func(limit gcra.Limit, c clock.Clock) stress.Engine {
		e := &ledger{flaw: flaw, clock: c, born: c.Now(), accounts: make(map[uint64]*account), moved: make(map[uint64]*ledger)}
		first := plan{limit: limit, settled: true}
		first.fresh = gcra.Fresh(&limit, gcra.At(&limit, 0))
		e.plans = []*plan{&first}
		return e
	}}
}

// A ledger is a limiter with all of L4 and L5, the plain way.
type ledger struct {
	flaw     string
	clock    clock.Clock
	born     time.Duration
	mu       sync.Mutex
	plans    []*plan
	accounts map[uint64]*account
	moved    map[uint64]*ledger
}

type plan struct {
	limit   gcra.Limit
	since   time.Duration
	fresh   int64
	settled bool
}

type account struct {
	plan int
	tat  int64
}

func (e *ledger) now() time.Duration { return e.clock.Now() - e.born }

// current returns the plan in force, with mu held; it may be let go meanwhile.
func (e *ledger) current() (int, *plan) {
	for {
		i := len(e.plans) - 1
		p := e.plans[i]
		if p.settled {
			return i, p
		}
		e.mu.Unlock()
		now := e.now() // after the publication
		e.mu.Lock()
		e.settle(i, now)
	}
}

func (e *ledger) settle(i int, now time.Duration) {
	p := e.plans[i]
	if p.settled {
		return
	}
	p.since, p.settled = now, true
	p.fresh = e.convert(e.plans[i-1].fresh, i-1, i)
	if e.flaw == "fresh stays" {
		p.fresh = gcra.At(&p.limit, now).Tick
	}
}

func (e *ledger) at(p *plan, now time.Duration) gcra.Instant {
	if e.flaw != "instants before S" {
		now = max(now, p.since)
	}
	return gcra.At(&p.limit, now)
}

// convert brings a TAT from one plan to a later one.
func (e *ledger) convert(tat int64, from, to int) int64 {
	if e.flaw == "a parity bit" && (to-from)%2 == 0 {
		return tat
	}
	for i := from; i < to; i++ {
		old, next := e.plans[i], e.plans[i+1]
		at, then := gcra.At(&old.limit, next.since), gcra.At(&next.limit, next.since)
		was := tat
		tat = gcra.Convert(tat, &old.limit, at, &next.limit, then)
		full := next.limit.Capacity()
		k := tokenOf(&next.limit)
		switch e.flaw {
		case "a change refills":
			tat = then.Tick
		case "a change keeps ticks":
			tat = then.Tick + max(was-at.Tick, 0)
		case "a change forgets debt":
			tat = min(tat, then.Tick+int64(full)*k)
		case "a change keeps more than the burst":
			if next.limit.Capacity() < old.limit.Capacity() {
				tat = then.Tick + min(max(was-at.Tick, 0), int64(full)*k) - 1
			}
		case "a change drops fractions":
			if missing := tat - then.Tick; k > 0 && missing%k != 0 {
				tat += k - missing%k
			}
		}
	}
	return tat
}

// tokenOf is the ticks in a token: none of Unlimited and none of the zero Limit.
func tokenOf(l *gcra.Limit) int64 {
	b, _ := gcra.Book(l, 0, gcra.Instant{}, 0, 1)
	return b.Cost
}

func (e *ledger) balance(key uint64, i int) int64 {
	a := e.accounts[key]
	if a == nil {
		return e.plans[i].fresh
	}
	return e.convert(a.tat, a.plan, i)
}

func (e *ledger) decide(key uint64, n int, op op) gcra.Decision {
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	i, p := e.current()
	if e.accounts[key] == nil {
		now = e.now() // a whole life of the account may have passed
	}
	tat := e.balance(key, i)
	next, d := op(&p.limit, tat, e.at(p, now), n)
	if next != tat {
		e.put(key, i, next)
	}
	return d
}

func (e *ledger) put(key uint64, i int, tat int64) {
	if a := e.accounts[key]; a != nil && a.plan == i {
		a.tat = tat
	} else {
		e.accounts[key] = &account{i, tat}
	}
}

func (e *ledger) AllowN(key uint64, n int) bool            { return e.Take(key, n).OK() }
func (e *ledger) Take(key uint64, n int) gcra.Decision     { return e.decide(key, n, gcra.Take) }
func (e *ledger) TakeUpTo(key uint64, n int) gcra.Decision { return e.decide(key, n, gcra.TakeUpTo) }

func (e *ledger) Peek(key uint64, n int) gcra.Decision {
	return e.decide(key, n, func(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
		return tat, gcra.Peek(l, tat, at, n)
	})
}

func (e *ledger) Debit(key uint64, n int) gcra.Decision {
	return e.decide(key, n, func(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
		debt := l.Capacity()
		if e.flaw == "debt without bound" {
			debt = math.MaxInt
		}
		next, d := gcra.Debit(l, tat, at, n, debt)
		if e.flaw == "debt is lost" {
			next = min(next, max(tat, at.Tick+int64(l.Capacity())*tokenOf(l)))
		}
		return next, d
	})
}

func (e *ledger) Reset(key uint64) {
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	i, p := e.current()
	if e.balance(key, i) > max(p.fresh, e.at(p, now).Tick) {
		delete(e.accounts, key)
	}
}

func (e *ledger) Len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.accounts)
}

func (e *ledger) Sweep() (forgotten int) {
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	i, p := e.current()
	for key, a := range e.accounts {
		tat, at := e.balance(key, i), e.at(p, now).Tick
		if e.flaw == "judged by the old limit" {
			tat, at = a.tat, e.at(e.plans[a.plan], now).Tick
		}
		if tat <= at && p.fresh <= e.at(p, now).Tick {
			delete(e.accounts, key)
			forgotten++
		}
	}
	return forgotten
}

func (e *ledger) SetLimit(limit gcra.Limit) {
	early := time.Duration(0)
	if e.flaw == "S before publication" {
		early = e.now()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	i, p := e.current()
	if p.limit == limit && e.flaw == "an equal limit drops fractions" {
		k := tokenOf(&limit)
		for _, a := range e.accounts {
			a.tat = e.convert(a.tat, a.plan, i)
			a.plan, a.tat = i, a.tat+k-a.tat%k
		}
	}
	if p.limit == limit && e.flaw != "an equal limit is a change" {
		return
	}
	e.plans = append(e.plans, &plan{limit: limit})
	if e.flaw == "S before publication" {
		e.settle(len(e.plans)-1, early)
	}
	e.current()
}
