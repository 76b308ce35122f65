package shard

import (
	"math/bits"
	"testing"
	"unsafe"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
)

// TestSizes: what there is one of for each key, for each shard or for each
// caller, in words of 64 bits and of 32.
func TestSizes(t *testing.T) {
	for _, row := range []struct {
		what       string
		size       uintptr
		on64, on32 uintptr
		exactly    bool
		why        string
	}{
		{"slot", unsafe.Sizeof(slot{}), 16, 16, true, "one for each key of a table, and half as many again"},
		{"bucket", unsafe.Sizeof(bucket{}), 64, 64, true, "a line of the cache"},
		{"cell", unsafe.Sizeof(cell{}), 16, 16, false, "one for each key of a Limiter: a word and whose it is"},
		{"stripe", unsafe.Sizeof(stripe{}), 64, 64, true, "locks do not share lines"},
		{"bin", unsafe.Sizeof(bin[string]{}), 192, 192, false, "one for each shard"},
		{"Table", unsafe.Sizeof(Table[string]{}), 384, 384, false, "what decisions read is near"},
		{"Limiter", unsafe.Sizeof(Limiter[string]{}), 384, 384, false, "and here"},
		{"View", unsafe.Sizeof(View[string]{}), 32, 16, true, "an engine and a key, compared and passed by value"},
		{"View of a number", unsafe.Sizeof(View[uint32]{}), 24, 12, true, "and no more than that"},
		{"Reservation", unsafe.Sizeof(gatomic.Reservation{}), 184, 184, false, "returned by value"},
		{"Decision", unsafe.Sizeof(gcra.Decision{}), 40, 40, false, "and this"},
	} {
		want := row.on64
		if bits.UintSize == 32 {
			want = row.on32
		}
		if row.size > want || row.exactly && row.size != want {
			t.Errorf("%s takes %d bytes, want %d: %s", row.what, row.size, want, row.why)
		}
	}
}

// TestBinsDoNotShareLines: who inserts into one shard does not slow down who
// decides in the next.
func TestBinsDoNotShareLines(t *testing.T) {
	var bins [2]bin[string]
	written := unsafe.Offsetof(bins[0].hand) + unsafe.Sizeof(bins[0].hand)
	if gap := unsafe.Sizeof(bins[0]) - written; gap+unsafe.Offsetof(bins[1].cells) < 48 {
		t.Errorf("%d bytes lie between what one counts and what the next one reads", gap)
	}
	if gap := unsafe.Offsetof(bins[0].tally) - unsafe.Sizeof(bins[0].cells); gap < 56 {
		t.Errorf("%d bytes lie between what decisions read and what they count", gap)
	}
}
