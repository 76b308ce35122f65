package stress_test

import (
	"math"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
	"github.com/weir-go/weir/stress"
)

// odds is what limiters of either kind do for a key of float64.
type odds interface {
	AllowN(key float64, n int) bool
	Take(key float64, n int) gcra.Decision
	TakeUpTo(key float64, n int) gcra.Decision
	Peek(key float64, n int) gcra.Decision
	Reset(key float64)
	Len() int
}

// oddEngine asks for NaN, whatever the key.
type oddEngine struct{ l odds }

func (e oddEngine) AllowN(_ uint64, n int) bool            { return e.l.AllowN(math.NaN(), n) }
func (e oddEngine) Take(_ uint64, n int) gcra.Decision     { return e.l.Take(math.NaN(), n) }
func (e oddEngine) TakeUpTo(_ uint64, n int) gcra.Decision { return e.l.TakeUpTo(math.NaN(), n) }
func (e oddEngine) Peek(_ uint64, n int) gcra.Decision     { return e.l.Peek(math.NaN(), n) }
func (e oddEngine) Reset(uint64)                           { e.l.Reset(math.NaN()) }
func (e oddEngine) Len() int                               { return e.l.Len() }

func policy(admit bool) shard.Policy {
	if admit {
		return shard.Admit
	}
	return shard.Refuse
}

func newOddEngine(limit gcra.Limit, c clock.Clock, admit bool) stress.Engine {
	return oddEngine{shard.New[float64](limit, shard.WithClock(c), shard.WithMaxKeys(100, policy(admit)))}
}

func newOddTable(limit gcra.Limit, c clock.Clock, admit bool) stress.Engine {
	return oddEngine{shard.NewTable[float64](limit, 100, shard.WithClock(c), shard.WithMaxKeys(100, policy(admit)))}
}

// micros is a clock of microseconds.
type micros struct{ clock.Clock }

func (c micros) Now() time.Duration { return c.Clock.Now().Truncate(time.Microsecond) }

func newMicroEngine(limit gcra.Limit, c clock.Clock) stress.Engine {
	return newLimiterEngine(limit, micros{c})
}

// What counts in microseconds is exact to the microsecond, and has to say so.
func TestResolution(t *testing.T) {
	s := stress.Subject{Name: "microseconds", New: newMicroEngine, OneKey: true}
	for _, name := range []string{"L2 exact/histories", "L4 give-back/debt"} {
		if checks()[name].Run(t, s) == nil {
			t.Errorf("%s holds to the nanosecond for a clock of microseconds", name)
		}
	}
}
