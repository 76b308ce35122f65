package stress_test

import (
	"context"
	"sync"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
	"github.com/weir-go/weir/stress"
)

// jointEngine asks each key by a joint. What a joint does not have, the parts and
// debts and all that is about keys, is the limiter's whose views are joined.
type jointEngine struct {
	shardEngine
	join func(shard.View[uint64]) *shard.Joint

	mu     sync.Mutex
	joints map[uint64]*shard.Joint
}

// newJointEngine returns a constructor of joints of a view and others.
func newJointEngine(others func(c clock.Clock) (before, after []shard.Joinable)) func(gcra.Limit, clock.Clock) stress.Engine {
	return func(limit gcra.Limit, c clock.Clock) stress.Engine {
		before, after := others(c)
		return &jointEngine{
			shardEngine: newShardEngine(limit, c).(shardEngine),
			join: func(v shard.View[uint64]) *shard.Joint {
				return shard.Join(append(append(before[:len(before):len(before)], v), after...)...)
			},
			joints: make(map[uint64]*shard.Joint),
		}
	}
}

func (e *jointEngine) of(key uint64) *shard.Joint {
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.joints[key]
	if j == nil {
		j = e.join(e.For(key))
		e.joints[key] = j
	}
	return j
}

func (e *jointEngine) AllowN(key uint64, n int) bool        { return e.of(key).AllowN(n) }
func (e *jointEngine) Take(key uint64, n int) gcra.Decision { return e.of(key).Take(n) }
func (e *jointEngine) Peek(key uint64, n int) gcra.Decision { return e.of(key).Peek(n) }

func (e *jointEngine) WaitN(ctx context.Context, key uint64, n int) error {
	return e.of(key).WaitN(ctx, n)
}

func (e *jointEngine) Reserve(key uint64, n int) stress.Reservation {
	r := e.of(key).Reserve(n)
	return &r
}

func (e *jointEngine) MoveTo(key uint64, to stress.Engine) error {
	return e.Move(key, to.(*jointEngine).Limiter)
}

func alone(clock.Clock) (before, after []shard.Joinable) { return nil, nil }

func withUnlimited(c clock.Clock) (before, after []shard.Joinable) {
	free := gatomic.NewLimiter(gcra.Unlimited(), gatomic.WithClock(c))
	return nil, []shard.Joinable{free}
}

// withWide is a limit that is never the one that decides, and has a joint of its
// own around it.
func withWide(c clock.Clock) (before, after []shard.Joinable) {
	wide := gatomic.NewLimiter(gcra.Unlimited(), gatomic.WithClock(c))
	return nil, []shard.Joinable{shard.Join(wide, wide)}
}
