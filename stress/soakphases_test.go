package stress_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/stress"
)

// deep is a burst that no phase empties: a bucket of it that was made full, while
// its clock stands still, lacks exactly what was taken. One that was made empty
// never gets full, so that nothing of its refill is ever spilt.
const deep = 1 << 30

// asker is one goroutine of a crowd, which asks in all ways that there are.
type asker struct {
	s    *spell
	e    stress.Engine
	rng  *rand.Rand
	last int // what was left after its last grant
	met  int64
}

func (s *spell) asker(e stress.Engine, i int) *asker {
	return &asker{s: s, e: e, rng: rand.New(rand.NewPCG(s.seed, uint64(i))), last: -1}
}

// ask makes one decision, of the i-th kind, and returns the tokens that it
// took. One in a while it lets others run, who would not on one processor.
func (a *asker) ask(key uint64, i int) (granted int) {
	n := 1 + i%3
	switch i % 8 {
	case 0, 3:
		if a.e.AllowN(key, n) {
			granted = n
		}
	case 1, 4, 6:
		d := a.e.Take(key, n)
		granted = d.Granted()
	case 2, 5:
		granted = a.e.TakeUpTo(key, n).Granted()
	case 7:
		if d := debtor(a.e); d != nil {
			granted = d.Debit(key, n).Granted()
		} else {
			granted = a.e.Take(key, n).Granted()
		}
	}
	if a.rng.Uint32()%64 == 0 {
		runtime.Gosched()
	}
	return granted
}

// count books a goroutine's part.
func (a *asker) count(decisions, granted, returned int) {
	a.s.decisions.Add(int64(decisions))
	a.s.granted.Add(int64(granted))
	a.s.returned.Add(int64(returned))
	a.s.handoffs.Add(a.met)
}

// after counts a grant of n tokens after which left are there, on a clock that
// stands still: what is missing beside them, others took since the last one.
func (a *asker) after(n, left int) {
	if a.last >= 0 && left < a.last-n {
		a.met++
	}
	a.last = left
}

// still: the clock stands still and one bucket is asked in all ways. Exact: it
// lacks what was granted and did not come back, and a reservation whose slot is
// now comes back whole.
func still(s *spell, b bed) (bool, error) {
	e := b.make(soakLimit(fmt.Sprintf("1000/s burst %d", deep)), new(clock.Manual))
	s.rush(func(g int) {
		a := s.asker(e, g)
		granted, returned := 0, 0
		for i := range s.calls {
			switch r := reserver(e); {
			case i%16 == 9 && r != nil:
				booked := r.Reserve(1, 3)
				if granted += 3; i%32 < 16 {
					booked.Cancel()
					returned += 3
				} else {
					booked.Settle(1)
					returned += 2
				}
				booked.Cancel() // once more: that gives back nothing
				a.last = -1
			case i%4 == 0:
				d := e.Take(1, 1)
				granted += d.Granted()
				a.after(1, d.Remaining())
				if i%256 == 0 {
					runtime.Gosched()
				}
			default:
				n := a.ask(1, i)
				if granted += n; a.last >= 0 {
					a.last -= n
				}
			}
		}
		a.count(s.calls, granted, returned)
	})
	return true, s.balance(e, 1, deep-int(s.granted.Load()-s.returned.Load()))
}

// moving: the buckets begin empty and one goroutine in a crowd moves the clock.
// Exact: what refilled until the end was granted or is left.
func moving(s *spell, b bed) (bool, error) {
	clk := new(clock.Manual)
	var gate sync.RWMutex
	return true, s.flow(b, clk, func(ask func()) {
		if b.rolls {
			gate.RLock()
			defer gate.RUnlock()
		}
		ask()
	}, func(i int) {
		if b.rolls { // a joint rolls back at the instant of its charge
			gate.Lock()
			defer gate.Unlock()
		}
		clk.Advance(time.Duration(i%7) * time.Microsecond)
	}, false, func() time.Duration { return clk.Now() })
}

// flow asks buckets that begin empty for their refill, and lets one goroutine
// move the clock before every fourth decision of its own. Where parts of the
// refill may be spilt, it is no more than the refused had asked for.
func (s *spell) flow(b bed, clk clock.Clock, around func(ask func()), advance func(i int), spills bool, elapsed func() time.Duration) error {
	const keys = 3
	limit := soakLimit(fmt.Sprintf("1000000/s burst %d start 0", deep))
	e := b.make(limit, clk)
	var took, refused [keys]atomic.Int64
	s.rush(func(g int) {
		a, granted := s.asker(e, g), 0
		for i := range s.calls {
			if g == 0 && i%4 == 0 {
				advance(i)
			}
			k := i % keys
			if b.oneKey {
				k = 0
			}
			// No Debit, which would charge what is still to come.
			around(func() {
				n := a.ask(keyOf(k), i&^7|i%7)
				granted += n
				took[k].Add(int64(n))
				if n == 0 {
					refused[k].Add(3)
				}
			})
		}
		a.count(s.calls, granted, 0)
	})
	refilled := int(elapsed() / time.Microsecond)
	for k := range keys {
		if b.oneKey && k > 0 {
			break
		}
		spilt := 0
		if spills && b.rolls {
			spilt = int(refused[k].Load())
		}
		if err := s.kept(e, keyOf(k), refilled-int(took[k].Load()), spilt); err != nil {
			return err
		}
	}
	return nil
}

// givenBack: as moving, but all is reserved and much of it given back while the
// clock moves. Between: what comes back is between nothing and what was taken.
func givenBack(s *spell, b bed) (bool, error) {
	clk := new(clock.Manual)
	e := b.make(soakLimit(fmt.Sprintf("1000000/s burst %d start 0", deep)), clk)
	r := reserver(e)
	if r == nil {
		return false, nil
	}
	s.rush(func(g int) {
		granted, returned := 0, 0
		for i := range s.calls {
			if g == 0 && i%4 == 0 {
				clk.Advance(time.Duration(i%13) * time.Microsecond)
			}
			booked := r.Reserve(1, 2)
			if !booked.OK() {
				continue
			}
			granted += 2
			if i%4 == 1 {
				runtime.Gosched()
			}
			if i%4 != 0 {
				booked.Cancel()
				returned += 2
			}
		}
		s.asker(e, g).count(2*s.calls, granted, returned)
	})
	clk.Advance(time.Duration(s.granted.Load()) * time.Microsecond) // until nobody owes
	refilled := int(clk.Now() / time.Microsecond)
	least, most := has(e, 1)
	taken := int(s.granted.Load())
	if err := s.within("what is left", refilled-taken, refilled-taken+int(s.returned.Load()), least); err != nil {
		return true, err
	}
	return true, s.within("what is left", refilled-taken, refilled-taken+int(s.returned.Load()), most)
}

// realTime: as moving, with the system's clock. Between: what refilled from the
// engine's first reading, which lies between two of ours, to its last.
func realTime(s *spell, b bed) (bool, error) {
	limit := soakLimit(fmt.Sprintf("1000000/s burst %d start 0", deep))
	clk := clock.System()
	before := clk.Now()
	e := b.make(limit, clk)
	var spilt atomic.Int64 // at most, in a joint
	made := clk.Now()
	s.rush(func(g int) {
		a, granted := s.asker(e, g), 0
		for i := range s.calls {
			n := a.ask(1, i&^7|i%7)
			if granted += n; n == 0 && b.rolls {
				spilt.Add(3)
			}
		}
		a.count(s.calls, granted, 0)
	})
	asked := clk.Now()
	least, most := has(e, 1)
	end := clk.Now()
	granted := int(s.granted.Load())
	if err := s.within("granted and left", limit.Within(asked-made)-deep-1-int(spilt.Load()), limit.Within(end-before)-deep, granted+least); err != nil {
		return true, err
	}
	return true, s.within("granted and left", limit.Within(asked-made)-deep-1-int(spilt.Load()), limit.Within(end-before)-deep, granted+most)
}
