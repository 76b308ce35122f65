package stress_test

import (
	"math"
	"testing"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/stress"
)

// roomyTwins remember more keys than they were made for, and do not sweep.
var roomyTwins = []struct {
	flaw string
	law  string
	why  string
}{
	{"stale insert", "L6 forget", "a charge dated into the past weighs nothing"},
	{"forgets early", "L6 forget", "a debt of less than a token is lost"},
	{"never forgets", "L6 forget", "who is full keeps others out"},
	{"evicts", "L7 bounded memory", "a flood frees those who owe time"},
	{"cap counted late", "L7 bounded memory", "memory is not bounded"},
	{"charges the refused", "L7 bounded memory", "who is turned away pays"},
	{"passes the refused", "L7 bounded memory", "whom it cannot remember it does not limit"},
	{"keeps room", "L7 bounded memory", "new keys are turned away while there is room"},
}

func TestRoomyTwinsAreRejected(t *testing.T) {
	for _, row := range roomyTwins {
		t.Run(row.flaw, func(t *testing.T) {
			err := law(t, row.law).Check(t, roomyTwin(t, row.flaw))
			if err == nil {
				t.Fatalf("%s passed %s: %s", row.flaw, row.law, row.why)
			}
			t.Log(err)
		})
	}
}

func TestRoomyTwinWithoutFlaw(t *testing.T) { stress.Run(t, roomyTwin(t, "")) }

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
