package histories_test

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"go.uber.org/goleak"
)

var (
	long = flag.Duration("long", 0, "check histories of each engine for that long")
	seed = flag.Uint64("seed", 0, "the seed of the first history")
	same = flag.Bool("same", false, "run the program of that seed again and again")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A tally is what the histories of one engine were about. What is 0 was not
// tested.
type tally struct {
	histories, ops int
	overlapped     int // histories in which operations overlap
	reordered      int // that no order of the calls explains: somebody was overtaken
	stale          int // decisions that read the clock before it moved on
	retried        int // decisions that read it more than once
	forgotten      int
	did            [kinds]int
}

func (t *tally) String() string {
	s := fmt.Sprintf("%d histories of %d operations: %d overlapped, %d reordered; %d decisions at old readings, %d begun anew; %d keys forgotten or taken over",
		t.histories, t.ops, t.overlapped, t.reordered, t.stale, t.retried, t.forgotten)
	for _, k := range []kind{settle, reset, setLimit, move, jointTake} {
		if t.did[k] > 0 {
			s += fmt.Sprintf(", %d %s", t.did[k], names[k])
		}
	}
	return s
}

func (t *tally) add(h *history) {
	t.histories++
	t.ops += len(h.ops)
	over := false
	for i, o := range h.ops {
		if o.kind != advance {
			for _, p := range h.ops[i+1:] {
				over = over || p.kind != advance && p.call < o.ret
			}
		}
		if n := len(o.reads); n > 0 && o.reads[n-1].at < o.to {
			t.stale++
		}
		switch {
		case len(o.reads) > 1 && o.kind <= settle:
			t.retried++
		case o.kind == sweep:
			if o.count == 0 {
				continue
			}
			if h.rig.taken == nil {
				t.forgotten += o.count
			}
		}
		if len(o.reads) == 0 && (o.kind == settle || o.kind == setLimit) {
			continue // settled already, and an equal limit
		}
		t.did[o.kind]++
	}
	if h.rig.taken != nil {
		t.forgotten += int(h.rig.taken())
	}
	if over {
		t.overlapped++
	}
	if !h.inOrder() {
		t.reordered++
	}
}

func TestHistories(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	count := 2000
	if underRace {
		count = 200
	}
	if testing.Short() {
		count /= 10
	}
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			var sum tally
			begun := time.Now()
			for i := 0; *long == 0 && i < count || time.Since(begun) < *long; i++ {
				if i%100 == 0 {
					runtime.GOMAXPROCS([]int{2, 1, 4, 3}[i/100%4])
				}
				at := *seed
				if !*same {
					at += uint64(i)
				}
				h := run(e, at)
				switch h.check() {
				case porcupine.Unknown:
					t.Fatalf("not decided in time:\n%v", h)
				case porcupine.Illegal:
					t.Fatalf("no order of the operations explains this history:\n%v", h)
				}
				sum.add(h)
			}
			t.Log(&sum)
			if sum.overlapped == 0 || sum.reordered == 0 || sum.stale == 0 {
				t.Error("nothing happened at the same time: this has tested nothing")
			}
			for _, k := range e.need {
				if sum.did[k] == 0 {
					t.Errorf("no %s: nothing of that was tested", names[k])
				}
			}
			if e.traits[0].forgets && e.mix[sweep]+e.mix[guest] > 0 && sum.forgotten == 0 {
				t.Error("nothing was forgotten or taken over")
			}
		})
	}
}
