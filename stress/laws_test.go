package stress_test

import (
	"context"
	"sync"
	"testing"

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
		t.Run(s.Name, func(t *testing.T) { stress.Run(t, s) })
	}
}

var subjects = []stress.Subject{
	{Name: "Cell", New: newCellEngine, OneKey: true},
	{Name: "Limiter", New: newLimiterEngine, OneKey: true},
	{Name: "shard.Limiter", New: newShardEngine, NewCapped: newCappedEngine},
	{Name: "shard.Limiter/shards=1", New: func(limit gcra.Limit, c clock.Clock) stress.Engine {
		return shard.New[uint64](limit, shard.WithClock(c), shard.WithShards(1), shard.WithStats())
	}},
	{Name: "mutex", New: newMutexEngine},
}

// cellEngine is a bare cell with a clock.
type cellEngine struct {
	limit gcra.Limit
	fresh int64
	pacer gatomic.Pacer
	cell  gatomic.Cell
}

func newCellEngine(limit gcra.Limit, c clock.Clock) stress.Engine {
	e := &cellEngine{limit: limit}
	e.pacer.Init(limit, gatomic.WithClock(c))
	e.fresh = gcra.Fresh(&e.limit, gcra.At(&e.limit, 0))
	e.cell.Init(e.fresh)
	return e
}

func (e *cellEngine) now() gcra.Instant { return gcra.At(&e.limit, e.pacer.Now()) }

func (e *cellEngine) AllowN(_ uint64, n int) bool {
	ok, _ := e.cell.Allow(&e.limit, e.now(), n)
	return ok
}

func (e *cellEngine) Take(_ uint64, n int) gcra.Decision {
	d, _ := e.cell.Take(&e.limit, e.now(), n)
	return d
}

func (e *cellEngine) TakeUpTo(_ uint64, n int) gcra.Decision {
	d, _ := e.cell.TakeUpTo(&e.limit, e.now(), n)
	return d
}

func (e *cellEngine) Peek(_ uint64, n int) gcra.Decision {
	d, _ := e.cell.Peek(&e.limit, e.now(), n)
	return d
}

// Reset is sequential here: a bare cell cannot be replaced by its user's
// users.
func (e *cellEngine) Reset(uint64) {
	if e.cell.Reset(e.fresh, e.now()) {
		e.cell.Init(e.fresh)
	}
}

func (e *cellEngine) WaitN(ctx context.Context, _ uint64, n int) error {
	t, err := e.pacer.Begin(ctx, &e.limit)
	if err != nil {
		return err
	}
	b, d, _ := e.cell.Book(&e.limit, t, n)
	return e.pacer.Finish(ctx, &e.limit, t, n, b, d, &e.cell)
}

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

// A shard.Limiter is an Engine, a Waiter and a Keeper as it is.
func newShardEngine(limit gcra.Limit, c clock.Clock) stress.Engine {
	return shard.New[uint64](limit, shard.WithClock(c))
}

func newCappedEngine(limit gcra.Limit, c clock.Clock, keys int, admit bool) stress.Engine {
	policy := shard.Refuse
	if admit {
		policy = shard.Admit
	}
	return shard.New[uint64](limit, shard.WithClock(c), shard.WithMaxKeys(keys, policy))
}

// mutexEngine is the reference: one lock around one decision, and no key is
// ever forgotten.
type mutexEngine struct {
	limit gcra.Limit
	fresh int64
	pacer gatomic.Pacer
	mu    sync.Mutex
	tats  map[uint64]int64
}

func newMutexEngine(limit gcra.Limit, c clock.Clock) stress.Engine {
	e := &mutexEngine{limit: limit, tats: make(map[uint64]int64)}
	e.pacer.Init(limit, gatomic.WithClock(c))
	e.fresh = gcra.Fresh(&e.limit, gcra.At(&e.limit, 0))
	return e
}

func (e *mutexEngine) decide(key uint64, n int, op func(*gcra.Limit, int64, gcra.Instant, int) (int64, gcra.Decision)) gcra.Decision {
	at := gcra.At(&e.limit, e.pacer.Now())
	e.mu.Lock()
	defer e.mu.Unlock()
	tat, ok := e.tats[key]
	if !ok {
		tat = e.fresh
	}
	next, d := op(&e.limit, tat, at, n)
	if next != tat {
		e.tats[key] = next
	}
	return d
}

func (e *mutexEngine) AllowN(key uint64, n int) bool { return e.Take(key, n).OK() }

func (e *mutexEngine) Take(key uint64, n int) gcra.Decision {
	return e.decide(key, n, gcra.Take)
}

func (e *mutexEngine) TakeUpTo(key uint64, n int) gcra.Decision {
	return e.decide(key, n, gcra.TakeUpTo)
}

func (e *mutexEngine) Peek(key uint64, n int) gcra.Decision {
	return e.decide(key, n, func(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
		return tat, gcra.Peek(l, tat, at, n)
	})
}

func (e *mutexEngine) Reset(key uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.tats, key)
}
