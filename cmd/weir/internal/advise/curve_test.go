package advise_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/advise"
	"github.com/weir-go/weir/cmd/weir/internal/check"
)

// TestCurve holds all that is told of a rate against replays and queues in math/big.
func TestCurve(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	all := rates(t, "10/m,1/s,4/s,20/s")
	for round := range 40 {
		o := advise.Options{Rates: all}
		allowed, spared := int64(0), int64(0) // percent
		switch round % 3 {
		case 0:
			allowed = int64(r.IntN(30))
			o.Refuse = share(t, allowed)
		case 1:
			if spared = int64(r.IntN(60)); round%9 == 4 {
				spared = 100
			}
			o.ForKeys = share(t, spared)
		}
		if round%5 == 0 {
			o.Memory = 1 // each rate is followed alone, and requests go to a file
		}
		largest := []int{1, 6}[round%2]
		records := traffic(r, 400, 15, 1e6, []int64{1e8, 3e8, 1e9}[round%3], largest)
		got := advised(t, records, o)
		if (got.Spooled > 0) != (o.Memory == 1) {
			t.Errorf("%d bytes went to a file", got.Spooled)
		}
		for _, p := range got.Curve {
			check.Point(t, records, p, got.Requests*allowed/100, got.Keys*spared/100, got.Keys)
		}
		for _, a := range got.Advice {
			check.Advice(t, records, a, time.Second)
		}
	}
}

func share(t *testing.T, percent int64) advise.Share {
	t.Helper()
	s, err := advise.ParseShare(fmt.Sprint(percent, "%"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
