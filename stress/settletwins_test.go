package stress_test

import (
	"runtime"
	"time"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/stress"
)

// entry is a reservation in the ledger.
type entry struct {
	e     *ledger
	key   uint64
	n     int
	plan  int
	in    *account
	b     gcra.Booking
	delay time.Duration
	ok    bool
	done  bool
}

func (e *ledger) Reserve(key uint64, n int) stress.Reservation {
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	i, p := e.current()
	if e.accounts[key] == nil {
		now = e.now()
	}
	at, tat := e.at(p, now), e.balance(key, i)
	b, d := gcra.Book(&p.limit, tat, at, at.Tick, n)
	r := &entry{e: e, key: key, n: n, plan: i, b: b, ok: d.OK(), delay: d.RetryAfter()}
	if d.OK() {
		if b.End != tat {
			e.put(key, i, b.End)
		}
		r.in, r.delay = e.accounts[key], gcra.Until(&p.limit, b.Slot, at)
		if e.flaw == "promises a slot early" {
			r.delay = max(r.delay-p.limit.Interval(), 0)
		}
	}
	return r
}

func (r *entry) OK() bool             { return r.ok }
func (r *entry) Delay() time.Duration { return r.delay }
func (r *entry) Cancel()              { r.Settle(0) }

func (r *entry) Settle(actual int) {
	e := r.e
	e.mu.Lock()
	defer e.mu.Unlock()
	if actual < 0 && e.flaw != "settles a negative number" || !r.ok || r.done && e.flaw != "returns twice" {
		return
	}
	if e.flaw == "done is marked late" {
		e.mu.Unlock()
		runtime.Gosched()
		e.mu.Lock()
	}
	r.done = true
	if to := e.moved[r.key]; to != nil && e.flaw == "returns where the key is" {
		to.mu.Lock()
		i, p := to.current()
		at := to.at(p, to.now())
		to.put(r.key, i, max(to.balance(r.key, i)-int64(r.n-actual)*tokenOf(&p.limit), at.Tick))
		to.mu.Unlock()
	}
	if actual > r.n {
		e.mu.Unlock()
		e.Debit(r.key, actual-r.n)
		e.mu.Lock()
		return
	}
	for {
		a := e.accounts[r.key]
		if a == nil || a != r.in && e.flaw != "returns after a reset" && e.flaw != "returns after a change" {
			return
		}
		tat := a.tat
		e.mu.Unlock()
		now := e.now()
		e.mu.Lock()
		i, p := e.current()
		if a != e.accounts[r.key] || i != r.plan && e.flaw != "returns after a change" {
			return
		}
		if e.flaw == "returns by what it read" {
			e.mu.Unlock()
			runtime.Gosched()
			e.mu.Lock()
			a.tat = r.back(p, tat, e.at(p, now), r.n-actual)
			return
		}
		if a.tat == tat || e.flaw == "returns by an old reading" {
			a.tat = r.back(p, a.tat, e.at(p, now), r.n-actual)
			return
		}
	}
}

func (r *entry) back(p *plan, tat int64, at gcra.Instant, n int) int64 {
	k := tokenOf(&p.limit)
	part := min(int64(n)*k, r.b.Cost)
	switch r.e.flaw {
	case "returns nothing":
		return tat
	case "settles a negative number":
		return max(tat-int64(n)*k, at.Tick)
	case "returns twice":
		return max(tat-part, min(tat, at.Tick))
	case "returns what is not drained":
		return tat - max(min(part, tat-at.Tick), 0)
	case "returns a part early":
		if at.Tick < r.b.Slot && tat == r.b.End {
			return tat - part
		}
	case "returns what was refilled":
		r.b.From = at.Tick
	}
	return gcra.GiveBack(&p.limit, tat, at, r.b, n)
}

// MoveTo gives the key the smaller of its balances, over there.
func (e *ledger) MoveTo(key uint64, engine stress.Engine) error {
	to, now := engine.(*ledger), e.now()
	e.mu.Lock()
	i, p := e.current()
	tat := e.balance(key, i)
	at := e.at(p, now)
	e.moved[key] = to
	e.mu.Unlock()
	to.mu.Lock()
	defer to.mu.Unlock()
	k, q := to.current()
	then := to.at(q, now)
	to.put(key, k, max(to.balance(key, k), gcra.Convert(tat, &p.limit, at, &q.limit, then)))
	return nil
}
