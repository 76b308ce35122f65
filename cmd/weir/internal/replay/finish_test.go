package replay

import (
	"fmt"
	"math"
	"testing"

	"github.com/weir-go/weir/cmd/weir/internal/logs"
)

// TestTop asks for more keys than there are, up to all that an int can say: each is told, the most refused first.
func TestTop(t *testing.T) {
	const keys = 50
	var records []logs.Record
	for k := range keys {
		for range keys - k + 1 { // one passes, and keys-k are refused
			records = append(records, logs.Record{Keys: [][]byte{fmt.Appendf(nil, "k%02d", k)}, Costs: []int64{1}})
		}
	}
	for _, top := range []int{1, 7, keys, math.MaxInt/2 + 1, math.MaxInt} {
		_, r := play(t, specsOf(t, "1/s"), Options{Top: top}, records)
		got := r.Limits[0].MostRefused
		if len(got) != min(top, keys) {
			t.Errorf("of %d keys, %d are told: want %d at most", keys, len(got), top)
		}
		for i, k := range got {
			if k.Key != fmt.Sprintf("k%02d", i) || k.Refused != int64(keys-i) {
				t.Errorf("top %d: %d is %+v", top, i, k)
			}
		}
	}
}
