package histories_test

import (
	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// A twinJoint decides for two limiters, and does not roll back what it charged
// first, or charges without having asked.
type twinJoint struct {
	flaw string
	lims [2]limiter
}

func (j twinJoint) Peek(n int) gcra.Decision {
	return gcra.Both(j.lims[0].Peek(0, n), j.lims[1].Peek(0, n))
}

func (j twinJoint) Take(n int) gcra.Decision {
	a, b := j.lims[0].Peek(0, n), j.lims[1].Peek(0, n)
	all := gcra.Both(a, b)
	if !all.OK() {
		return all
	}
	first := 0
	if b.Remaining() < a.Remaining() {
		first = 1
	}
	r := j.lims[first].ReserveWithin(0, 0, n)
	if !r.Decision().OK() {
		return gcra.Both(r.Decision(), all)
	}
	if j.flaw == "joint spends at the peek" {
		return gcra.Both(r.Decision(), j.lims[1-first].Peek(0, n))
	}
	rest := j.lims[1-first].ReserveWithin(0, 0, n).Decision()
	switch {
	case rest.OK():
		return gcra.Both(r.Decision(), rest)
	case j.flaw != "joint keeps the first charge":
		r.Settle(0)
	}
	return gcra.Both(rest, all)
}

func makeTwinJoint(flaw string) func([2]gcra.Limit, [2]clock.Clock) *rig {
	return func(l [2]gcra.Limit, c [2]clock.Clock) *rig {
		var lims [2]limiter
		for i := range lims {
			lims[i] = single{gatomic.NewLimiter(l[i], gatomic.WithClock(c[i]))}
		}
		return &rig{lims: lims, join: func(uint64) joiner { return twinJoint{flaw, lims} }}
	}
}

// makeTwinMove resets a key where it leaves.
func makeTwinMove(l [2]gcra.Limit, c [2]clock.Clock) *rig {
	a, b := newSharded(l[0], c[0]), newSharded(l[1], c[1])
	return &rig{lims: [2]limiter{a, b}, move: func(key uint64) error {
		defer a.Reset(key)
		return a.Move(key, b.Limiter)
	}}
}
