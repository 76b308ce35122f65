package stress_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
	"github.com/weir-go/weir/stress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLaws(t *testing.T) {
	for _, s := range subjects {
		if underRace { // where each round takes ten times as long
			s.Slow = max(s.Slow, 4)
		}
		t.Run(s.Name, func(t *testing.T) { stress.Run(t, s) })
	}
}

var subjects = []stress.Subject{
	{Name: "Cell", New: newCellEngine, OneKey: true},
	{Name: "Limiter", New: newLimiterEngine, OneKey: true, Join: joinOurs},
	{Name: "shard.Limiter", New: newShardEngine, NewCapped: newCappedEngine, NewOdd: newOddEngine, Join: joinOurs},
	{Name: "shard.Limiter/shards=1", New: func(limit gcra.Limit, c clock.Clock) stress.Engine {
		return shardEngine{shard.New[uint64](limit, shard.WithClock(c), shard.WithShards(1), shard.WithStats())}
	}},
	{Name: "shard.Table", New: newTableEngine, NewCapped: newCappedTable, NewOdd: newOddTable, Room: roomOfTable, Join: joinOurs},
	{Name: "shard.Table/capacity=1", New: func(limit gcra.Limit, c clock.Clock) stress.Engine {
		return tableEngine{shard.NewTable[uint64](limit, 1, shard.WithClock(c), shard.WithStats())}
	}},
	{Name: "shard.Table/pushed", New: newPushedEngine},
	{Name: "Joint/of one", New: newJointEngine(alone), Slow: 6},
	{Name: "Joint/with Unlimited", New: newJointEngine(withUnlimited), Slow: 6},
	{Name: "Joint/with a joint", New: newJointEngine(withWide), Slow: 6},
	{Name: "rational", New: newRational, Slow: 10, Remote: true},
	{Name: "microseconds", New: newMicroEngine, Resolution: time.Microsecond, OneKey: true, Join: joinOurs},
}

// cellEngine is a bare cell with a core.
type cellEngine struct {
	core gatomic.Core
	gen  *gatomic.Generation
	cell *gatomic.Cell
}

func newCellEngine(limit gcra.Limit, c clock.Clock) stress.Engine {
	e := new(cellEngine)
	e.core.Init(limit, gatomic.WithClock(c))
	e.gen = e.core.Current()
	e.cell = new(gatomic.Cell)
	e.cell.Init(e.gen.Fresh())
	return e
}

func (e *cellEngine) now() gcra.Instant { return e.gen.At(e.core.Now()) }

func (e *cellEngine) AllowN(_ uint64, n int) bool {
	ok, _ := e.cell.Allow(e.gen.Limit(), e.now(), n)
	return ok
}

func (e *cellEngine) Take(_ uint64, n int) gcra.Decision {
	d, _ := e.cell.Take(e.gen.Limit(), e.now(), n)
	return d
}

func (e *cellEngine) TakeUpTo(_ uint64, n int) gcra.Decision {
	d, _ := e.cell.TakeUpTo(e.gen.Limit(), e.now(), n)
	return d
}

func (e *cellEngine) Peek(_ uint64, n int) gcra.Decision {
	d, _ := e.cell.Peek(e.gen.Limit(), e.now(), n)
	return d
}

// Reset is sequential here: a bare cell cannot be replaced by its user's
// users.
func (e *cellEngine) Reset(uint64) {
	e.cell.Reset(e.gen, e.now())
	if e.cell.Dead() {
		e.cell = new(gatomic.Cell)
		e.cell.Init(e.gen.Fresh())
	}
}

func (e *cellEngine) WaitN(ctx context.Context, _ uint64, n int) error {
	t, err := e.core.Begin(ctx)
	if err != nil {
		return err
	}
	b, d, _ := e.cell.Book(e.gen, t, n)
	return e.core.Finish(ctx, e.gen, t, n, b, d, e.cell)
}

func (e *cellEngine) Reserve(_ uint64, n int) stress.Reservation {
	t := e.core.Turn()
	b, d, _ := e.cell.Book(e.gen, t, n)
	r := e.core.Reservation(cellDebtor{e}, e.gen, e.cell, t, n, b, d)
	return &r
}

func (e *cellEngine) Debit(_ uint64, n int) gcra.Decision {
	d, _ := e.cell.Debit(e.gen.Limit(), e.now(), n, e.core.MaxDebt(e.gen.Limit()))
	return d
}

type cellDebtor struct{ e *cellEngine }

func (d cellDebtor) Debit(n int) gcra.Decision { return d.e.Debit(0, n) }

type limiterEngine struct{ l *gatomic.Limiter }

func newLimiterEngine(limit gcra.Limit, c clock.Clock) stress.Engine {
	return limiterEngine{gatomic.NewLimiter(limit, gatomic.WithClock(c))}
}

func (e limiterEngine) AllowN(_ uint64, n int) bool            { return e.l.AllowN(n) }
func (e limiterEngine) Take(_ uint64, n int) gcra.Decision     { return e.l.Take(n) }
func (e limiterEngine) TakeUpTo(_ uint64, n int) gcra.Decision { return e.l.TakeUpTo(n) }
func (e limiterEngine) Peek(_ uint64, n int) gcra.Decision     { return e.l.Peek(n) }
func (e limiterEngine) Reset(uint64)                           { e.l.Reset() }
func (e limiterEngine) WaitN(ctx context.Context, _ uint64, n int) error {
	return e.l.WaitN(ctx, n)
}

func (e limiterEngine) Reserve(_ uint64, n int) stress.Reservation {
	r := e.l.Reserve(n)
	return &r
}
func (e limiterEngine) Debit(_ uint64, n int) gcra.Decision { return e.l.Debit(n) }
func (e limiterEngine) SetLimit(limit gcra.Limit)           { e.l.SetLimit(limit) }

// A shard.Limiter is an Engine, a Waiter, a Sweeper, a Debtor and a Changer as
// it is.
type shardEngine struct{ *shard.Limiter[uint64] }

func newShardEngine(limit gcra.Limit, c clock.Clock) stress.Engine {
	return shardEngine{shard.New[uint64](limit, shard.WithClock(c))}
}

func (e shardEngine) Reserve(key uint64, n int) stress.Reservation {
	r := e.Limiter.Reserve(key, n)
	return &r
}

func (e shardEngine) MoveTo(key uint64, to stress.Engine) error {
	return e.Move(key, to.(shardEngine).Limiter)
}

func newCappedEngine(limit gcra.Limit, c clock.Clock, keys int, admit bool) stress.Engine {
	return shardEngine{shard.New[uint64](limit, shard.WithClock(c), shard.WithMaxKeys(keys, policy(admit)))}
}

// A shard.Table is all that but a Sweeper: it forgets only to make room.
type tableEngine struct{ *shard.Table[uint64] }

func newTableEngine(limit gcra.Limit, c clock.Clock) stress.Engine {
	return tableEngine{shard.NewTable[uint64](limit, 1000, shard.WithClock(c))}
}

func (e tableEngine) Reserve(key uint64, n int) stress.Reservation {
	r := e.Table.Reserve(key, n)
	return &r
}

func (e tableEngine) MoveTo(key uint64, to stress.Engine) error {
	return e.Move(key, to.(tableEngine).Table)
}

func newCappedTable(limit gcra.Limit, c clock.Clock, keys int, admit bool) stress.Engine {
	return tableEngine{shard.NewTable[uint64](limit, keys, shard.WithClock(c), shard.WithMaxKeys(keys, policy(admit)))}
}

// roomOfTable is the number of slots: four in a bucket, the capacity at 0.68 of
// those in which a key may begin, which are 12 at least, and five buckets more.
func roomOfTable(keys int) int {
	return 4 * (max(int(float64(keys)/0.68/4)+1, 12) + 5)
}

// pushedEngine is a table so small that the suite's keys are pushed out by
// guests, which come after decisions. It does not count its keys, which
// the guests are among. There are few enough of them to leave room.
type pushedEngine struct {
	t      *shard.Table[uint64]
	guests *atomic.Uint64
}

const guests = 12

func newPushedEngine(limit gcra.Limit, c clock.Clock) stress.Engine {
	return pushedEngine{shard.NewTable[uint64](limit, 1, shard.WithClock(c)), new(atomic.Uint64)}
}

func (e pushedEngine) guest() {
	if n := e.guests.Add(1); n%3 == 0 {
		e.t.Allow(1<<63 + n%guests)
	}
}

func (e pushedEngine) AllowN(key uint64, n int) bool {
	defer e.guest()
	return e.t.AllowN(key, n)
}

func (e pushedEngine) Take(key uint64, n int) gcra.Decision {
	defer e.guest()
	return e.t.Take(key, n)
}

func (e pushedEngine) TakeUpTo(key uint64, n int) gcra.Decision {
	defer e.guest()
	return e.t.TakeUpTo(key, n)
}

func (e pushedEngine) Peek(key uint64, n int) gcra.Decision { return e.t.Peek(key, n) }
func (e pushedEngine) Reset(key uint64)                     { e.t.Reset(key) }

func (e pushedEngine) WaitN(ctx context.Context, key uint64, n int) error {
	return e.t.WaitN(ctx, key, n)
}

func (e pushedEngine) Reserve(key uint64, n int) stress.Reservation {
	r := e.t.Reserve(key, n)
	return &r
}

func (e pushedEngine) Debit(key uint64, n int) gcra.Decision { return e.t.Debit(key, n) }
func (e pushedEngine) SetLimit(limit gcra.Limit)             { e.t.SetLimit(limit) }
