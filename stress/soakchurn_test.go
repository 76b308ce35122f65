package stress_test

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
	"github.com/weir-go/weir/stress"
)

// still0 is a limit without refill: what Save and Load write of it does not
// depend on the time between them.
var still0 = gcra.Per(0, time.Second).Burst(deep)

// forgetting: all buckets are full at the beginning of a round, and are emptied
// while they are swept, or while new keys flood the slots. Exact: a burst of each
// key a round.
func forgetting(s *spell, b bed) (bool, error) {
	const burst, keys = 4, 3
	clk, limit := new(clock.Manual), soakLimit("1000/s burst 4")
	e := b.make(limit, clk)
	if _, ok := e.(tableEngine); ok {
		e = tableEngine{shard.NewTable[uint64](limit, 64, shard.WithClock(clk))}
	}
	sweeper, sweeps := e.(stress.Sweeper)
	_, floods := e.(tableEngine)
	if !sweeps && !floods || b.oneKey {
		return false, nil
	}
	guest := 1 << 20
	for s.decisions.Load() < int64(s.calls*s.goroutines) {
		clk.Advance((burst + 1) * time.Millisecond)
		granted := s.granted.Load()
		first, churner := guest, guest/8%s.goroutines // first or last to run, on one processor
		guest += 8
		s.rush(func(g int) {
			a, took, calls := s.asker(e, g), 0, 0
			for k := range keys {
				if sweeps && (g+first/8)%4 == 0 { // so that one may be the first to run, on one processor too
					sweeper.Sweep()
				}
				for i := first; g == churner && floods && i < first+8; i++ {
					e.AllowN(keyOf(i), 1)
				}
				for ok := true; ok; calls++ {
					if ok = e.AllowN(keyOf(k), 1); ok {
						took++
					}
				}
			}
			a.count(calls, took, 0)
		})
		if err := s.ledger("granted in a round", burst*keys, int(s.granted.Load()-granted)); err != nil {
			return true, err
		}
	}
	if st, ok := e.(interface{ Stats() shard.Stats }); ok {
		s.forgotten = st.Stats().Forgotten
		if floods {
			s.takeovers = s.forgotten
		}
	}
	if l, ok := e.(shardEngine); ok {
		clk.Advance(time.Second)
		l.Sweep()
		left := 0
		for range l.All() {
			left++
		}
		if l.Len() != 0 || left != 0 {
			return true, fmt.Errorf("all are full and swept, but %d keys are counted and %d there", l.Len(), left)
		}
	}
	return true, nil
}

// limitsChange: as still, while the rate changes a hundred times. Exact: whole
// tokens stay whole tokens at these rates, so nothing is rounded.
func limitsChange(s *spell, b bed) (bool, error) {
	var limits [3]gcra.Limit
	for i, rate := range []int{1000, 2000, 500} {
		limits[i] = gcra.PerSecond(rate).Burst(deep)
	}
	e := b.make(limits[0], new(clock.Manual))
	c := changer(e)
	if c == nil {
		return false, nil
	}
	every := max(s.calls/100, 1)
	s.rush(func(g int) {
		a, granted := s.asker(e, g), 0
		for i := range s.calls {
			if g == 0 && i%every == 0 {
				c.SetLimit(limits[i/every%3])
			}
			granted += a.ask(1, i)
		}
		a.count(s.calls, granted, 0)
	})
	return true, s.balance(e, 1, deep-int(s.granted.Load()))
}

// resets: one goroutine resets the bucket that the others empty. Between: a burst
// at least, and another for every reset at most; and exactly one after the last.
func resets(s *spell, b bed) (bool, error) {
	if !b.keeps {
		return false, nil
	}
	const burst = 64
	e := b.make(soakLimit("1000/s burst 64"), new(clock.Manual))
	times := 1
	s.rush(func(g int) {
		a, granted := s.asker(e, g), 0
		for i := range s.calls {
			if g == 0 && i%512 == 511 {
				e.Reset(1)
				times++
			}
			granted += a.ask(1, i&^7|i%7)
		}
		a.count(s.calls, granted, 0)
	})
	if err := s.within("granted around resets", burst, burst*times, int(s.granted.Load())); err != nil {
		return true, err
	}
	e.Reset(1)
	return true, s.balance(e, 1, burst)
}

// moves: as still, while the key's balance is moved to another engine again and
// again. Exact: here it stays, and there it is the same after the last move.
func moves(s *spell, b bed) (bool, error) {
	limit, clk := soakLimit(fmt.Sprintf("1000/s burst %d", deep)), new(clock.Manual)
	e, to := b.make(limit, clk), b.make(limit, clk)
	var move func() error
	switch e := e.(type) {
	case shardEngine:
		move = func() error { return e.Move(1, to.(shardEngine).Limiter) }
	case tableEngine:
		move = func() error { return e.Move(1, to.(tableEngine).Table) }
	default:
		return false, nil
	}
	var once sync.Once
	var failed error
	s.rush(func(g int) {
		a, granted := s.asker(e, g), 0
		for i := range s.calls {
			if g == 0 && i%64 == 0 {
				if err := move(); err != nil {
					once.Do(func() { failed = err })
				}
			}
			granted += a.ask(1, i)
		}
		a.count(s.calls, granted, 0)
	})
	if failed == nil {
		failed = move()
	}
	if failed != nil {
		return true, failed
	}
	left := deep - int(s.granted.Load())
	if err := s.balance(e, 1, left); err != nil {
		return true, err
	}
	return true, s.balance(to, 1, left)
}

// saves: balances are saved and loaded into another limiter while they fall.
// Between: what is loaded is what was there at some instant of the save. At the
// end, when nobody decides, it is exactly what is there.
func saves(s *spell, b bed) (bool, error) {
	const keys = 5
	clk := new(clock.Manual)
	l, ok := b.make(still0, clk).(shardEngine)
	if !ok {
		return false, nil
	}
	look := func(l shardEngine) (left [keys]int) {
		for k := range keys {
			left[k] = l.Peek(keyOf(k), 0).Remaining()
		}
		return left
	}
	restart := func() error {
		var file bytes.Buffer
		before := look(l)
		if err := l.Save(&file); err != nil {
			return err
		}
		after := look(l)
		other := b.make(still0, clk).(shardEngine)
		if err := other.Load(&file); err != nil {
			return err
		}
		for k, left := range look(other) {
			if err := s.within("what was loaded", after[k], before[k], left); err != nil {
				return err
			}
		}
		return nil
	}
	for k := range keys { // a key that comes while a save runs may be missing in it
		s.granted.Add(int64(l.Take(keyOf(k), 1).Granted()))
	}
	var failed error
	s.rush(func(g int) {
		a, granted := s.asker(l, g), 0
		for i := range s.calls {
			if g == 0 && i%max(s.calls/16, 1) == 0 && failed == nil {
				failed = restart()
			}
			granted += a.ask(keyOf(i%keys), i)
		}
		a.count(s.calls, granted, 0)
	})
	if failed != nil {
		return true, failed
	}
	if err := restart(); err != nil {
		return true, err
	}
	total := 0
	for _, left := range look(l) {
		total += deep - left
	}
	return true, s.ledger("what is missing", int(s.granted.Load()), total)
}
