package stress_test

import (
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/stress"
)

// remote stands for what is asked over a network: it keeps one number for each
// key, and decides by a script, under a lock of its own.
type remote struct {
	limit gcra.Limit
	clock clock.Clock
	born  time.Duration

	mu   sync.Mutex
	tats map[uint64]int64
}

func newRemote(limit gcra.Limit, c clock.Clock) stress.Engine {
	return &remote{limit: limit, clock: c, born: limit.Birth(c.Now()), tats: make(map[uint64]int64)}
}

// script runs f on the key's TAT, at an instant in microseconds that the client
// sends along.
func (s *remote) script(key uint64, f func(tat int64, at gcra.Instant) (int64, gcra.Decision)) gcra.Decision {
	at := gcra.At(&s.limit, (s.clock.Now() - s.born).Truncate(time.Microsecond))
	s.mu.Lock()
	defer s.mu.Unlock()
	tat, ok := s.tats[key]
	if !ok {
		tat = gcra.Fresh(&s.limit, gcra.At(&s.limit, 0))
	}
	next, d := f(tat, at)
	if next != tat {
		s.tats[key] = next
	}
	return d
}

func (s *remote) Take(key uint64, n int) gcra.Decision {
	return s.script(key, func(tat int64, at gcra.Instant) (int64, gcra.Decision) {
		return gcra.Take(&s.limit, tat, at, n)
	})
}

func (s *remote) TakeUpTo(key uint64, n int) gcra.Decision {
	return s.script(key, func(tat int64, at gcra.Instant) (int64, gcra.Decision) {
		return gcra.TakeUpTo(&s.limit, tat, at, n)
	})
}

func (s *remote) Peek(key uint64, n int) gcra.Decision {
	return s.script(key, func(tat int64, at gcra.Instant) (int64, gcra.Decision) {
		return tat, gcra.Peek(&s.limit, tat, at, n)
	})
}

func (s *remote) AllowN(key uint64, n int) bool { return s.Take(key, n).OK() }

func (s *remote) Reset(key uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tats, key)
}

// A backend that counts microseconds, whose calls take some tens of those, and
// whose client allocates: it is checked in a hundredth of the rounds. What it
// cannot do, here to wait, to reserve and to change its limit, is skipped, and
// go test -v says so.
func ExampleRun() {
	testLaws := func(t *testing.T) { // TestLaws, in a test file of the backend
		stress.Run(t, stress.Subject{
			Name:       "remote",
			New:        newRemote,
			Remote:     true,
			Slow:       100,
			Resolution: time.Microsecond,
		})
	}
	_ = testLaws
}

// The backend of the example obeys the laws.
func TestExample(t *testing.T) {
	stress.Run(t, stress.Subject{Name: "remote", New: newRemote, Remote: true, Slow: 100, Resolution: time.Microsecond})
}

// callers counts the calls that the suite makes.
type callers struct {
	stress.Engine
	count func()
}

func (e callers) AllowN(key uint64, n int) bool {
	e.count()
	return e.Engine.AllowN(key, n)
}

func (e callers) Take(key uint64, n int) gcra.Decision {
	e.count()
	return e.Engine.Take(key, n)
}

func (e callers) TakeUpTo(key uint64, n int) gcra.Decision {
	e.count()
	return e.Engine.TakeUpTo(key, n)
}

func (e callers) Peek(key uint64, n int) gcra.Decision {
	e.count()
	return e.Engine.Peek(key, n)
}

// A slow backend is asked a small part as often.
func TestSlow(t *testing.T) {
	var calls [2]int
	for i, slow := range []int{1, 100} {
		var mu sync.Mutex
		s := stress.Subject{Name: "counted", Slow: slow, Remote: true, New: func(limit gcra.Limit, c clock.Clock) stress.Engine {
			return callers{newRemote(limit, micros{c}), func() {
				mu.Lock()
				calls[i]++
				mu.Unlock()
			}}
		}, Resolution: time.Microsecond}
		for _, law := range stress.Laws() {
			if err := law.Check(t, s); err != nil {
				t.Error(err)
			}
		}
	}
	t.Logf("%d calls in all rounds, %d in a hundredth of them", calls[0], calls[1])
	if calls[1] > 50_000 || calls[1]*10 > calls[0] {
		t.Errorf("%d calls in all rounds, %d in a hundredth of them", calls[0], calls[1])
	}
}
