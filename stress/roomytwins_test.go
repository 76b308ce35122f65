package stress_test

import (
	"math"
	"testing"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/stress"
)

func roomyTwin(t *testing.T, flaw string) stress.Subject {
	// It has what the interfaces name, and so no Sweep.
	type noSweeper struct {
		stress.Engine
		stress.Keeper
		stress.Waiter
	}
	room := func(keys int) int { return keys + keys/2 }
	exact := twinSubject(t, flaw)
	capped := func(limit gcra.Limit, c clock.Clock, keys int, admit bool) stress.Engine {
		e := exact.NewCapped(limit, c, room(keys), admit).(*twin)
		e.least = keys
		return noSweeper{e, e, e}
	}
	return stress.Subject{
		Name:      "roomy twin: " + flaw,
		New:       func(limit gcra.Limit, c clock.Clock) stress.Engine { return capped(limit, c, math.MaxInt/2, false) },
		NewCapped: capped,
		Room:      room,
	}
}
