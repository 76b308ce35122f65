package stress_test

import (
	"testing"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/stress"
)

// The soak's ledgers reject engines with one fault each, within its short form.
func TestSoakRejects(t *testing.T) {
	twin := func(flaw string) bed {
		return bed{name: flaw, keeps: true, make: twinSubject(t, flaw).New}
	}
	for _, row := range []struct {
		bed   bed
		phase phase
		why   string
	}{
		{twin("load then store"), phase{name: "still", run: still}, "two goroutines spend the same tokens"},
		{twin("load then store"), phase{name: "moving", run: moving}, "and so they do while time goes on"},
		{twin("sweep without check"), phase{name: "forgetting", run: forgetting}, "a charge between check and delete is lost"},
		{twin("charges the dead"), phase{name: "forgetting", run: forgetting}, "a charge to a cell that has left the map is lost"},
		{twin("rewinds"), phase{name: "lagging clocks", run: lagging}, "an old reading makes time pass twice"},
		{bed{name: "cancels twice", make: newTwiceEngine, oneKey: true}, phase{name: "still", run: still}, "what came back comes back again"},
	} {
		t.Run(row.bed.name+"/"+row.phase.name, func(t *testing.T) {
			for i := range 40 { // what needs a race may need several
				c := crowds[i%len(crowds)]
				s := &spell{crowd: c, calls: max(96_000/c.goroutines, 8), seed: uint64(i)}
				done, err := s.play(row.phase, row.bed)
				if !done {
					t.Fatalf("%q does nothing with it", row.phase.name)
				}
				if err != nil && s.minted.Load()+s.lost.Load() > 0 {
					t.Logf("%v: minted %d, lost %d: %v", c, s.minted.Load(), s.lost.Load(), err)
					return
				}
			}
			t.Errorf("%s passed: %s", row.bed.name, row.why)
		})
	}
}

// twiceEngine gives back what a reservation took each time that it is canceled.
type twiceEngine struct{ *cellEngine }

func newTwiceEngine(limit gcra.Limit, c clock.Clock) stress.Engine {
	return &twiceEngine{newCellEngine(limit, c).(*cellEngine)}
}

type twiceReserved struct {
	stress.Reservation
	again stress.Reservation
}

func (r twiceReserved) Cancel() {
	r.Reservation.Cancel()
	r.again.Cancel()
}

func (e *twiceEngine) Reserve(_ uint64, n int) stress.Reservation {
	t := e.core.Turn()
	b, d, _ := e.cell.Book(e.gen, t, n)
	first := e.core.Reservation(cellDebtor{e.cellEngine}, e.gen, e.cell, t, n, b, d)
	again := e.core.Reservation(cellDebtor{e.cellEngine}, e.gen, e.cell, t, n, b, d)
	return twiceReserved{&first, &again}
}
