// Package stress proves limiters right, or finds them wrong: a conformance
// suite in the manner of testing/fstest, one check for each law.
//
//	func TestLaws(t *testing.T) {
//		stress.Run(t, stress.Subject{
//			Name: "mine",
//			New: func(limit gcra.Limit, c clock.Clock) stress.Engine { ... },
//		})
//	}
//
// What a limiter must do is in [Engine]; what it may do besides is in the
// other interfaces, and the checks of a law use what they find. The suite
// itself is tested by broken twins: limiters with one fault each, which it has
// to reject under the law that the fault breaks.
//
// Time is virtual, so that the number of tokens granted is compared exactly:
// a clock that stands still while goroutines race has one right answer.
package stress

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// A Subject makes the limiters of one kind.
type Subject struct {
	Name string
	// New returns a limiter that reads c: first when it is made, and then once
	// at the beginning of every decision, holding no lock.
	New func(limit gcra.Limit, c clock.Clock) Engine
	// NewCapped, if set, returns one that remembers at most keys keys and
	// refuses others, or admits them.
	NewCapped func(limit gcra.Limit, c clock.Clock, keys int, admit bool) Engine
	// Room, if set, returns how many keys one with that cap may remember. It is
	// for limiters that remember more than they promise as chance will have it,
	// and that take a full bucket for room a tick after it is full. If it is not
	// set, the cap is exact, and there is room at once.
	Room func(keys int) int
	// OneKey says that there is one bucket, whatever the key.
	OneKey bool
	// Join, if set, joins buckets of engines that New made; the same one may be
	// among them several times.
	Join func(members ...Member) Joint
}

// An Engine is a limiter under test. All methods are called concurrently.
type Engine interface {
	AllowN(key uint64, n int) bool
	Take(key uint64, n int) gcra.Decision
	TakeUpTo(key uint64, n int) gcra.Decision
	Peek(key uint64, n int) gcra.Decision
	Reset(key uint64)
}

// A Waiter is an Engine that can wait.
type Waiter interface {
	WaitN(ctx context.Context, key uint64, n int) error
}

// A Keeper is an Engine that remembers keys.
type Keeper interface {
	Len() int
}

// A Sweeper is a Keeper that forgets keys when it is told to. Others forget
// them only to make room.
type Sweeper interface {
	Keeper
	Sweep() (forgotten int)
}

// A Law is one promise and its check, which returns what was found broken.
// The test is for the check's helpers; the check itself does not fail it.
type Law struct {
	Name  string
	Check func(*testing.T, Subject) error
}

// Laws returns the laws that the suite checks. A law that asks for something
// the subject's engines do not have holds for them.
func Laws() []Law {
	return []Law{
		{"L1 window", window},
		{"L2 exact", exact},
		{"L3 refusal is a read", reads},
		{"L4 give-back", settles},
		{"L5 change of limit", changes},
		{"L6 forget", forgets},
		{"L7 bounded memory", bounded},
		{"L8 joint", joins},
		{"L9 time", stale},
		{"L10 waiting", waits},
		{"L11 no hidden work", quiet},
	}
}

// Run checks every law on the subject, each in a subtest of its name.
func Run(t *testing.T, s Subject) {
	for _, law := range Laws() {
		t.Run(law.Name, func(t *testing.T) {
			if err := law.Check(t, s); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		})
	}
}

// handClock is moved by hand. It counts its readings, and can run a hook inside one
// of them, after the reading was taken: so a test can put anything between a
// decision's reading of the clock and what the decision does next.
type handClock struct {
	clock.Manual
	reads atomic.Int64
	hook  atomic.Pointer[func()]
}

func (c *handClock) Now() time.Duration {
	c.reads.Add(1)
	now := c.Manual.Now()
	if h := c.hook.Swap(nil); h != nil {
		(*h)()
	}
	return now
}

// next makes h run inside the next reading.
func (c *handClock) next(h func()) { c.hook.Store(&h) }

// keyOf spreads keys for subjects that have many, so that they fall into
// different shards.
func keyOf(i int) uint64 { return uint64(i)*0x9e3779b97f4a7c15 + 1 }

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x77656972)) }

func limitOf(text string) gcra.Limit {
	l, err := gcra.Parse(text)
	if err != nil {
		panic(err)
	}
	return l
}

// errorf is fmt.Errorf in one short word.
func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// pause returns a random duration below d.
func pause(rng *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(rng.Int64N(int64(d)))
}
