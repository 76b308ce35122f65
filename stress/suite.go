// Package stress proves limiters right, or finds them wrong: a conformance
// suite in the manner of testing/fstest, one subtest for each law.
//
//	func TestLaws(t *testing.T) {
//		stress.Run(t, stress.Subject{
//			Name: "mine",
//			New: func(limit gcra.Limit, c clock.Clock) stress.Engine { ... },
//		})
//	}
//
// What a limiter must do is in [Engine]; what it may do besides is in the
// other interfaces: [Waiter], [Keeper], [Sweeper], [Reserver], [Debtor],
// [Changer], [Mover]. A law is looked at from several sides, each a [Check] and a
// subtest of the law's; one that needs what the engine does not have is
// skipped, and says what that is: go test -v shows what was not looked at.
//
// The suite itself is tested by broken twins: limiters with one fault each,
// which it has to reject under the law that the fault breaks. There is no check
// that no twin fails.
//
// Time is virtual, so that the number of tokens granted is compared exactly:
// a clock that stands still while goroutines race has one right answer. Waiting
// is checked in bubbles of testing/synctest. Nothing is assumed about how long
// a call takes; see Slow, Remote and Resolution in [Subject] for engines whose
// decisions are made elsewhere.
package stress

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// A Subject makes the limiters of one kind. Only New must be set.
type Subject struct {
	Name string
	// New returns a limiter that reads c: first when it is made, and then once
	// at the beginning of every decision, holding no lock. Limiters are
	// independent of each other, and dropped without being closed: t.Cleanup
	// is the place for that.
	New func(limit gcra.Limit, c clock.Clock) Engine
	// NewCapped, if set, returns one that remembers at most keys keys and
	// refuses others, or admits them. It must be a Keeper.
	NewCapped func(limit gcra.Limit, c clock.Clock, keys int, admit bool) Engine
	// NewOdd, if set, returns one of whose keys none is equal to itself (NaN),
	// whatever key is passed, and that refuses such keys, or admits them.
	NewOdd func(limit gcra.Limit, c clock.Clock, admit bool) Engine
	// Room, if set, returns how many keys one with that cap may remember. It is
	// for limiters that remember more than they promise as chance will have it,
	// and that take a full bucket for room a tick after it is full. If it is not
	// set, the cap is exact, and there is room at once.
	Room func(keys int) int
	// Join, if set, joins buckets of engines that New made; the same one may be
	// among them several times.
	Join func(members ...Member) Joint

	// OneKey says that there is one bucket, whatever the key.
	OneKey bool
	// Remote says that decisions leave the process. What they allocate here, and
	// the goroutines of the client, are then none of the suite's business.
	Remote bool
	// Slow is by how much the number of rounds is divided, for engines whose
	// calls take longer than a microsecond. 0 and 1 are the full measure, some
	// 800 000 decisions of an engine that has nothing but what it must; at 100
	// they are 30 000.
	Slow int
	// Resolution, if set, is the unit in which the engine counts its clock's
	// time, as a store does that counts microseconds. The suite's clocks then
	// show whole units, and what is exact to the nanosecond is exact to the unit:
	// a request passes in the unit in which its RetryAfter ends and not in the
	// one before.
	Resolution time.Duration
}

// An Engine is a limiter under test. All methods are called concurrently.
type Engine interface {
	AllowN(key uint64, n int) bool
	Take(key uint64, n int) gcra.Decision
	TakeUpTo(key uint64, n int) gcra.Decision
	Peek(key uint64, n int) gcra.Decision
	Reset(key uint64)
}

// A Law is one promise, and the ways in which the suite tries to break it.
type Law struct {
	Name   string
	Checks []Check
}

// A Check is one way to find a law broken.
type Check struct {
	Name string // in a few words
	need need
	run  func(*testing.T, Subject) error
}

// Run checks every law on the subject, each in a subtest of its name.
func Run(t *testing.T, s Subject) {
	for _, law := range Laws() {
		t.Run(law.Name, func(t *testing.T) {
			if missing := law.missing(s); missing != "" {
				t.Skipf("no check fits: %s has no %s", s.Name, missing)
			}
			for _, c := range law.Checks {
				t.Run(c.Name, func(t *testing.T) {
					if missing := c.Missing(s); missing != "" {
						t.Skipf("not looked at: %s has no %s", s.Name, missing)
					}
					if err := c.Run(t, s); err != nil {
						t.Errorf("%s: %v", s.Name, err)
					}
				})
			}
		})
	}
}

// Check runs those of the law's checks that fit the subject, and returns what
// the first found broken.
func (l Law) Check(t *testing.T, s Subject) error {
	for _, c := range l.Checks {
		if c.Missing(s) != "" {
			continue
		}
		if err := c.Run(t, s); err != nil {
			return errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// missing returns what keeps all of the law's checks from the subject, or "".
func (l Law) missing(s Subject) string {
	missing := ""
	for _, c := range l.Checks {
		if missing = c.Missing(s); missing == "" {
			break
		}
	}
	return missing
}

// Missing returns what the check needs and the subject does not have, or "".
func (c Check) Missing(s Subject) string { return c.need.missing(s) }

// Run returns what the check found broken. The test is for its helpers; the
// check itself does not fail it. Nothing may be Missing.
func (c Check) Run(t *testing.T, s Subject) error { return c.run(t, s) }

// rounds is how often to do what is done n times at the full measure.
func (s Subject) rounds(n int) int {
	return max(n/max(s.Slow, 1), min(n, 20))
}

// unit is the smallest step of the engine's time.
func (s Subject) unit() time.Duration { return max(s.Resolution, 1) }

// up rounds a wait up to whole units.
func (s Subject) up(wait time.Duration) time.Duration {
	return (wait + s.unit() - 1) / s.unit() * s.unit()
}

func (s Subject) clock() *handClock { return &handClock{unit: s.unit()} }

// handClock is moved by hand. It shows whole units, counts its readings, and can
// run a hook inside one of them, after the reading was taken: so a test can put
// anything between a decision's reading of the clock and what the decision does
// next.
type handClock struct {
	clock.Manual
	unit  time.Duration
	reads atomic.Int64
	hook  atomic.Pointer[func()]
}

func (c *handClock) Now() time.Duration {
	c.reads.Add(1)
	now := c.now()
	if h := c.hook.Swap(nil); h != nil {
		(*h)()
	}
	return now
}

// now is Now for the suite itself.
func (c *handClock) now() time.Duration { return c.Manual.Now() / c.unit * c.unit }

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
