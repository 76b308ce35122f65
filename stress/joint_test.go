package stress_test

import (
	"runtime"
	"testing"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
	"github.com/weir-go/weir/stress"
)

// A joint may have buckets of any of our engines.
func TestJointOfAllKinds(t *testing.T) {
	kinds := []func(gcra.Limit, clock.Clock) stress.Engine{newLimiterEngine, newTableEngine, newShardEngine}
	made := 0
	subject := stress.Subject{Name: "mixed", OneKey: true, Join: joinOurs, New: func(limit gcra.Limit, c clock.Clock) stress.Engine {
		made++
		return kinds[made%len(kinds)](limit, c)
	}}
	if err := law(t, "L8 joint").Check(t, subject); err != nil {
		t.Error(err)
	}
}

// joinOurs joins what the engines are that we make.
func joinOurs(members ...stress.Member) stress.Joint {
	limits := make([]shard.Joinable, len(members))
	for i, m := range members {
		switch e := m.Engine.(type) {
		case limiterEngine:
			limits[i] = e.l
		case shardEngine:
			limits[i] = e.For(m.Key)
		case tableEngine:
			limits[i] = e.For(m.Key)
		}
	}
	return shard.Join(limits...)
}

// twinJoint is a joint of twins like the real one: it asks all, charges them
// in order, and gives back in reverse.
type twinJoint struct {
	members []stress.Member
	times   []int
	flaw    string
}

func joinTwins(members ...stress.Member) stress.Joint {
	j := &twinJoint{flaw: members[0].Engine.(*twin).flaw}
next:
	for _, m := range members {
		for i, n := range j.members {
			if n == m {
				if j.flaw != "joint counts repeats once" {
					j.times[i]++
				}
				continue next
			}
		}
		j.members, j.times = append(j.members, m), append(j.times, 1)
	}
	if last := len(j.members) - 1; j.flaw == "joint ignores the last member" && last > 0 {
		j.members = j.members[:last]
	}
	return j
}

func (j *twinJoint) Peek(n int) gcra.Decision {
	d := gcra.Share(j.members[0].Engine.Peek(j.members[0].Key, n*j.times[0]), j.times[0])
	for i, m := range j.members[1:] {
		if !d.OK() && j.flaw == "joint tells the first refusal" {
			break
		}
		d = gcra.Both(d, gcra.Share(m.Engine.Peek(m.Key, n*j.times[i+1]), j.times[i+1]))
	}
	return d
}

func (j *twinJoint) Take(n int) gcra.Decision {
	if d := j.Peek(n); !d.OK() && j.flaw != "joint keeps the first charge" {
		return d
	}
	var undo []func()
	var all gcra.Decision
	for i, m := range j.members {
		e := m.Engine.(*twin)
		d, back := e.hold(m.Key, n*j.times[i])
		if d = gcra.Share(d, j.times[i]); i > 0 {
			d = gcra.Both(all, d)
		}
		runtime.Gosched() // so that others come between two charges
		if all = d; all.OK() {
			undo = append(undo, back)
			continue
		}
		if j.flaw == "joint keeps the first charge" {
			undo = undo[min(len(undo), 1):]
		}
		for i := len(undo) - 1; i >= 0 && j.flaw != "joint forgets to roll back"; i-- {
			undo[i]()
		}
		return gcra.Both(all, j.Peek(n))
	}
	return all
}

// hold takes from a twin, and returns how to undo it.
func (e *twin) hold(key uint64, n int) (d gcra.Decision, undo func()) {
	at := e.now()
	for {
		c := e.find(key)
		if c == nil {
			e.mu.Lock()
			if at = e.now(); e.cells[key] == nil {
				e.put(key, max(e.fresh, at.Tick), at)
			}
			e.mu.Unlock()
			continue
		}
		tat := c.Load()
		if tat == dead {
			runtime.Gosched()
			continue
		}
		next, d := gcra.Take(&e.limit, tat, at, n)
		if next != tat && !c.CompareAndSwap(tat, next) {
			continue
		}
		b := gcra.Booking{Cost: next - max(tat, at.Tick), From: at.Tick, Slot: at.Tick, End: next}
		return d, func() {
			if e.flaw == "joint rolls back to the take" {
				for {
					tat := c.Load()
					if c.CompareAndSwap(tat, gcra.GiveBack(&e.limit, tat, at, b, n)) {
						return
					}
				}
			}
			e.giveBack(c, b, n)
		}
	}
}
