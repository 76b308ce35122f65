package stress

import (
	"fmt"
	"math/big"
	"runtime"
	"time"
)

// serial lets goroutines race by decisions of every kind at one instant, and
// looks for an order of theirs in which the rational bucket gives each the answer
// that it got: granted, remaining, and when a booking's slot comes.
func serial(s Subject) error {
	const burst = 12
	clk, rng := s.clock(), seeded(9)
	limit := limitOf("1000/s burst 12")
	e, b, mixed := s.New(limit, clk), s.bucket(limit, burst), 0
	rounds := s.rounds(3000)
	for round := range rounds {
		clk.Advance(time.Duration(rng.IntN(10)) * time.Millisecond) // whole tokens
		b.fillTo(clk.now())
		left := int(new(big.Int).Div(b.level.Num(), b.level.Denom()).Int64())
		var asked [racers][]answer
		for i := range racers {
			for range 3 {
				asked[i] = append(asked[i], answer{way: rng.IntN(6), n: rng.IntN(5)})
			}
		}
		race(func(i int) int {
			for k := range asked[i] {
				asked[i][k].ask(e, left > -burst)
				runtime.Gosched()
			}
			return 0
		})
		o := orders{asked: asked, burst: burst, seen: make(map[[racers]int]bool)}
		after, switches, ok := o.search([racers]int{}, left, 0, 0)
		if !ok {
			return errorf("round %d: no order of these explains their answers, with %d tokens at the beginning: %v", round, left, asked)
		}
		if switches >= racers {
			mixed++
		}
		if got := e.Peek(1, 0).Remaining(); got != max(after, 0) {
			return errorf("round %d: %d tokens are left, want %d", round, got, after)
		}
		b.level.Sub(b.level, big.NewRat(int64(left-after), 1))
	}
	if mixed == 0 {
		return errorf("in none of %d rounds did decisions mix, so nothing is proved", rounds)
	}
	return nil
}

// An answer is one decision: what was asked, and what came of it.
type answer struct {
	way, n    int
	ok        bool
	granted   int
	remaining int // -1: not told
	delay     time.Duration
}

func (a answer) String() string {
	return fmt.Sprintf("%s(%d)=%v/%d/%d/%v", [...]string{"AllowN", "Take", "TakeUpTo", "Peek", "Reserve", "Debit"}[a.way], a.n, a.ok, a.granted, a.remaining, a.delay)
}

// ask makes the decision. What the engine does not have becomes a Take, and so
// does what would add to a debt that is not allowed.
func (a *answer) ask(e Engine, mayOwe bool) {
	r, reserves := e.(Reserver)
	d, debits := e.(Debtor)
	if a.way == 4 && !(reserves && mayOwe) || a.way == 5 && !(debits && mayOwe) {
		a.way = 1
	}
	a.remaining = -1
	switch a.way {
	case 0:
		if a.ok = e.AllowN(1, a.n); a.ok {
			a.granted = a.n
		}
	case 4:
		booked := r.Reserve(1, a.n)
		if a.ok, a.delay = booked.OK(), booked.Delay(); a.ok {
			a.granted = a.n
		}
	default:
		got := e.Take
		switch a.way {
		case 2:
			got = e.TakeUpTo
		case 3:
			got = e.Peek
		case 5:
			got = d.Debit
		}
		d := got(1, a.n)
		a.ok, a.granted, a.remaining = d.OK(), d.Granted(), d.Remaining()
	}
}

// follows reports whether a bucket with so many tokens gives this answer, and
// what it has then.
func (a answer) follows(left, burst int) (after int, ok bool) {
	want, granted, delay := a.n <= left || a.n == 0, a.n, time.Duration(0)
	switch a.way {
	case 2:
		granted = min(a.n, max(left, 0))
		want = granted > 0 || a.n == 0
	case 4:
		want = true
		if a.n > left && a.n > 0 {
			delay = time.Duration(a.n-left) * time.Millisecond
		}
	case 5:
		granted = min(a.n, max(left+burst, 0))
		want = granted > 0 || a.n == 0
	}
	if !want || a.way == 3 {
		granted = 0
	}
	after = left - granted
	return after, a.ok == want && a.granted == granted && a.delay == delay &&
		(a.remaining < 0 || a.remaining == max(after, 0))
}

// orders looks for an order, depth first, at each step with the goroutine of the
// last one before others: so that the order that it finds switches only where it
// has to.
type orders struct {
	asked [racers][]answer
	burst int
	seen  map[[racers]int]bool
}

func (o *orders) search(at [racers]int, left, last, switches int) (after, switched int, ok bool) {
	if o.seen[at] { // what is left follows from it
		return 0, 0, false
	}
	o.seen[at] = true
	end := true
	for k := range racers {
		i := (last + k) % racers
		if at[i] == len(o.asked[i]) {
			continue
		}
		end = false
		next, fits := o.asked[i][at[i]].follows(left, o.burst)
		if !fits {
			continue
		}
		n := switches
		if i != last {
			n++
		}
		to := at
		to[i]++
		if after, n, ok := o.search(to, next, i, n); ok {
			return after, n, true
		}
	}
	return left, switches, end
}
