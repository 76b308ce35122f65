package stress_test

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/internal/invariants"
	"github.com/weir-go/weir/stress"
)

// The soak lets crowds of goroutines decide on few keys, for as long as it is
// told to, and keeps a ledger: what was granted, less what came back, is what
// the balances lack at the end. Where the ledger cannot be exact, because a
// reset or a change of limit came in between, it says between what it has to be.
//
//	go test ./stress -run Soak -v                                  a few seconds
//	go test ./stress -run Soak -v -duration 10m -timeout 20m       at least that long
//	go test ./stress -run Soak -v -decisions 200000000 -timeout 0  at least so many by each engine
//	go test -tags invariants ./stress -run Soak -v                 also counts what fails inside
//
// It prints a line for every engine and phase.
var (
	soakDuration  = flag.Duration("duration", 0, "how long the soak goes on, all engines together")
	soakDecisions = flag.Int64("decisions", 0, "how many contended decisions the soak makes with each engine")
)

// A crowd is how many goroutines there are, on how many processors, and whether
// a goroutine makes garbage beside them while the collector runs all the time.
type crowd struct {
	goroutines, procs int
	garbage           bool
}

var crowds = []crowd{
	{2, 2, false}, {8, 2, true}, {64, 8, false}, {4, 1, false}, {16, 8, true}, {32, 2, false}, {64, 1, true}, {3, 8, false},
}

func (c crowd) String() string {
	text := fmt.Sprintf("goroutines=%d gomaxprocs=%d", c.goroutines, c.procs)
	if c.garbage {
		text += " garbage"
	}
	return text
}

// A spell is one phase of a soak on one engine, and what was counted in it.
type spell struct {
	crowd
	calls int // decisions that each goroutine makes
	seed  uint64

	decisions atomic.Int64
	granted   atomic.Int64 // tokens
	returned  atomic.Int64 // tokens that came back
	handoffs  atomic.Int64 // grants of others seen between two of one goroutine's
	minted    atomic.Int64 // tokens that the ledger has too many
	lost      atomic.Int64 // and too few
	forgotten int64        // as the engine says itself
	takeovers int64
}

// rush runs f in each goroutine of the crowd, and returns once all have ended.
func (s *spell) rush(f func(i int)) {
	var start, end sync.WaitGroup
	start.Add(s.goroutines)
	for i := range s.goroutines {
		end.Go(func() {
			start.Done()
			start.Wait()
			f(i)
		})
	}
	end.Wait()
}

// ledger books what a key should have and what it has.
func (s *spell) ledger(what string, want, got int) error {
	switch {
	case got > want:
		s.minted.Add(int64(got - want))
	case got < want:
		s.lost.Add(int64(want - got))
	default:
		return nil
	}
	return fmt.Errorf("%s: %d tokens, want %d", what, got, want)
}

// within is ledger for what has to be between two numbers.
func (s *spell) within(what string, least, most, got int) error {
	if got > most {
		return s.ledger(what, most, got)
	}
	return s.ledger(what, max(least, got), got)
}

// A phase is a way to load an engine. It does nothing, and says so, for an
// engine that has no part in it.
type phase struct {
	name string
	// meets says that goroutines have to have met at one word, or the phase
	// proved nothing.
	meets bool
	run   func(s *spell, b bed) (done bool, err error)
}

// phases are all there are. What holds exactly in each is said at its function.
var phases = []phase{
	{"still", true, still},
	{"moving", false, moving},
	{"given back", false, givenBack},
	{"real time", false, realTime},
	{"jumps", false, jumps},
	{"lagging clocks", false, lagging},
	{"forgetting", false, forgetting},
	{"limits change", false, limitsChange},
	{"resets", false, resets},
	{"moves", false, moves},
	{"saves", false, saves},
}

func TestSoak(t *testing.T) {
	for _, b := range beds {
		t.Run(b.name, func(t *testing.T) { soak(t, b) })
	}
}

// soak runs all phases on an engine, in crowds that change, until there were
// enough decisions and time is up.
func soak(t *testing.T, b bed) {
	calls := 96_000 // of each phase, by all its goroutines
	switch {
	case *soakDuration > 0 || *soakDecisions > 0:
		calls = 2_000_000
	case testing.Short():
		calls = 16_000
	}
	if underRace {
		calls /= 4
	}
	end := time.Now().Add(*soakDuration / time.Duration(len(beds)))
	var decisions, met, forgotten, takeovers int64
	for round := 0; round == 0 || time.Now().Before(end) || decisions < *soakDecisions; round++ {
		for i, p := range phases {
			in, calls := crowds[(round*3+i)%len(crowds):][:1], calls
			if p.meets {
				in, calls = crowds, calls/4
			}
			for j, c := range in {
				s := &spell{crowd: c, calls: max(calls/c.goroutines, 64), seed: uint64((round*len(phases)+i)*len(crowds) + j)}
				if !s.pass(t, p, b) {
					break
				}
				decisions += s.decisions.Load()
				met += s.handoffs.Load()
				forgotten += s.forgotten
				takeovers += s.takeovers
			}
		}
	}
	if b.forgets && forgotten == 0 || b.takes && takeovers == 0 {
		t.Errorf("%s: %d keys were forgotten and %d slots taken over, so nothing of that is proved", b.name, forgotten, takeovers)
	}
	t.Logf("%s: %d decisions, %d handoffs, %d forgotten, %d takeovers, lost: 0", b.name, decisions, met, forgotten, takeovers)
}

// pass plays a phase and reports what it did. If goroutines have to have met
// and did not, since the machine had no time for two of them, it plays it again.
func (s *spell) pass(t *testing.T, p phase, b bed) (done bool) {
	const tries = 100
	for range tries {
		before := invariants.Read()
		done, err := s.play(p, b)
		if !done {
			return false
		}
		now := invariants.Read().Since(before)
		t.Logf("%s %q %v: decisions %d, granted %d, returned %d, handoffs %d, %s, takeovers %d, forgotten %d, minted %d, lost: %d",
			b.name, p.name, s.crowd, s.decisions.Load(), s.granted.Load(), s.returned.Load(), s.handoffs.Load(),
			inside(now), s.takeovers, s.forgotten, s.minted.Load(), s.lost.Load())
		if err != nil || s.minted.Load() != 0 || s.lost.Load() != 0 {
			t.Fatalf("%s, %q, %v: minted %d, lost %d: %v", b.name, p.name, s.crowd, s.minted.Load(), s.lost.Load(), err)
		}
		if !p.meets || s.handoffs.Load() > 0 && (!invariants.On || now.LostInAll() > 0) {
			return true
		}
		*s = spell{crowd: s.crowd, calls: s.calls, seed: s.seed + 1<<32}
	}
	t.Errorf("%s, %q, %v: goroutines never met at a word, so nothing is proved", b.name, p.name, s.crowd)
	return true
}

// inside says what only the build with invariants knows. In the ordinary one a
// failed compare-and-swap leaves no trace outside of the engine; that goroutines
// met is shown by the handoffs then.
func inside(c invariants.Counts) string {
	if !invariants.On {
		return "compare-and-swap failures not counted"
	}
	return fmt.Sprintf("compare-and-swap failures %d %v, cells replaced %d, retries under the lock %d",
		c.LostInAll(), c.Lost, c.Events[invariants.Replaced], c.Events[invariants.Retried])
}

// play runs a phase in its crowd.
func (s *spell) play(p phase, b bed) (done bool, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(s.procs))
	if s.garbage {
		defer debug.SetGCPercent(debug.SetGCPercent(5))
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			var kept [64][]byte
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if kept[i%len(kept)] = make([]byte, 16<<10); i%256 == 0 {
					runtime.GC()
				}
				runtime.Gosched()
			}
		}()
		defer func() { close(stop); <-stopped }()
	}
	return p.run(s, b)
}

// reserver, debtor and changer are what an engine may have besides, nil if not.
func reserver(e stress.Engine) stress.Reserver { r, _ := e.(stress.Reserver); return r }
func debtor(e stress.Engine) stress.Debtor     { d, _ := e.(stress.Debtor); return d }
func changer(e stress.Engine) stress.Changer   { c, _ := e.(stress.Changer); return c }
