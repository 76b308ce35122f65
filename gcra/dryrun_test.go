package gcra_test

import (
	"math"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

func TestDryRun(t *testing.T) {
	widest := gcra.Per(1, 1).Burst(min(1<<60, math.MaxInt))
	small := gcra.PerSecond(1).Burst(2)
	for _, row := range []struct {
		limit *gcra.Limit
		used  int
		n     int
		why   string
	}{
		{&small, 2, 1, "limited"},
		{&small, 2, 2, "limited, by two tokens"},
		{&small, 0, 3, "above the burst"},
		{&small, 0, -1, "a negative cost"},
		{&small, 0, math.MinInt, "the lowest cost"},
		{&small, 0, math.MaxInt, "the highest cost"},
		{&small, 0, 1, "granted"},
		{&small, 0, 0, "nothing asked for"},
		{&widest, 1, widest.Capacity(), "limited, with the highest cost that can be"},
	} {
		at := gcra.At(row.limit, 0)
		tat, _ := gcra.Take(row.limit, gcra.Fresh(row.limit, at), at, row.used)
		_, want := gcra.Take(row.limit, tat, at, row.n)
		got := want.DryRun().DryRun()
		if !got.OK() {
			t.Errorf("not OK: %s", row.why)
		}
		if got.Err() != want.Err() || got.Granted() != want.Granted() || got.Remaining() != want.Remaining() ||
			got.RetryAfter() != want.RetryAfter() || got.ResetAfter() != want.ResetAfter() || got.Limit() != want.Limit() {
			t.Errorf("err %v, granted %d, retry after %v; without the dry run %v, %d, %v: %s",
				got.Err(), got.Granted(), got.RetryAfter(), want.Err(), want.Granted(), want.RetryAfter(), row.why)
		}
	}
	if d := gcra.Peek(&small, 1+int64(3*time.Second), gcra.At(&small, 0), 1).DryRun(); d.RetryAfter() != 2*time.Second {
		t.Errorf("in debt: retry after %v", d.RetryAfter())
	}
}
