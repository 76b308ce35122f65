package histories_test

import (
	"cmp"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/anishathalye/porcupine"
)

var (
	twinMix   = with(map[kind]int{reset: 1, setLimit: 4, sweep: 5})
	forgetful = [kinds]int{take: 6, peek: 2, debit: 2, sweep: 5, advance: 6}
	fickle    = [kinds]int{take: 2, peek: 3, reserve: 6, settle: 12, setLimit: 2, advance: 5}
	jointly   = [kinds]int{take: 6, jointTake: 12, jointPeek: 1, advance: 4}
	moving    = [kinds]int{take: 8, peek: 3, move: 5, advance: 4}
)

// tickToToken is a limit of one tick a token, under which TATs meet again.
func tickToToken(*rand.Rand) [2]uint8 { return [2]uint8{1, 1} }

var twins = []struct {
	engine
	why string
}{
	{engine{name: "load then store"}, "two spend the same tokens"},
	{engine{name: "stale insert", mix: forgetful}, "a charge dated into the past weighs nothing"},
	{engine{name: "forgets early", mix: forgetful}, "a debt of less than a token is lost"},
	{engine{name: "charges the dead", mix: forgetful}, "a charge to a cell that has left the map is lost"},
	{engine{name: "cancel twice", mix: fickle}, "tokens come back that were never taken"},
	{engine{name: "cancel at the booking's instant", mix: fickle}, "what has been refilled comes back again"},
	{engine{name: "cancel across a change", mix: fickle}, "ticks of one limit are given back under another"},
	{engine{name: "SetLimit refills"}, "each change is a free burst"},
	{engine{name: "SetLimit keeps the ticks"}, "they are worth something else now"},
	{engine{name: "parity bit"}, "two changes restore it"},
	{engine{name: "generation first"}, "a charge under the old limit is dated after the change"},
	{engine{name: "takeover without claim", make: makeTwinTable("takeover without claim"), mix: decisions}, "a charge lands on another key"},
	{engine{name: "takeover without mark", make: makeTwinTable("takeover without mark"), fixed: tickToToken, script: heldUp}, "a swap that was held up lands on another key"},
	{engine{name: "joint keeps the first charge", make: makeTwinJoint("joint keeps the first charge"), mix: jointly, keys: 1}, "who was refused has paid"},
	{engine{name: "joint spends at the peek", make: makeTwinJoint("joint spends at the peek"), mix: jointly, keys: 1}, "one limit of two is not charged"},
	{engine{name: "Move resets", make: makeTwinMove, mix: moving}, "every Move is a full burst where the key leaves"},
}

// TestTwinsAreRejected runs histories of each twin until no order explains one,
// twenty times over.
func TestTwinsAreRejected(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	runs := 20
	if underRace || testing.Short() {
		runs = 2
	}
	const most = 3000
	for i := range twins {
		e, why := &twins[i].engine, twins[i].why
		complete(e)
		t.Run(e.name, func(t *testing.T) {
			total := 0
			for run := range runs {
				n, rejected := 0, false
				for ; n < most && !rejected; n++ {
					rejected = runAndCheck(t, e, uint64(run*most+n)) == porcupine.Illegal
				}
				if !rejected {
					t.Fatalf("run %d: %d histories passed: %s", run, n, why)
				}
				total += n
			}
			t.Logf("rejected in %d of %d runs, after %d histories on average: %s", runs, runs, total/runs, why)
		})
	}
}

// TestTwinsWithoutFlaw shows that it is the flaws that are rejected.
func TestTwinsWithoutFlaw(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	count := 300
	if underRace || testing.Short() {
		count = 50
	}
	for _, e := range []*engine{
		{name: "twin"},
		{name: "table", make: makeTwinTable(""), mix: decisions},
		{name: "joint", make: makeTwinJoint(""), mix: jointly, keys: 1},
		{name: "table, held up", make: makeTwinTable(""), fixed: tickToToken, script: heldUp},
	} {
		complete(e)
		for seed := range uint64(count) {
			h := run(e, seed)
			if r := h.check(); r != porcupine.Ok {
				t.Fatalf("%s: %v", e.name, h)
			}
		}
	}
}

func complete(e *engine) {
	e.keys, e.traits = cmp.Or(e.keys, 2), both(traits{forgets: true, lazy: e.name == "Move resets"})
	if e.make == nil {
		e.make = makeTwin(e.name)
	}
	if e.mix == ([kinds]int{}) {
		e.mix = twinMix
	}
}

func runAndCheck(t *testing.T, e *engine, seed uint64) porcupine.CheckResult {
	t.Helper()
	h := run(e, seed)
	r := h.check()
	if r == porcupine.Unknown {
		t.Fatalf("not decided in time:\n%v", h)
	}
	return r
}
