package shard

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// Where keys are in a block.

// oneSlot returns a table in which only the slot j of bucket i may be used. All
// others are of keys in debt.
func oneSlot(limit gcra.Limit, clk clock.Clock, i uint64, j int) *Table[int] {
	l := NewTable[int](limit, 1, WithClock(clk))
	b := l.block.Load()
	for x := range b.buckets {
		for y := range b.buckets[x] {
			if uint64(x) != i || y != j {
				b.buckets[x][y].hash.Store(uint64(1000*x + y + 1))
				b.buckets[x][y].tat.Store(1 << 61)
			}
		}
	}
	return l
}

// hashesAt returns n hashes of keys that may be in bucket i.
func hashesAt(b *block, i uint64, n int) []uint64 {
	var hs []uint64
	for h := uint64(1 << 40); len(hs) < n; h += 0x9e3779b97f4a7c15 >> 3 {
		if x, y := b.home(h); i >= x && i < x+run || i >= y && i < y+run {
			hs = append(hs, h)
		}
	}
	return hs
}

// While a slot is claimed it is nobody's: not of the key that leaves, not of
// the one that comes, and not free.
func TestClaimedSlotIsNobodys(t *testing.T) {
	clk := new(hookClock)
	l := oneSlot(gcra.PerSecond(1).Burst(2), clk, 5, 2)
	b := l.block.Load()
	hs := hashesAt(b, 5, 2)
	s := &b.buckets[5][2]
	for _, hash := range []uint64{0, hs[0], hs[1]} {
		s.hash.Store(hash)
		s.tat.Store(claimed)
		for _, h := range hs {
			if b.find(h) != nil {
				t.Errorf("hash %x was found in a slot that is claimed", h)
			}
			if _, _, there := b.scan(h); there != nil {
				t.Errorf("hash %x was scanned in a slot that is claimed", h)
			}
			if d := l.ask(h, 2, look); !d.OK() || d.Remaining() != 2 {
				t.Errorf("a key that is about to leave or to come has %d", d.Remaining())
			}
		}
		if got, _ := b.claim(hs[0], 1<<60, 0); got != nil {
			t.Error("a slot was claimed twice")
		}
	}
}

// A key lies beyond its first two buckets although one of them has a slot by
// now that is not used up: it is found, since none there was never used.
func TestFoundBeyondTheFirstBuckets(t *testing.T) {
	var clk clock.Manual
	l := NewTable[int](gcra.PerSecond(1).Burst(2), 1, WithClock(&clk))
	b := l.block.Load()
	const h = 1 << 50
	x, y := b.home(h)
	for j := range len(bucket{}) {
		for _, i := range []uint64{x, y} {
			b.buckets[i][j].hash.Store(uint64(100*i) + uint64(j) + 1)
			b.buckets[i][j].tat.Store(1 + 3*sec)
		}
	}
	if !l.ask(h, 2, gcra.Take).OK() {
		t.Fatal("no room in runs of 8 buckets with two full")
	}
	if clk.Advance(500 * time.Millisecond); l.left(h) != 0 {
		t.Error("the key was not found")
	}
	b.buckets[x][1].tat.Store(claimed) // an insert is under way there
	if l.left(h) != 0 {
		t.Error("the key was not found while a slot of its first bucket is claimed")
	}
	if i, _, s := b.scan(h); s == nil || i == x || i == y {
		t.Error("the key is in one of its first buckets, so nothing is proved")
	}
}

// New keys go to the emptier of their two first buckets, and to the emptiest of
// the others only if those are full.
func TestRoomiest(t *testing.T) {
	var clk clock.Manual
	l := NewTable[int](gcra.PerSecond(1), 1000, WithClock(&clk))
	b := l.block.Load()
	const h = 0x5555_5555_0000_0001
	x, y := b.home(h)
	use := func(i uint64, n int) {
		for j := range n {
			b.buckets[i][j].tat.Store(1 << 60)
		}
	}
	use(x, 2)
	use(y, 1)
	for k := uint64(4); k < run; k++ {
		use(x+k, 4)
		use(y+k, 4)
	}
	for _, row := range []struct {
		use  func()
		want uint64
		why  string
	}{
		{func() {}, y, "the emptier of the first two"},
		{func() { use(y, 3) }, x, "now the other"},
		{func() { use(x, 4) }, y, "one slot is left there"},
		{func() {
			use(y, 4)
			use(x+1, 2)
			use(y+1, 1)
			use(x+3, 3)
			use(y+2, 2)
			use(y+3, 2)
			use(x+2, 1)
		}, y + 1, "no longer: of the others the emptiest"},
		{func() { use(y+1, 3) }, x + 2, "and now that"},
	} {
		row.use()
		in, room := b.roomiest(h, 0, 1, 1, 1)
		if room == 0 {
			in, room = b.roomiest(h, 1, run, 1, 1)
		}
		if in != row.want || room == 0 {
			t.Errorf("bucket %d with room for %d, want %d: %s", in, room, row.want, row.why)
		}
	}
}

// find compares eight hashes without a branch: it finds the one that is there,
// wherever it is, and no other.
func TestFindAmongOthers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 100_000 {
		a, b := rng.Uint64(), rng.Uint64()>>rng.IntN(64)
		for _, row := range [][2]uint64{{a, b}, {a, a ^ 1<<rng.IntN(64)}, {a, -a}, {a, 0}, {b, 1}, {1 << 63, b}, {a, a + 1<<63}} {
			if equal(row[0], row[1]) != 0 && row[0] != row[1] || equal(row[0], row[0]) != 1 {
				t.Fatalf("equal(%x, %x) is %d", row[0], row[1], equal(row[0], row[1]))
			}
		}
	}
	b := newBlock(nil, 20)
	hs := hashesAt(b, 12, 200)
	for n, h := range hs {
		clear(b.buckets)
		x, y := b.home(h)
		for _, i := range []uint64{x, y} {
			for j := range len(bucket{}) {
				b.buckets[i][j].hash.Store(rng.Uint64())
				b.buckets[i][j].tat.Store(5)
			}
		}
		if s := b.find(h); s != nil {
			t.Fatalf("hash %x was found where it is not", h)
		}
		i, j := x, n%len(bucket{})
		if n%3 == 0 {
			i = y
		}
		s := &b.buckets[i][j]
		s.hash.Store(h)
		if b.find(h) != s {
			t.Fatalf("hash %x was not found in slot %d", h, j)
		}
		// It is there twice while it comes from a slot that is being taken over.
		from := &b.buckets[x+y-i][(j+1)%len(bucket{})]
		from.hash.Store(h)
		from.tat.Store(claimed)
		if b.find(h) != s {
			t.Fatalf("hash %x was not found beside a claimed slot that still has it", h)
		}
		s.tat.Store(claimed)
		if b.find(h) != nil {
			t.Fatalf("hash %x was found in a claimed slot", h)
		}
	}
}

// However small it is, the two runs of a key have no bucket in common and end
// before the table does.
func TestTableHomes(t *testing.T) {
	for _, homes := range []uint64{2 * run, 2*run + 1, 13, 64, 1000} {
		b := newBlock(nil, homes)
		seen := make([]bool, len(b.buckets))
		for h := uint64(1); h < 1<<62; h += h/100 + 0x9e3779b97f4a7c15>>20 {
			x, y := b.home(h)
			if x >= homes || y >= homes || x < y+run && y < x+run {
				t.Fatalf("homes %d: runs at %d and %d", homes, x, y)
			}
			for k := range uint64(run) {
				seen[x+k], seen[y+k] = true, true
			}
		}
	}
	keys := fewer(40_000)
	for _, capacity := range []int{1, 2, 3, 22, 23, keys / 40} {
		l := NewTable[int](gcra.PerHour(1), capacity)
		for key := range keys {
			l.Allow(key)
		}
		if l.Len() != l.slots() || l.Len() < capacity*147/100 {
			t.Errorf("capacity %d: %d of %d slots were used by a flood", capacity, l.Len(), l.slots())
		}
		for key := range keys {
			if l.Allow(key) {
				t.Fatalf("capacity %d: a key had two bursts", capacity)
			}
		}
	}
}

func (t *Table[K]) slots() int { return len(bucket{}) * len(t.block.Load().buckets) }
