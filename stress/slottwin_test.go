package stress_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/stress"
)

// slotTwins keep their keys in slots of one block, which new keys take over.
var slotTwins = []broken{
	{"hash before TAT", "L6 forget/for room, balances", "the new key pays what the old one takes"},
	{"hash before TAT", "L6 forget/for room, race", "and the old one has more than a burst"},
	{"no claim", "L6 forget/for room, balances", "the new key's TAT is charged under the old one's name"},
	{"inserted twice", "L6 forget/for room, balances", "what the second place was charged is never seen"},
	{"no mark", "L6 forget/for room, lowered", "a TAT that was lowered and taken over looks like before"},
	{"stale insert", "L6 forget/for room, old reading", "a charge dated into the past weighs nothing"},
	{"takes over those who owe", "L6 forget/for room, when full", "debts are lost"},
	{"books without room", "L7 bounded memory/not remembered", "all who are not remembered wake together"},
}

// slotTwin is the table of package shard in small: one run of slots, one lock for
// inserts and for what lowers a TAT, one mark. Where the flaws open a gap between
// two steps, it stalls until something has changed there; the sound one does too.
type slotTwin struct {
	core   gatomic.Core
	gen    *gatomic.Generation
	limit  gcra.Limit
	flaw   string
	admit  bool
	stalls bool // not in the checks that are about other things

	slots   []hashed
	stalled atomic.Uint32
	mark    atomic.Int64
	mu      sync.Mutex
	turns   uint64 // of resets
}

type hashed struct {
	hash atomic.Uint64 // 0: never used
	tat  atomic.Int64  // -1: claimed
}

func slotSubject(_ *testing.T, flaw string) stress.Subject {
	capped := func(limit gcra.Limit, c clock.Clock, keys int, admit bool) stress.Engine {
		e := &slotTwin{limit: limit, flaw: flaw, admit: admit, slots: make([]hashed, keys)}
		e.core.Init(limit, gatomic.WithClock(c))
		e.gen = e.core.Current()
		return e
	}
	return stress.Subject{
		Name: "slots: " + flaw,
		New: func(limit gcra.Limit, c clock.Clock) stress.Engine {
			return capped(limit, c, 1100, false)
		},
		NewCapped: func(limit gcra.Limit, c clock.Clock, keys int, admit bool) stress.Engine {
			e := capped(limit, c, keys, admit)
			e.(*slotTwin).stalls = true
			return e
		},
		Room: func(keys int) int { return keys },
	}
}

// stall lets others run until cond, or for long enough: mostly shortly, and one
// time in eight for as long as several of them need.
func (e *slotTwin) stall(cond func() bool) {
	if !e.stalls {
		return
	}
	yields := 4
	if e.stalled.Add(1)%8 == 0 {
		yields = 150
	}
	for i := 0; i < yields && !cond(); i++ {
		runtime.Gosched()
	}
}

func (e *slotTwin) now() gcra.Instant { return e.gen.At(e.core.Now()) }

// find looks for the key: its TAT first, then whether it was the key's.
func (e *slotTwin) find(key uint64) (*hashed, int64) {
	for i := range e.slots {
		s := &e.slots[i]
		if e.flaw == "hash before TAT" {
			hash := s.hash.Load()
			if hash == 0 {
				return nil, 0
			}
			if hash == key {
				e.stall(func() bool { return s.hash.Load() != key && s.tat.Load() >= 0 })
				if tat := s.tat.Load(); tat >= 0 {
					return s, tat
				}
			}
			continue
		}
		tat := s.tat.Load()
		hash := s.hash.Load()
		if hash == key && tat >= 0 {
			return s, tat
		}
		if hash == 0 && tat == 0 {
			return nil, 0
		}
	}
	return nil, 0
}

// decide makes a decision that may write, and returns the instant of it.
func (e *slotTwin) decide(key uint64, n int, op op) (gcra.Decision, gcra.Instant) {
	for at := e.now(); ; {
		s, tat := e.find(key)
		if s == nil {
			d, then, done := e.insert(key, at, n, op)
			if done {
				return d, then
			}
			continue
		}
		next, d := op(&e.limit, tat, at, n)
		if next == tat {
			return d, at
		}
		e.stall(func() bool { return s.hash.Load() != key && s.tat.Load() == tat })
		if s.tat.CompareAndSwap(tat, next) {
			return d, at
		}
	}
}

func (e *slotTwin) insert(key uint64, at gcra.Instant, n int, op op) (gcra.Decision, gcra.Instant, bool) {
	if e.stalls {
		runtime.Gosched()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if s, _ := e.find(key); s != nil && e.flaw != "inserted twice" {
		return gcra.Decision{}, at, false
	}
	if e.flaw != "stale insert" {
		at = e.now()
	}
	fresh := e.gen.Fresh()
	next, d := op(&e.limit, fresh, at, n)
	if next == fresh {
		return d, at, true
	}
	for i := range e.slots {
		s := &e.slots[i]
		tat, used := s.tat.Load(), s.hash.Load() != 0
		if used && (tat < 0 || tat >= at.Tick && e.flaw != "takes over those who owe" || fresh >= at.Tick) {
			continue
		}
		if used && e.mark.Load() >= at.Tick && e.flaw != "no mark" {
			continue
		}
		claim := int64(-1)
		if e.flaw == "no claim" {
			claim = next
		}
		if !s.tat.CompareAndSwap(tat, claim) {
			continue
		}
		if e.flaw == "no claim" {
			e.stall(func() bool { return s.tat.Load() != next })
			s.hash.Store(key)
		} else {
			s.hash.Store(key)
			runtime.Gosched()
			s.tat.Store(next)
		}
		return d, at, true
	}
	if e.admit {
		// A booking to come is not among what may pass unremembered.
		if d.Granted() < n || gcra.Peek(&e.limit, fresh, at, n).OK() || e.flaw == "books without room" {
			return d, at, true
		}
	}
	return gcra.Refuse(&e.limit, at, n), at, true
}

func (e *slotTwin) AllowN(key uint64, n int) bool { return e.Take(key, n).OK() }

func (e *slotTwin) Take(key uint64, n int) gcra.Decision {
	d, _ := e.decide(key, n, gcra.Take)
	return d
}

func (e *slotTwin) TakeUpTo(key uint64, n int) gcra.Decision {
	d, _ := e.decide(key, n, gcra.TakeUpTo)
	return d
}

func (e *slotTwin) Peek(key uint64, n int) gcra.Decision {
	at := e.now()
	s, tat := e.find(key)
	if s == nil {
		tat = e.gen.Fresh()
	}
	return gcra.Peek(&e.limit, tat, at, n)
}

func (e *slotTwin) Len() (n int) {
	for i := range e.slots {
		if e.slots[i].hash.Load() != 0 {
			n++
		}
	}
	return n
}

// lower puts less into the key's word: under the lock, after the mark is raised.
func (e *slotTwin) lower(key uint64, to func(tat int64, at gcra.Instant) int64) {
	for {
		s, tat := e.find(key)
		if s == nil {
			return
		}
		next := to(tat, e.now())
		if next >= tat {
			return
		}
		if e.mark.Load() < tat {
			e.mark.Store(tat)
		}
		if s.tat.CompareAndSwap(tat, next) {
			return
		}
	}
}

func (e *slotTwin) Reset(key uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.turns++
	e.lower(key, func(_ int64, at gcra.Instant) int64 { return max(e.gen.Fresh(), at.Tick) })
}

func (e *slotTwin) Reserve(key uint64, n int) stress.Reservation {
	r := &slotBooking{e: e, key: key, n: n}
	e.mu.Lock()
	r.turn = e.turns
	e.mu.Unlock()
	d, at := e.decide(key, n, func(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
		b, d := gcra.Book(l, tat, at, at.Tick, n)
		r.b = b
		if !d.OK() {
			return tat, d
		}
		return b.End, d
	})
	r.d, r.at = d, at
	return r
}

type slotBooking struct {
	e    *slotTwin
	key  uint64
	n    int
	turn uint64
	b    gcra.Booking
	d    gcra.Decision
	at   gcra.Instant
	done atomic.Bool
}

func (r *slotBooking) OK() bool { return r.d.OK() }

func (r *slotBooking) Delay() time.Duration {
	if !r.d.OK() {
		return r.d.RetryAfter()
	}
	return gcra.Until(&r.e.limit, r.b.Slot, r.at)
}

func (r *slotBooking) Cancel() { r.Settle(0) }

func (r *slotBooking) Settle(actual int) {
	if actual < 0 || actual >= r.n || !r.d.OK() || r.done.Swap(true) {
		return
	}
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	if r.turn == r.e.turns {
		r.e.lower(r.key, func(tat int64, at gcra.Instant) int64 {
			return gcra.GiveBack(&r.e.limit, tat, at, r.b, r.n-actual)
		})
	}
}
