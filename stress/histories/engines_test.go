package histories_test

import (
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

var decisions = [kinds]int{allow: 2, take: 6, upTo: 2, peek: 3, debit: 2, reserve: 4, settle: 5, advance: 6}

func with(more map[kind]int) (mix [kinds]int) {
	mix = decisions
	for k, n := range more {
		mix[k] = n
	}
	return mix
}

func both(t traits) [2]traits { return [2]traits{t, t} }

var engines = []*engine{
	{
		name: "Cell", keys: 1, mix: decisions,
		make: func(l [2]gcra.Limit, c [2]clock.Clock) *rig {
			e := new(cell)
			e.core.Init(l[0], gatomic.WithClock(c[0]))
			e.gen = e.core.Current()
			e.cell.Init(e.gen.Fresh())
			return &rig{lims: [2]limiter{e}}
		},
		need: []kind{settle},
	},
	{
		name: "Limiter", keys: 1, mix: with(map[kind]int{reset: 2, setLimit: 3}),
		make: func(l [2]gcra.Limit, c [2]clock.Clock) *rig {
			return &rig{lims: [2]limiter{single{gatomic.NewLimiter(l[0], gatomic.WithClock(c[0]))}}}
		},
		traits: both(traits{adrift: true}),
		need:   []kind{settle, reset, setLimit},
	},
	{
		name: "shard.Limiter", keys: 2, mix: with(map[kind]int{reset: 1, setLimit: 3, sweep: 6, guest: 1}),
		make: func(l [2]gcra.Limit, c [2]clock.Clock) *rig {
			s := newSharded(l[0], c[0], shard.WithMaxDebt(deep))
			return &rig{lims: [2]limiter{s}, guest: s.guest, taken: func() int64 { return s.Stats().Forgotten }}
		},
		traits: both(traits{forgets: true, lazy: true}),
		need:   []kind{settle, reset, setLimit, sweep},
		debt:   deep,
	},
	{
		name: "shard.Limiter/move", keys: 2, mix: with(map[kind]int{move: 6, reset: 1, setLimit: 2, sweep: 5}),
		make: func(l [2]gcra.Limit, c [2]clock.Clock) *rig {
			a, b := newSharded(l[0], c[0]), newSharded(l[1], c[1])
			return &rig{lims: [2]limiter{a, b}, move: func(key uint64) error { return a.Move(key, b.Limiter) }}
		},
		traits: both(traits{forgets: true, lazy: true}),
		need:   []kind{settle, reset, setLimit, sweep, move},
	},
	{
		name: "shard.Table", keys: 2, mix: with(map[kind]int{reset: 1, setLimit: 3}),
		make: func(l [2]gcra.Limit, c [2]clock.Clock) *rig {
			return &rig{lims: [2]limiter{newTable(l[0], c[0], 200)}}
		},
		traits: both(traits{forgets: true}),
		need:   []kind{settle, reset, setLimit},
	},
	{
		name: "shard.Table/pushed", keys: 2, mix: with(map[kind]int{reset: 1, setLimit: 2, guest: 12}),
		make: func(l [2]gcra.Limit, c [2]clock.Clock) *rig {
			t := newTable(l[0], c[0], 1, shard.WithMaxDebt(deep))
			return &rig{lims: [2]limiter{t}, guest: t.guest, taken: func() int64 { return t.Stats().Forgotten }}
		},
		traits: both(traits{forgets: true}),
		need:   []kind{settle, reset, setLimit, guest},
		guests: 16, debt: deep,
	},
	{
		name: "shard.Table/move", keys: 2, mix: with(map[kind]int{move: 6, reset: 1, setLimit: 2}),
		make: func(l [2]gcra.Limit, c [2]clock.Clock) *rig {
			a, b := newTable(l[0], c[0], 200), newTable(l[1], c[1], 1)
			return &rig{lims: [2]limiter{a, b}, move: func(key uint64) error { return a.Move(key, b.Table) }}
		},
		traits: both(traits{forgets: true}),
		need:   []kind{settle, reset, setLimit, move},
	},
	{
		// A user's limit, which changes, is reset and forgotten, and one for all.
		name: "Join", keys: 1, mix: with(map[kind]int{jointTake: 20, jointPeek: 3, reset: 1, setLimit: 2, sweep: 3}),
		make: func(l [2]gcra.Limit, c [2]clock.Clock) *rig {
			a, b := newSharded(l[0], c[0]), gatomic.NewLimiter(l[1], gatomic.WithClock(c[1]))
			return &rig{
				lims: [2]limiter{a, single{b}},
				join: func(key uint64) joiner { return shard.Join(a.For(key), b) },
			}
		},
		traits: [2]traits{{forgets: true, lazy: true}, {}},
		need:   []kind{settle, reset, setLimit, sweep, jointTake},
	},
}

// cell is a bare cell with a core: one limit, and a life without end.
type cell struct {
	core gatomic.Core
	gen  *gatomic.Generation
	cell gatomic.Cell
}

func (e *cell) now() (*gcra.Limit, gcra.Instant) { return e.gen.Limit(), e.gen.At(e.core.Now()) }

func (e *cell) AllowN(_ uint64, n int) bool {
	l, at := e.now()
	ok, _ := e.cell.Allow(l, at, n)
	return ok
}

func (e *cell) Take(_ uint64, n int) gcra.Decision {
	l, at := e.now()
	d, _ := e.cell.Take(l, at, n)
	return d
}

func (e *cell) TakeUpTo(_ uint64, n int) gcra.Decision {
	l, at := e.now()
	d, _ := e.cell.TakeUpTo(l, at, n)
	return d
}

func (e *cell) Peek(_ uint64, n int) gcra.Decision {
	l, at := e.now()
	d, _ := e.cell.Peek(l, at, n)
	return d
}

func (e *cell) Debit(_ uint64, n int) gcra.Decision {
	l, at := e.now()
	d, _ := e.cell.Debit(l, at, n, e.core.MaxDebt(l))
	return d
}

func (e *cell) ReserveWithin(_ uint64, within time.Duration, n int) reservation {
	t := e.core.Turn().Within(within)
	b, d, _ := e.cell.Book(e.gen, t, n)
	r := e.core.Reservation(debtor{e}, e.gen, &e.cell, t, n, b, d)
	return &r
}

type debtor struct{ e *cell }

func (d debtor) Debit(n int) gcra.Decision { return d.e.Debit(0, n) }

// single is a limiter of one key.
type single struct{ l *gatomic.Limiter }

func (s single) AllowN(_ uint64, n int) bool            { return s.l.AllowN(n) }
func (s single) Take(_ uint64, n int) gcra.Decision     { return s.l.Take(n) }
func (s single) TakeUpTo(_ uint64, n int) gcra.Decision { return s.l.TakeUpTo(n) }
func (s single) Peek(_ uint64, n int) gcra.Decision     { return s.l.Peek(n) }
func (s single) Debit(_ uint64, n int) gcra.Decision    { return s.l.Debit(n) }
func (s single) Reset(uint64)                           { s.l.Reset() }
func (s single) SetLimit(l gcra.Limit)                  { s.l.SetLimit(l) }
func (s single) ReserveWithin(_ uint64, d time.Duration, n int) reservation {
	r := s.l.ReserveWithin(d, n)
	return &r
}

type sharded struct{ *shard.Limiter[uint64] }

func newSharded(l gcra.Limit, c clock.Clock, more ...shard.Option) sharded {
	return sharded{shard.New[uint64](l, append(more, shard.WithClock(c), shard.WithShards(1))...)}
}

func (s sharded) ReserveWithin(key uint64, d time.Duration, n int) reservation {
	r := s.Limiter.ReserveWithin(key, d, n)
	return &r
}

// deep is a debt that takes a guest longer to pay than a history lasts: so it
// is the keys of the history that are forgotten, and never a guest.
const deep = 300

// guest inserts a key, which advances the sweep by two.
func (s sharded) guest(n int) { s.Limiter.Debit(1<<32+uint64(n), deep) }

type table struct{ *shard.Table[uint64] }

func newTable(l gcra.Limit, c clock.Clock, capacity int, more ...shard.Option) table {
	return table{shard.NewTable[uint64](l, capacity, append(more, shard.WithClock(c))...)}
}

func (t table) ReserveWithin(key uint64, d time.Duration, n int) reservation {
	r := t.Table.ReserveWithin(key, d, n)
	return &r
}

// guest inserts a key: into a slot of a key of the history, if that is full and
// its bucket the emptiest.
func (t table) guest(n int) { t.Table.Debit(1<<32+uint64(n), deep) }
