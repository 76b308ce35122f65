package shard

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// A model is what a table is without slots: the TAT of every key in a map, one
// limit after another, and nothing forgotten.
type model struct {
	limit   *gcra.Limit
	born    time.Duration
	shift   time.Duration
	fresh   int64
	tats    map[int]int64
	resets  map[int]int
	changes int
}

func newModel(limit gcra.Limit, born time.Duration) *model {
	m := &model{limit: &limit, born: born, shift: born - limit.Birth(born), tats: map[int]int64{}, resets: map[int]int{}}
	m.fresh = gcra.Fresh(m.limit, m.at(born))
	return m
}

func (m *model) at(now time.Duration) gcra.Instant {
	e := now - m.born
	return gcra.At(m.limit, e+min(m.shift, gcra.Never-e))
}

func (m *model) tat(key int) int64 {
	if tat, ok := m.tats[key]; ok {
		return tat
	}
	return m.fresh
}

// full reports whether the key is as good as one never seen.
func (m *model) full(key int, at gcra.Instant) bool {
	return m.tat(key) <= at.Tick && m.fresh <= at.Tick
}

func (m *model) set(limit gcra.Limit, now time.Duration) {
	if limit == *m.limit {
		return
	}
	at, from := m.at(now), m.limit
	full := map[int]bool{}
	for key := range m.tats {
		full[key] = m.full(key, at)
	}
	m.limit, m.shift = &limit, m.born-limit.Birth(m.born)
	then := m.at(now)
	m.fresh = gcra.Convert(m.fresh, from, at, m.limit, then)
	for key, tat := range m.tats {
		if m.tats[key] = gcra.Convert(tat, from, at, m.limit, then); full[key] {
			m.tats[key] = m.fresh
		}
	}
	m.changes++
}

func (m *model) reset(key int, now time.Duration) {
	if next := max(m.fresh, m.at(now).Tick); m.tat(key) > next {
		m.tats[key] = next
		m.resets[key]++
	}
}

// A loan is a reservation in the model.
type loan struct {
	key, n          int
	b               gcra.Booking
	ok, gone        bool
	changes, resets int
}

func (m *model) book(key, n int, now time.Duration) (loan, gcra.Decision, time.Duration) {
	at, tat := m.at(now), m.tat(key)
	b, d := gcra.Book(m.limit, tat, at, at.Tick, n)
	lo := loan{key: key, n: n, b: b, ok: d.OK(), changes: m.changes, resets: m.resets[key]}
	if !d.OK() {
		return lo, d, d.RetryAfter()
	}
	if b.End != tat {
		m.tats[key] = b.End
	}
	return lo, d, gcra.Until(m.limit, b.Slot, at)
}

func (m *model) settle(lo *loan, actual int, now time.Duration) {
	if actual < 0 || !lo.ok || lo.gone {
		return
	}
	lo.gone = true
	if actual > lo.n {
		next, _ := gcra.Debit(m.limit, m.tat(lo.key), m.at(now), actual-lo.n, m.limit.Capacity())
		m.put(lo.key, next)
	} else if lo.changes == m.changes && lo.resets == m.resets[lo.key] {
		m.put(lo.key, gcra.GiveBack(m.limit, m.tat(lo.key), m.at(now), lo.b, lo.n-actual))
	}
}

func (m *model) put(key int, tat int64) {
	if tat != m.tat(key) {
		m.tats[key] = tat
	}
}

// move is Move to another model.
func (m *model) move(key int, to *model, now time.Duration) {
	moved := gcra.Convert(m.tat(key), m.limit, m.at(now), to.limit, to.at(now))
	to.put(key, max(moved, to.tat(key)))
}

// sameDecision compares all that a decision says.
func sameDecision(got, want gcra.Decision) error {
	if got.Err() != want.Err() || got.OK() != want.OK() || got.Granted() != want.Granted() || got.Remaining() != want.Remaining() ||
		got.RetryAfter() != want.RetryAfter() || got.ResetAfter() != want.ResetAfter() || got.Limit() != want.Limit() {
		return fmt.Errorf("err %v, granted %d, remaining %d, retry %v, reset %v under %v; want %v, %d, %d, %v, %v under %v",
			got.Err(), got.Granted(), got.Remaining(), got.RetryAfter(), got.ResetAfter(), got.Limit(),
			want.Err(), want.Granted(), want.Remaining(), want.RetryAfter(), want.ResetAfter(), want.Limit())
	}
	return nil
}

var modelLimits = []string{
	"1000/s burst 5", "333/s burst 3", "99/s burst 7", "1/ms burst 2", "6/3s burst 10 step 3s", "40/s burst 4 step 25ms",
	"250/s burst 6 start 0", "250/s burst 6 start 3", "500/s burst 1", "999999937/s burst 7", "0/s burst 9", "unlimited", "none",
}

// TestTableAgainstModel plays random histories of many keys on tables of few
// slots, which are taken over all the time, and compares every number of every
// decision. Who is turned away must be full, and there must be no slot for it.
func TestTableAgainstModel(t *testing.T) {
	ops, seeds := 40_000, 30
	if raceSlow > 0 || testing.Short() {
		ops = 4_000
	}
	for _, changing := range []bool{false, true} {
		var taken, capped int64
		for seed := range uint64(seeds) {
			g := newGame(t, seed, changing)
			for op := range ops {
				err := g.play(op)
				if err == nil && op%200 == 0 {
					err = g.audit()
				}
				if err != nil {
					t.Fatalf("seed %d, operation %d at %v under %v and %v: %v", seed, op, g.clk.Now(), g.sides[0].m.limit, g.sides[1].m.limit, err)
				}
			}
			for _, s := range g.sides {
				n := s.l.Stats()
				taken, capped = taken+n.Forgotten, capped+n.Capped
			}
		}
		t.Logf("changing limits %v: %d slots taken over, %d keys turned away in %d operations", changing, taken, capped, seeds*ops)
		if taken < int64(ops)/4 || capped < int64(ops)/100 {
			t.Errorf("%d slots taken over and %d keys turned away, so not much is proved", taken, capped)
		}
	}
}

// A game is two tables and their models.
type game struct {
	rng      *rand.Rand
	clk      clock.Manual
	changing bool
	limits   []gcra.Limit
	sides    [2]*side
}

type side struct {
	l    *Table[int]
	m    *model
	held []*holding
	rest func() // of a SetLimit that is half done
}

type holding struct {
	gatomic.Reservation
	loan loan
}

func newGame(t *testing.T, seed uint64, changing bool) *game {
	g := &game{rng: rand.New(rand.NewPCG(seed, 44)), changing: changing}
	g.clk.Set(1234567 * time.Microsecond)
	for _, text := range modelLimits {
		g.limits = append(g.limits, parse(t, text))
	}
	for i := range g.sides {
		limit := g.limits[(int(seed)+i*3)%10]
		g.sides[i] = &side{l: NewTable[int](limit, 1, WithClock(&g.clk)), m: newModel(limit, g.clk.Now())}
	}
	return g
}

// play does one operation on both a table and its model.
func (g *game) play(op int) error {
	rng, s, other := g.rng, g.sides[0], g.sides[1]
	if rng.IntN(3) == 0 {
		s, other = other, s
	}
	burst, fill := min(s.m.limit.Capacity(), 20), min(s.m.limit.FillTime(), 4*time.Second)
	switch rng.IntN(9) {
	case 0, 1:
		g.clk.Advance(time.Duration(rng.Int64N(int64(fill)/30 + 2)))
	case 2:
		g.clk.Advance(1)
	case 3:
		if op%20 == 0 {
			g.clk.Advance(2*fill + 1)
		}
	}
	now, key := g.clk.Now(), rng.IntN(110)
	n := []int{0, 1, 1, 1, 2, burst, burst + 1, -1, 1 + rng.IntN(burst+1)}[rng.IntN(9)]
	switch rng.IntN(24) {
	default:
		return s.decide(key, n, now, s.l.Take, gcra.Take)
	case 0, 1:
		return s.decide(key, n, now, s.l.TakeUpTo, gcra.TakeUpTo)
	case 2, 3:
		return s.decide(key, n, now, s.l.Peek, look)
	case 4:
		return s.decide(key, n, now, s.l.Debit, func(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
			return gcra.Debit(l, tat, at, n, l.Capacity())
		})
	case 5, 6, 7:
		return s.reserve(key, n, now)
	case 8, 9, 10, 11:
		if len(s.held) > 0 {
			i := rng.IntN(len(s.held))
			h := s.held[i]
			s.held = append(s.held[:i], s.held[i+1:]...)
			actual, capped := rng.IntN(max(h.loan.n, 0)+3)-rng.IntN(2)*rng.IntN(2), s.l.Stats().Capped
			h.Settle(actual)
			if s.l.Stats().Capped != capped {
				return s.noRoom(h.loan.key, now)
			}
			s.m.settle(&h.loan, actual, now)
		}
	case 12:
		if op%3 == 0 {
			s.l.Reset(key)
			s.m.reset(key, now)
		}
	case 13:
		moved := s.l.Move(key, other.l)
		if moved == nil {
			s.m.move(key, other.m, now)
		} else if err := other.noRoom(key, now); moved != ErrNoRoom || err != nil {
			return fmt.Errorf("move: %v, %v", moved, err)
		}
	case 14:
		if !g.changing || rng.IntN(4) > 0 {
			return nil
		}
		limit := g.limits[rng.IntN(len(g.limits))]
		if s.rest != nil {
			s.rest()
			s.rest = nil
		} else if limit != *s.m.limit {
			if s.m.set(limit, now); rng.IntN(2) == 0 {
				s.l.SetLimit(limit)
			} else {
				s.rest = s.l.half(limit) // the next operations bring over what they need
			}
		}
	}
	return nil
}

func (s *side) decide(key, n int, now time.Duration, ask func(int, int) gcra.Decision, op take) error {
	capped := s.l.Stats().Capped
	got, at := ask(key, n), s.m.at(now)
	next, want := op(s.m.limit, s.m.tat(key), at, n)
	if s.l.Stats().Capped != capped {
		if next == s.m.tat(key) {
			return fmt.Errorf("key %d, cost %d: turned away from where nothing is written", key, n)
		}
		if err := s.noRoom(key, now); err != nil {
			return err
		}
		want = gcra.Refuse(s.m.limit, at, min(n, s.m.limit.Capacity()))
	} else {
		s.m.put(key, next)
	}
	if err := sameDecision(got, want); err != nil {
		return fmt.Errorf("key %d, cost %d: %w", key, n, err)
	}
	return nil
}

func (s *side) reserve(key, n int, now time.Duration) error {
	capped := s.l.Stats().Capped
	h := &holding{Reservation: s.l.Reserve(key, n)}
	if s.l.Stats().Capped != capped {
		if h.OK() {
			return fmt.Errorf("key %d: a reservation without room is ok", key)
		}
		h.Cancel()
		return s.noRoom(key, now)
	}
	var want gcra.Decision
	var delay time.Duration
	h.loan, want, delay = s.m.book(key, n, now)
	if h.OK() != want.OK() || h.Err() != want.Err() || h.Delay() != delay {
		return fmt.Errorf("key %d: a reservation of %d has err %v and delay %v, want %v and %v", key, n, h.Err(), h.Delay(), want.Err(), delay)
	}
	if s.held = append(s.held, h); len(s.held) > 60 {
		s.held = s.held[1:] // nobody has to settle
	}
	return nil
}

// noRoom checks that the key is one that may have been forgotten, and that there
// is no slot that it could have.
func (s *side) noRoom(key int, now time.Duration) error {
	at, b := s.m.at(now), s.l.block.Load()
	if s.m.tat(key) != s.m.fresh && !s.m.full(key, at) {
		return fmt.Errorf("key %d owes until %d, it is %d, and it was forgotten", key, s.m.tat(key), at.Tick)
	}
	h, _, _ := s.l.hash(key)
	if i, j, there := b.scan(h); there != nil {
		return fmt.Errorf("key %d was turned away and is in slot %d of bucket %d", key, j, i)
	}
	x, y := b.home(h)
	for k := range uint64(run) {
		for _, i := range []uint64{x + k, y + k} {
			for j := range b.buckets[i] {
				if _, ok := b.usable(i, j, at.Tick, s.m.fresh); ok {
					return fmt.Errorf("key %d was turned away, and slot %d of bucket %d is free", key, j, i)
				}
			}
		}
	}
	return nil
}

// audit looks at all slots: who owes is in one, with what he owes, and nobody
// is in two.
func (g *game) audit() error {
	for _, s := range g.sides {
		at, b := s.m.at(g.clk.Now()), s.l.block.Load()
		for key, tat := range s.m.tats {
			h, _, _ := s.l.hash(key)
			there := s.l.lookup(b, h)
			if tat > at.Tick && tat != s.m.fresh && (there == nil || there.tat.Load() != tat) {
				return fmt.Errorf("key %d owes until %d, it is %d, and its slot is %v", key, tat, at.Tick, there)
			}
		}
		if s.rest != nil {
			continue // not all slots have been brought over
		}
		seen, used := map[uint64]bool{}, 0
		for i := range b.buckets {
			for j := range b.buckets[i] {
				switch h := b.buckets[i][j].hash.Load(); {
				case h == 0:
				case seen[h]:
					return fmt.Errorf("hash %x is in two slots", h)
				default:
					seen[h] = true
					used++
				}
			}
		}
		if n := s.l.Stats(); n.Keys != used || s.l.Len() != used {
			return fmt.Errorf("%d slots are used, and %d counted", used, n.Keys)
		}
	}
	return nil
}
