package report

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/advise"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
	"github.com/weir-go/weir/gcra"
)

// BenchmarkPage makes the page of a full result: 24 rates, 3 limits, 256 columns.
func BenchmarkPage(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	bins := func() (n []int64) {
		for range replay.MaxBins {
			n = append(n, r.Int64N(1000))
		}
		return n
	}
	result := &advise.Result{Key: "client", Cost: "1", Requests: 1e9, Keys: 1e6, Refuse: "0.1%",
		Timeline: &replay.Timeline{Width: time.Minute, Requests: bins(), Refused: [][]int64{bins(), bins(), bins()}}}
	for i := range 24 {
		most := int64(1000 - 40*i)
		result.Curve = append(result.Curve, advise.Point{Rate: "1/s", N: int64(i + 1), Period: time.Second, P50: most / 8, P90: most / 4, P99: most / 2, Max: most, ForShare: most - 5, Key: "10.0.0.1"})
	}
	for i, name := range []string{"tight", "balanced", "generous"} {
		result.Advice = append(result.Advice, advise.Advice{Name: name, Limit: gcra.PerSecond(5 + 3*i).Burst(700 + 100*i)})
	}
	size := 0
	for b.Loop() {
		page, err := Advice(result, Options{})
		if err != nil {
			b.Fatal(err)
		}
		size = len(page)
	}
	b.ReportMetric(float64(size), "B/page")
}
