package stress

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A Reserver is an Engine that books ahead and takes back what was not used.
type Reserver interface {
	Reserve(key uint64, n int) Reservation
}

// A Reservation is what a Reserver booked.
type Reservation interface {
	OK() bool
	Delay() time.Duration // until the slot
	Settle(actual int)
	Cancel()
}

// A Debtor is an Engine that charges what was already used, into a debt of at
// most one burst.
type Debtor interface {
	Debit(key uint64, n int) gcra.Decision
}

// A Mover is an Engine whose keys can move to another that the same subject made,
// under another limit.
type Mover interface {
	MoveTo(key uint64, to Engine) error
}

// Checks of law L4: what comes back of a booking and what is charged into debt.

// returns goes through what comes back, case by case: one token a second, a
// burst of 4.
func returns(s Subject) error {
	type engine struct {
		Engine
		clk  *handClock
		held []Reservation
	}
	reserve := func(e *engine, n int) { e.held = append(e.held, e.Engine.(Reserver).Reserve(1, n)) }
	change := func(e *engine, limit string) {
		if c, ok := e.Engine.(Changer); ok {
			c.SetLimit(limitOf(limit))
		}
	}
	for _, row := range []struct {
		do   func(e *engine)
		left int           // whole tokens
		next time.Duration // until there is one
		why  string
	}{
		{func(e *engine) { reserve(e, 3); e.held[0].Cancel() }, 4, 0, "all at once"},
		{func(e *engine) { reserve(e, 3); e.held[0].Settle(1) }, 3, 0, "a part, since the slot is now"},
		{func(e *engine) { reserve(e, 3); e.held[0].Settle(3) }, 1, 0, "all was used"},
		{func(e *engine) { reserve(e, 3); e.held[0].Cancel(); e.held[0].Cancel() }, 4, 0, "twice is once"},
		{func(e *engine) { e.Take(1, 3); reserve(e, 1); e.held[0].Cancel(); e.held[0].Cancel() }, 1, 0, "twice is once, where more is missing"},
		{func(e *engine) { e.Take(1, 2); reserve(e, 2); e.held[0].Settle(1); e.held[0].Settle(0) }, 1, 0, "the first settlement counts"},
		{func(e *engine) { e.Take(1, 2); reserve(e, 1); e.held[0].Settle(-1); e.held[0].Settle(-5) }, 1, 0, "a negative number is ignored"},
		{func(e *engine) { reserve(e, 4); e.clk.Advance(2 * time.Second); e.held[0].Cancel() }, 4, 0, "two refilled and two come back"},
		{func(e *engine) { reserve(e, 4); e.clk.Advance(2 * time.Second); e.Take(1, 2); e.held[0].Cancel() }, 2, 0, "what was refilled and taken does not"},
		{func(e *engine) { reserve(e, 4); e.clk.Advance(4 * time.Second); e.Take(1, 4); e.held[0].Cancel() }, 0, time.Second, "a cancel after the bucket refilled grants nothing"},
		{func(e *engine) { e.Take(1, 4); reserve(e, 1); reserve(e, 1); e.held[0].Cancel() }, 0, 3 * time.Second, "the earlier of two bookings: its slot stays empty"},
		{func(e *engine) { e.Take(1, 4); reserve(e, 1); reserve(e, 1); e.held[1].Cancel() }, 0, 2 * time.Second, "the last before its slot: whole"},
		{func(e *engine) { e.Take(1, 4); reserve(e, 3); e.held[0].Settle(1) }, 0, 4 * time.Second, "a part before its slot: nothing"},
		{func(e *engine) { e.Take(1, 4); reserve(e, 2); e.Reset(1); e.Take(1, 3); e.held[0].Cancel() }, 1, 0, "nothing across a reset"},
		{func(e *engine) { reserve(e, 5); reserve(e, -1); e.held[0].Cancel(); e.held[1].Settle(2) }, 4, 0, "a reservation that failed took nothing and returns nothing"},
		{func(e *engine) { reserve(e, 0); e.held[0].Cancel() }, 4, 0, "a cost of 0"},
		{func(e *engine) { reserve(e, 3); change(e, "1/s burst 4"); e.held[0].Cancel() }, 4, 0, "an equal limit is no change"},
	} {
		clk := s.clock()
		e := &engine{Engine: s.New(limitOf("1/s burst 4"), clk), clk: clk}
		row.do(e)
		if d := e.Peek(1, 1); d.Remaining() != row.left || d.RetryAfter() != row.next {
			return errorf("%d tokens are left and one is there in %v, want %d and %v: %s", d.Remaining(), d.RetryAfter(), row.left, row.next, row.why)
		}
	}
	return nil
}

// returnAcrossChange: nothing comes back after the limit has changed, nor after
// it has changed back.
func returnAcrossChange(s Subject) error {
	for _, limits := range [][]string{{"2/s burst 4"}, {"2/s burst 4", "1/s burst 4"}, {"1/s burst 5", "1/m burst 4", "1/s burst 4"}} {
		e := s.New(limitOf("1/s burst 4"), s.clock())
		r := e.(Reserver).Reserve(1, 3)
		for _, limit := range limits {
			e.(Changer).SetLimit(limitOf(limit))
		}
		if r.Cancel(); e.Peek(1, 1).Remaining() != 1 {
			return errorf("a reservation was returned across %d changes of limit", len(limits))
		}
	}
	return nil
}

// returnAcrossMove: a reservation comes back where it was made, and nothing of it
// where the key has moved to. There it has the smaller balance of the two.
func returnAcrossMove(s Subject) error {
	clk := s.clock()
	e, to := s.New(limitOf("1/s burst 4"), clk), s.New(limitOf("2/s burst 6"), clk)
	r := e.(Reserver).Reserve(1, 3)
	to.Take(1, 2)
	if err := e.(Mover).MoveTo(1, to); err != nil {
		return errorf("moving: %w", err)
	}
	if got := to.Peek(1, 0).Remaining(); got != 1 {
		return errorf("a key that moved with 1 token, to where it had 4, has %d", got)
	}
	r.Cancel()
	if here, there := e.Peek(1, 0).Remaining(), to.Peek(1, 0).Remaining(); here != 4 || there != 1 {
		return errorf("a reservation that was canceled after a move left %d tokens where it was made and %d where the key is, want 4 and 1", here, there)
	}
	if err := e.(Mover).MoveTo(1, to); err != nil || to.Peek(1, 0).Remaining() != 1 {
		return errorf("a move with 4 tokens to where the key has 1 left %d, err %v", to.Peek(1, 0).Remaining(), err)
	}
	return nil
}

// executed plays random histories of one key each, and checks law L1 over the
// tokens that were really used, at their slots. What was charged into debt
// counts in a window whose burst is as much larger.
func executed(s Subject) error {
	histories := s.rounds(20_000)
	rng := seeded(4)
	var u used
	var e Engine
	var clk *handClock
	cancelled, debited := 0, 0
	for i := range histories {
		if e == nil || s.OneKey || i%1000 == 0 {
			clk = s.clock()
			u.k, u.burst = time.Duration(1+rng.IntN(6))*s.unit(), 1+rng.IntN(4)
			e = s.New(gcra.Every(u.k).Burst(u.burst), clk)
		}
		u.grants, u.debits = u.grants[:0], u.debits[:0]
		c, d := u.play(rng, e, clk, keyOf(i))
		cancelled, debited = cancelled+c, debited+d
		if err := u.check(); err != nil {
			return errorf("history %d, 1 per %v burst %d: %w", i, u.k, u.burst, err)
		}
	}
	if _, ok := e.(Debtor); cancelled < histories || ok && debited < histories/4 {
		return errorf("%d settled for less and %d for more in %d histories: too little for a proof", cancelled, debited, histories)
	}
	return nil
}

type used struct {
	k      time.Duration // of a token
	burst  int
	grants []slot
	debits []slot
}

type slot struct {
	at time.Duration
	n  int
}

func (u *used) play(rng *rand.Rand, e Engine, clk *handClock, key uint64) (cancelled, debited int) {
	type held struct {
		Reservation
		n, grant int
	}
	var queue []held
	for range 5 + rng.IntN(10) {
		if rng.IntN(3) > 0 {
			clk.Advance(pause(rng, 2*u.k))
		}
		now, n := clk.now(), 1+rng.IntN(u.burst)
		switch op := rng.IntN(8); {
		case op == 0:
			if e.Take(key, n).OK() {
				u.grants = append(u.grants, slot{now, n})
			}
		case op < 4 && len(queue) < 6:
			r := e.(Reserver).Reserve(key, n)
			queue = append(queue, held{r, n, len(u.grants)})
			u.grants = append(u.grants, slot{now + r.Delay(), n})
		case len(queue) > 0:
			i := len(queue) - 1
			if rng.IntN(2) == 0 {
				i = rng.IntN(len(queue))
			}
			r := queue[i]
			queue = slices.Delete(queue, i, i+1)
			actual := rng.IntN(r.n + 1)
			if _, ok := e.(Debtor); ok && rng.IntN(3) == 0 {
				before := e.Peek(key, 0).ResetAfter()
				r.Settle(r.n + n)
				if more := e.Peek(key, 0).ResetAfter() - before; more > 0 {
					u.debits = append(u.debits, slot{now, int(more / u.k)}) // as many as fitted
					debited++
				}
				break
			}
			r.Settle(actual)
			u.grants[r.grant].n = actual
			cancelled++
		}
	}
	return cancelled, debited
}

// check checks every window, by the level of the bucket that was taken from.
func (u *used) check() error {
	inOrder := func(a, b slot) int { return cmp.Compare(a.at, b.at) }
	within := func(slots []slot, burst int) error {
		slices.SortFunc(slots, inOrder)
		level, last := time.Duration(0), time.Duration(0) // what is missing, as time
		for _, g := range slots {
			level = max(level-(g.at-last), 0) + time.Duration(g.n)*u.k
			if last = g.at; level > time.Duration(burst)*u.k {
				return errorf("a window that ends at %v has more than its refill and a burst of %d: %v", g.at, burst, slots)
			}
		}
		return nil
	}
	if err := within(u.grants, u.burst); err != nil {
		return err
	}
	return within(append(u.grants, u.debits...), 2*u.burst)
}

// debts compares Debit with a bucket that may lack one burst: every charge, and
// what is there afterwards.
func debts(s Subject) error {
	for i, row := range rows {
		limit, clk, rng := limitOf(row.limit), s.clock(), seeded(uint64(100+i))
		e, b := s.New(limit, clk), s.bucket(limit, row.start)
		burst, fill := limit.Capacity(), min(limit.FillTime(), time.Hour)
		for op := range s.rounds(600) {
			clk.Advance(pause(rng, fill/time.Duration(burst)*2+fill*time.Duration(rng.IntN(2))+2))
			now := clk.now()
			n := [...]int{0, 1, 2, burst, 3 * burst, -1, 1 + rng.IntN(burst)}[rng.IntN(7)]
			b.fillTo(now)
			want := b.debit(n)
			if d := e.(Debtor).Debit(1, n); d.Granted() != want || d.OK() != (want > 0 || n == 0) {
				return errorf("%s, operation %d: a debit of %d charged %d, err %v; want %d", row.limit, op, n, d.Granted(), d.Err(), want)
			}
			if err := b.check(now, 1, false, true, e.Peek(1, 1)); err != nil {
				return errorf("%s, operation %d, after a debit of %d: %w", row.limit, op, n, err)
			}
		}
	}
	return nil
}
