package stress_test

import (
	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
	"github.com/weir-go/weir/stress"
)

// A bed is what makes the engines of one kind for a soak.
type bed struct {
	name   string
	make   func(limit gcra.Limit, c clock.Clock) stress.Engine
	oneKey bool
	// forgets and takes say that the soak has to have seen keys forgotten, and
	// slots taken over.
	forgets, takes bool
	// keeps says that a reset puts a full bucket in the place of the old one
	// while others decide: a bare cell's users have to do that themselves.
	keeps bool
	// rolls says that an engine may lose what it refilled between a charge and
	// its roll-back, after a lost race at another limit: rule 25 of a joint.
	rolls bool
}

var beds = []bed{
	{name: "Cell", make: newCellEngine, oneKey: true},
	{name: "atomic.Limiter", make: newLimiterEngine, oneKey: true, keeps: true},
	{name: "shard.Limiter", make: newShardEngine, forgets: true, keeps: true},
	{name: "shard.Table", make: newTableEngine, forgets: true, takes: true, keeps: true},
	{name: "Joint", make: newJointBed, oneKey: true, rolls: true},
}

// jointBed is a joint of a limiter of each kind, all with the same limit: so
// what the joint takes is missing in each of them.
type jointBed struct {
	*shard.Joint
	members []shard.Joinable
	change  []stress.Changer
}

func newJointBed(limit gcra.Limit, c clock.Clock) stress.Engine {
	one := gatomic.NewLimiter(limit, gatomic.WithClock(c))
	many := shard.New[uint64](limit, shard.WithClock(c))
	table := shard.NewTable[uint64](limit, 100, shard.WithClock(c))
	members := []shard.Joinable{one, many.For(1), table.For(1)}
	return &jointBed{shard.Join(members...), members, []stress.Changer{one, many, table}}
}

func (e *jointBed) AllowN(_ uint64, n int) bool            { return e.Joint.AllowN(n) }
func (e *jointBed) Take(_ uint64, n int) gcra.Decision     { return e.Joint.Take(n) }
func (e *jointBed) TakeUpTo(_ uint64, n int) gcra.Decision { return e.Joint.Take(n) }
func (e *jointBed) Peek(_ uint64, n int) gcra.Decision     { return e.Joint.Peek(n) }
func (e *jointBed) Reset(uint64)                           {}

func (e *jointBed) Reserve(_ uint64, n int) stress.Reservation {
	r := e.Joint.Reserve(n)
	return &r
}

func (e *jointBed) SetLimit(limit gcra.Limit) {
	for _, c := range e.change {
		c.SetLimit(limit)
	}
}

// has returns what is left for the key: for a joint, in each member, if they
// agree, and else in the one that has least and in the one that has most.
func has(e stress.Engine, key uint64) (least, most int) {
	least = e.Peek(key, 0).Remaining()
	most = least
	if j, ok := e.(*jointBed); ok {
		for _, m := range j.members {
			n := m.Peek(0).Remaining()
			least, most = min(least, n), max(most, n)
		}
	}
	return least, most
}

// balance books what a key has at the end, in every member of a joint.
func (s *spell) balance(e stress.Engine, key uint64, want int) error {
	least, most := has(e, key)
	if err := s.ledger("what is left", want, least); err != nil {
		return err
	}
	return s.ledger("what is left", want, most)
}

// kept is balance where as much as spilt may be missing.
func (s *spell) kept(e stress.Engine, key uint64, want, spilt int) error {
	least, most := has(e, key)
	if err := s.within("what is left", want-spilt, want, least); err != nil {
		return err
	}
	return s.within("what is left", want-spilt, want, most)
}

func soakLimit(text string) gcra.Limit {
	l, err := gcra.Parse(text)
	if err != nil {
		panic(err)
	}
	return l
}

// keyOf spreads keys over the shards.
func keyOf(i int) uint64 { return uint64(i)*0x9e3779b97f4a7c15 + 1 }
