package stress_test

import (
	"testing"

	"github.com/weir-go/weir/stress"
)

// broken is a limiter with one fault, and a check of the law that the fault
// breaks, which has to reject it.
type broken struct {
	flaw  string
	fails string // "law/check"
	why   string
}

// families are the twins, by what they are made of. The one without a flaw
// passes the whole suite, so it is the flaws that are rejected.
var families = []struct {
	name    string
	rows    []broken
	subject func(t *testing.T, flaw string) stress.Subject
}{
	{"cells", cellTwins, twinSubject},
	{"roomy", roomyTwins, roomyTwin},
	{"ledger", ledgerTwins, ledgerSubject},
	{"slots", slotTwins, slotSubject},
	{"frozen", frozenTwins, frozenSubject},
}

var cellTwins = []broken{
	{"load then store", "L1 window/one instant", "two goroutines spend the same tokens"},
	{"load then store", "L1 window/moving clock", "and go on so while time passes"},
	{"load then store", "L1 window/rush", "what was granted is not missing"},
	{"load then store", "L1 window/in parts", "nor in parts"},
	{"wakes early", "L1 window/slept", "who sleeps too short comes before its token"},
	{"> for >=", "L2 exact/histories", "a request that fits exactly is refused"},
	{"a tick of tolerance", "L2 exact/histories", "a request passes before its time"},
	{"interval truncated", "L2 exact/histories", "every token comes a little early"},
	{"no max with now", "L2 exact/histories", "an idle key saves up more than its burst"},
	{"no max with now", "L1 window/one instant", "an idle key saves up more than its burst"},
	{"a negative cost is a refund", "L2 exact/edges", "who asks for less than nothing is paid"},
	{"parts in two steps", "L2 exact/serial order", "a part that another was faster at is refused, though some were there"},
	{"refusal writes", "L3 refusal is a read/balance", "who asks too often waits for ever"},
	{"fetch-add without undo", "L3 refusal is a read/balance", "what was refused is charged"},
	{"refusal stores what it read", "L3 refusal is a read/beside grants", "a grant in between is lost"},
	{"peek makes a cell", "L3 refusal is a read/cells", "a flood of reads fills memory"},
	{"sweep without check", "L6 forget/race with sweeps", "a charge between check and delete is lost"},
	{"charges the dead", "L6 forget/race with sweeps", "a charge to a cell that has left the map is lost"},
	{"stale insert", "L6 forget/old reading", "a charge dated into the past weighs nothing"},
	{"forgets early", "L6 forget/when full", "a debt of less than a token is lost"},
	{"never forgets", "L6 forget/when full", "memory grows without bound"},
	{"reset until it holds", "L6 forget/race with a reset", "one reset is many"},
	{"evicts", "L7 bounded memory/flood", "a flood frees those who owe time"},
	{"cap counted late", "L7 bounded memory/race", "racing inserts overshoot the cap"},
	{"stores odd keys", "L7 bounded memory/odd keys", "every one is new, and stays"},
	{"joint keeps the first charge", "L8 joint/refusal", "a refusal costs those who would have granted"},
	{"joint rolls back to the take", "L8 joint/roll-back", "what others took since is there again"},
	{"joint ignores the last member", "L8 joint/histories", "one limit of several is not kept"},
	{"joint counts repeats once", "L8 joint/histories", "who joins a limit twice pays once"},
	{"joint tells the first refusal", "L8 joint/histories", "who comes back then is refused by the next"},
	{"joint forgets to roll back", "L8 joint/race", "a lost race costs those who had granted"},
	{"rewinds", "L9 time/old readings", "an old reading makes time pass twice"},
	{"rewinds", "L9 time/clocks disagree", "and so does each of two clocks"},
	{"polls", "L10 waiting/order", "who wakes first wins, not who came first"},
	{"load then store", "L10 waiting/crowd", "two waiters have one slot"},
	{"keeps the slot", "L10 waiting/cancel", "a waiter that gave up leaves its slot empty"},
	{"frees the middle", "L10 waiting/cancel", "a slot before others' is given twice"},
	{"books past the deadline", "L10 waiting/deadline", "a hopeless waiter takes a slot"},
	{"takes when done", "L10 waiting/context done", "a dead request takes a token"},
	{"context wins", "L10 waiting/slot and context together", "a token is taken and an error returned"},
	{"takes what fits", "L10 waiting/costs that do not fit", "who can never be served takes from others"},
	{"looks again and again", "L10 waiting/no polling", "sleepers burn the processor"},
	{"allocates", "L11 no hidden work/allocations", "garbage in the hot path"},
	{"janitor", "L11 no hidden work/goroutines", "a goroutine for each limiter"},
}

// roomyTwins remember more keys than they were made for, and do not sweep.
var roomyTwins = []broken{
	{"stale insert", "L6 forget/for room, old reading", "a charge dated into the past weighs nothing"},
	{"forgets early", "L6 forget/for room, when full", "a debt of less than a token is lost"},
	{"never forgets", "L6 forget/for room, when full", "who is full keeps others out"},
	{"evicts", "L7 bounded memory/flood", "a flood frees those who owe time"},
	{"cap counted late", "L7 bounded memory/race", "memory is not bounded"},
	{"charges the refused", "L7 bounded memory/flood", "who is turned away pays"},
	{"passes the refused", "L7 bounded memory/flood", "whom it cannot remember it does not limit"},
	{"keeps room", "L7 bounded memory/flood", "new keys are turned away while there is room"},
}

// ledgerTwins fail at giving back and at changing the limit.
var ledgerTwins = []broken{
	{"promises a slot early", "L1 window/booked", "who sleeps until it comes before its token"},
	{"returns what is not drained", "L4 give-back/histories", "a slot that others wait behind is handed out twice"},
	{"returns a part early", "L4 give-back/case by case", "others' slots move under them"},
	{"returns what was refilled", "L4 give-back/case by case", "a cancel long after is a free burst"},
	{"returns twice", "L4 give-back/case by case", "every cancel is a token more"},
	{"done is marked late", "L4 give-back/once", "and so is every second canceller"},
	{"returns after a reset", "L4 give-back/case by case", "it comes out of what others took since"},
	{"returns after a change", "L4 give-back/across a change", "old ticks come back out of a new balance"},
	{"returns where the key is", "L4 give-back/across a move", "it is given back twice"},
	{"returns by an old reading", "L4 give-back/old reading", "what others took since comes a second time"},
	{"returns by what it read", "L4 give-back/race", "what others took meanwhile is there again"},
	{"returns nothing", "L4 give-back/case by case", "who gives up the last slot leaves it empty"},
	{"settles a negative number", "L4 give-back/case by case", "a refund that was never paid"},
	{"debt without bound", "L4 give-back/debt", "one debit blocks a key for ever"},
	{"debt is lost", "L4 give-back/debt", "what was used is not charged"},
	{"a change refills", "L5 change of limit/case by case", "every SetLimit is a free burst"},
	{"a change refills", "L5 change of limit/race", "and a race for it too"},
	{"a change refills", "L5 change of limit/moving clock", "and one at every step"},
	{"a change keeps ticks", "L5 change of limit/case by case", "raised, nobody gets anything until the old rate's time has passed"},
	{"a change forgets debt", "L5 change of limit/histories", "a change pays everybody's debt"},
	{"a change keeps more than the burst", "L5 change of limit/case by case", "lowering a limit lowers nothing"},
	{"a change drops fractions", "L5 change of limit/histories", "a thousand changes take a thousand tokens"},
	{"an equal limit is a change", "L4 give-back/case by case", "reservations are lost to a reload of the same configuration"},
	{"an equal limit drops fractions", "L5 change of limit/equal limit", "and so are fractions of a token"},
	{"S before publication", "L5 change of limit/inside SetLimit", "what was charged between weighs too much"},
	{"instants before S", "L5 change of limit/between reading and use", "time counts twice, at either rate"},
	{"a parity bit", "L5 change of limit/chains", "two changes restore it"},
	{"fresh stays", "L5 change of limit/case by case", "a key never seen gets the larger burst for nothing"},
	{"judged by the old limit", "L5 change of limit/swept", "full under the old one, owing under the new"},
}

// listed are the faults that limiters are known to have, in the words in which
// they are told, and the twin that has each.
var listed = map[string]string{
	"load-then-store instead of compare-and-swap":        "load then store",
	"fetch-add without undo":                             "fetch-add without undo",
	"> for >=":                                           "> for >=",
	"no max with now":                                    "no max with now",
	"tolerance off by one":                               "a tick of tolerance",
	"interval truncated":                                 "interval truncated",
	"refusal that writes":                                "refusal writes",
	"sweeper that deletes without the atomic full check": "sweep without check",
	"charger that writes to a frozen cell":               "charges the frozen",
	"insert with the stale instant":                      "stale insert",
	"takeover that loads the hash before the TAT":        "hash before TAT",
	"takeover without a claim":                           "no claim",
	"takeover without the mark":                          "no mark",
	"the same key inserted twice":                        "inserted twice",
	"cancel that returns min(taken, not drained)":        "returns what is not drained",
	"partial give-back before its slot":                  "returns a part early",
	"cancel twice":                                       "returns twice",
	"SetLimit that refills":                              "a change refills",
	"SetLimit with a parity bit":                         "a parity bit",
	"a generation's instant read before its publication": "S before publication",
	"a sweeper that judges an old cell by its old limit": "judged by the old limit",
	"roll-back at the take's instant":                    "joint rolls back to the take",
	"clock rewound by a stale reading":                   "rewinds",
	"wait that polls out of order":                       "polls",
	"joint that keeps the first charge":                  "joint keeps the first charge",
}

func TestTwinsAreRejected(t *testing.T) {
	for _, f := range families {
		for _, row := range f.rows {
			t.Run(f.name+"/"+row.flaw+"/"+row.fails, func(t *testing.T) {
				c, ok := checks()[row.fails]
				if !ok {
					t.Fatalf("there is no check %q", row.fails)
				}
				s := f.subject(t, row.flaw)
				if missing := c.Missing(s); missing != "" {
					t.Fatalf("the twin has no %s", missing)
				}
				err := c.Run(t, s)
				if err == nil {
					t.Fatalf("%s passed: %s", row.flaw, row.why)
				}
				t.Log(err)
			})
		}
	}
}

func TestTwinsWithoutFlaw(t *testing.T) {
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) { stress.Run(t, f.subject(t, "")) })
	}
}

// A check that no twin fails proves nothing.
func TestEveryCheckHasATwin(t *testing.T) {
	failed, flaws := make(map[string]bool), make(map[string]bool)
	for _, f := range families {
		for _, row := range f.rows {
			failed[row.fails], flaws[row.flaw] = true, true
		}
	}
	for name := range checks() {
		if !failed[name] {
			t.Errorf("no twin fails the check %q", name)
		}
	}
	for words, flaw := range listed {
		if !flaws[flaw] {
			t.Errorf("there is no twin %q: %s", flaw, words)
		}
	}
}

// checks are the suite's, by "law/check".
func checks() map[string]stress.Check {
	all := make(map[string]stress.Check)
	for _, l := range stress.Laws() {
		for _, c := range l.Checks {
			all[l.Name+"/"+c.Name] = c
		}
	}
	return all
}

func law(t *testing.T, name string) stress.Law {
	for _, law := range stress.Laws() {
		if law.Name == name {
			return law
		}
	}
	t.Fatalf("there is no law %q", name)
	return stress.Law{}
}
