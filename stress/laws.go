package stress

import (
	"context"
	"testing"
)

// A Waiter is an Engine that can wait. It must be able to do so in a bubble of
// testing/synctest: one that waits for the network there is no Waiter.
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

// A need is what a check asks of a subject.
type need uint16

const (
	needWaiter need = 1 << iota
	needKeeper
	needSweeper
	needReserver
	needDebtor
	needChanger
	needMover
	needKeys
	needCap
	needOdd
	needJoin
	needLocal
)

func (n need) missing(s Subject) string {
	e := s.New(limitOf("1/s"), s.clock())
	for _, row := range []struct {
		need need
		has  bool
		what string
	}{
		{needWaiter, has[Waiter](e), "WaitN"},
		{needKeeper, has[Keeper](e), "Len"},
		{needSweeper, has[Sweeper](e), "Sweep"},
		{needReserver, has[Reserver](e), "Reserve"},
		{needDebtor, has[Debtor](e), "Debit"},
		{needChanger, has[Changer](e), "SetLimit"},
		{needMover, has[Mover](e), "MoveTo"},
		{needKeys, !s.OneKey, "second key"},
		{needCap, s.NewCapped != nil, "NewCapped"},
		{needOdd, s.NewOdd != nil, "NewOdd"},
		{needJoin, s.Join != nil, "Join"},
		{needLocal, !s.Remote, "decisions within this process"},
	} {
		if n&row.need != 0 && !row.has {
			return row.what
		}
	}
	return ""
}

func has[T any](e Engine) bool {
	_, ok := e.(T)
	return ok
}

// of makes a check of a function that needs no test.
func of(name string, need need, run func(Subject) error) Check {
	return Check{name, need, func(_ *testing.T, s Subject) error { return run(s) }}
}

// Laws returns the laws, each with its checks.
func Laws() []Law {
	return []Law{
		{"L1 window", []Check{
			of("one instant", 0, oneInstant),
			of("moving clock", 0, moving),
			of("rush", 0, rush),
			of("in parts", 0, takeUpToRace),
			of("booked", 0, booked),
			{"slept", needWaiter, slept},
		}},
		{"L2 exact", []Check{
			of("histories", 0, histories),
			of("edges", 0, edges),
			of("serial order", 0, serial),
		}},
		{"L3 refusal is a read", []Check{
			of("balance", 0, reads),
			of("cells", needKeeper|needKeys, readsMakeNoCells),
			of("beside grants", 0, readsBesideGrants),
		}},
		{"L4 give-back", []Check{
			of("case by case", needReserver, returns),
			of("across a change", needReserver|needChanger, returnAcrossChange),
			of("across a move", needReserver|needMover, returnAcrossMove),
			of("histories", needReserver, executed),
			of("old reading", needReserver, oldReturn),
			of("race", needReserver, returnRace),
			of("once", needReserver, onceRace),
			of("debt", needDebtor, debts),
		}},
		{"L5 change of limit", []Check{
			of("case by case", needChanger, carried),
			of("equal limit", needChanger, sameLimit),
			of("histories", needChanger, sequences),
			of("between reading and use", needChanger, acrossTwo),
			of("inside SetLimit", needChanger, insideChange),
			of("swept", needChanger|needSweeper|needKeys, sweptAfter),
			of("race", needChanger, changeRace),
			of("moving clock", needChanger, changeMoving),
			of("chains", needChanger, chains),
		}},
		{"L6 forget", []Check{
			of("when full", needSweeper|needKeys, whenFull),
			of("old reading", needSweeper|needKeys, oldReading),
			of("race with sweeps", needSweeper|needKeys, sweptRace),
			of("race with a reset", needKeeper|needKeys, resetRace),
			of("for room, when full", needCap, pushedWhenFull),
			of("for room, old reading", needCap, pushedOldReading),
			of("for room, race", needCap, pushedRace),
			of("for room, balances", needCap, pushedBalances),
			of("for room, lowered", needCap|needReserver, pushedLowered),
		}},
		{"L7 bounded memory", []Check{
			of("flood", needCap, flood),
			of("race", needCap, floodRace),
			of("not remembered", needCap|needReserver, unstored),
			of("odd keys", needOdd, odd),
		}},
		{"L8 joint", []Check{
			of("histories", needJoin, jointHistory),
			of("refusal", needJoin, jointRefusal),
			of("roll-back", needJoin, jointRollBack),
			of("race", needJoin, jointRace),
		}},
		{"L9 time", []Check{
			of("old readings", 0, stale),
			of("clocks disagree", 0, disagree),
		}},
		{"L10 waiting", []Check{
			inBubble("order", order),
			inBubble("crowd", crowd),
			inBubble("deadline", deadline),
			inBubble("context done", done),
			inBubble("cancel", cancels),
			inBubble("slot and context together", tie),
			inBubble("costs that do not fit", misfits),
			inBubble("no polling", polling),
		}},
		{"L11 no hidden work", []Check{
			of("allocations", needLocal, allocations),
			of("goroutines", needLocal, goroutines),
		}},
	}
}
