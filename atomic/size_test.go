package atomic

import (
	"context"
	"math/bits"
	"testing"
	"unsafe"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// TestSizes holds what a key, a decision and a reservation take, on 64 bits and
// on 32, to what they took when this was written.
func TestSizes(t *testing.T) {
	for _, row := range []struct {
		what      string
		size      uintptr
		on64      uintptr
		on32      uintptr
		exactly   bool
		otherwise string
	}{
		{"Cell", unsafe.Sizeof(Cell{}), 8, 8, true, "a cell is one word"},
		{"lineCell", unsafe.Sizeof(lineCell{}), 64, 64, false, "a limiter's cell has a line"},
		{"gcra.Decision", unsafe.Sizeof(gcra.Decision{}), 40, 40, false, "promised"},
		{"gcra.Booking", unsafe.Sizeof(gcra.Booking{}), 32, 32, true, "four instants"},
		{"gcra.Instant", unsafe.Sizeof(gcra.Instant{}), 16, 16, true, "a tick and a time"},
		{"Turn", unsafe.Sizeof(Turn{}), 32, 32, true, "passed by value"},
		{"Generation", unsafe.Sizeof(Generation{}), 320, 320, false, "one for each change that a cell remembers"},
		{"Reservation", unsafe.Sizeof(Reservation{}), 208, 208, false, "returned by value"},
	} {
		want := row.on64
		if bits.UintSize == 32 {
			want = row.on32
		}
		if row.size > want || row.exactly && row.size != want {
			t.Errorf("%s takes %d bytes, want %d: %s", row.what, row.size, want, row.otherwise)
		}
	}
}

// TestDecisionsDoNotAllocate asks every method that decides, where it grants
// and where it refuses.
func TestDecisionsDoNotAllocate(t *testing.T) {
	var clk clock.Manual
	ctx := context.Background()
	l := NewLimiter(gcra.PerSecond(1).Burst(1<<20), WithClock(&clk))
	check := func(state string) {
		t.Helper()
		for name, run := range map[string]func(){
			"Allow":          func() { l.Allow() },
			"AllowN":         func() { l.AllowN(2) },
			"Take":           func() { l.Take(2) },
			"TakeUpTo":       func() { l.TakeUpTo(2) },
			"Peek":           func() { l.Peek(2) },
			"Debit":          func() { l.Debit(2) },
			"Take too much":  func() { l.Take(1<<20 + 1) },
			"Take no cost":   func() { l.Take(-1) },
			"WaitN too much": func() { _ = l.WaitN(ctx, 1<<20+1) },
			"Limit":          func() { l.Limit() },
		} {
			if n := testing.AllocsPerRun(50, run); n != 0 {
				t.Errorf("%s, %s: %v allocations", state, name, n)
			}
		}
	}
	check("granted")
	if n := testing.AllocsPerRun(50, func() { _ = l.WaitN(ctx, 1); r := l.Reserve(1); r.Cancel() }); n != 0 {
		t.Errorf("WaitN and Reserve: %v allocations", n)
	}
	l.SetLimit(gcra.Per(1, 1<<50).Burst(1 << 20))
	l.Allow()
	check("after SetLimit")
	l.Debit(1 << 20)
	if l.Allow() {
		t.Fatal("tokens are left")
	}
	check("refused")
}
