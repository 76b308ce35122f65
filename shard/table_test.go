package shard

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// What every engine must do is checked by the suite in stress; here is what a
// table is: its memory, its keys and its counts.

func TestTableConstructorPanics(t *testing.T) {
	limit := gcra.PerSecond(1)
	for _, row := range []struct {
		make func()
		text string
	}{
		{func() { NewTable[int](limit, 0) }, "weir: NewTable: capacity 0"},
		{func() { NewTable[int](limit, -1) }, "weir: NewTable: capacity -1"},
		{func() { NewTable[int](limit, math.MaxInt) }, "weir: NewTable: capacity"},
		{func() { NewTable[int](limit, 10, WithShards(64)) }, "weir: NewTable: a table has no shards"},
		{func() { NewTable[int](limit, 10, WithMaxKeys(11, Refuse)) }, "weir: NewTable: WithMaxKeys(11) and capacity 10"},
		{func() { NewTable[int](limit, 10, WithMaxKeys(9, Admit)) }, "weir: NewTable: WithMaxKeys(9) and capacity 10"},
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.HasPrefix(text, row.text) {
					t.Errorf("panicked with %q, want %q", text, row.text)
				}
			}()
			row.make()
		}()
	}
	NewTable[int](limit, 10, WithMaxKeys(10, Admit)) // the same number
}

func TestTableSizes(t *testing.T) {
	if n := unsafe.Sizeof(bucket{}); n != 64 {
		t.Errorf("a bucket has %d bytes, want one line of 64", n)
	}
	if n := unsafe.Sizeof(stripe{}); n != 64 {
		t.Errorf("a stripe has %d bytes, want one line of 64", n)
	}
	var pointers func(typ reflect.Type) bool
	pointers = func(typ reflect.Type) bool {
		switch typ.Kind() {
		case reflect.Array:
			return typ.Len() > 0 && pointers(typ.Elem())
		case reflect.Struct:
			for i := range typ.NumField() {
				if pointers(typ.Field(i).Type) {
					return true
				}
			}
			return false
		case reflect.Uint64, reflect.Int64, reflect.Uint32:
			return false
		}
		return true
	}
	if pointers(reflect.TypeFor[bucket]()) {
		t.Error("there is something for the collector to look at in a bucket")
	}
	// Words that are swapped by each decision, apart from the ones that all read.
	if block := unsafe.Offsetof(Table[int]{}.block); unsafe.Sizeof(Table[int]{})-block < 64 {
		t.Error("the block's pointer has no room of its own")
	}
}

func TestTableMemory(t *testing.T) {
	const keys = 1_000_000
	before := heap()
	l := NewTable[uint64](gcra.PerHour(1), keys)
	if made := heap() - before; made > 24*keys {
		t.Errorf("a table of a million keys takes %.2f bytes a key, want at most 24", float64(made)/keys)
	} else {
		t.Logf("%.2f bytes a key", float64(made)/keys)
	}
	runtime.KeepAlive(l)
}

func tableKeys[K comparable](t *testing.T, a, b K) {
	t.Helper()
	l := NewTable[K](gcra.PerHour(1), 10)
	if !l.Allow(a) || !l.Allow(b) || l.Allow(a) || l.Allow(b) {
		t.Errorf("%T: keys %v and %v do not have a bucket each", a, a, b)
	}
	if n := testing.AllocsPerRun(100, func() { l.Allow(a) }); n != 0 {
		t.Errorf("%T: %v allocations a decision", a, n)
	}
}

func TestTableKeyTypes(t *testing.T) {
	tableKeys(t, "a", "b")
	tableKeys(t, "", "\x00")
	tableKeys(t, 1, 2)
	tableKeys(t, 1.5, math.Inf(1))
	tableKeys(t, [16]byte{1}, [16]byte{15: 1})
	tableKeys(t, struct {
		tenant string
		id     int
	}{"a", 1}, struct {
		tenant string
		id     int
	}{"a", 2})
	tableKeys[any](t, "1", 1)
	tableKeys(t, new(int), new(int))
	l := NewTable[float64](gcra.PerHour(1), 10)
	if !l.Allow(0) || l.Allow(math.Copysign(0, -1)) {
		t.Error("+0 and -0 are equal, and do not share a bucket")
	}
}

// What cannot be compared panics as in a map, and leaves no lock held.
func TestTableKeyThatPanics(t *testing.T) {
	l := NewTable[any](gcra.PerHour(1), 50)
	for _, ask := range []func(){
		func() { l.Allow([]int{1}) },
		func() { l.Peek([]int{1}, 1) },
		func() { l.Reset([]int{1}) },
		func() { l.AllowBatch([]any{"b", []int{1}}, make([]bool, 2)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a slice was taken for a key")
				}
			}()
			ask()
		}()
	}
	for key := range 40 {
		l.Allow(key)
	}
	l.SetLimit(gcra.PerHour(2)) // which takes all locks
	if !l.Allow("a") || l.Allow("a") {
		t.Error("the table is not usable after a key that panics")
	}
}

// A key that is not equal to itself gets the policy, and is never stored, by
// nothing that takes a key.
func TestTableNaN(t *testing.T) {
	nan := math.NaN()
	for _, row := range []struct {
		policy Policy
		want   bool
	}{{Refuse, false}, {Admit, true}} {
		l := NewTable[float64](gcra.PerSecond(1).Burst(2), 1000, WithMaxKeys(1000, row.policy))
		for range 100 {
			if got := l.Allow(nan); got != row.want {
				t.Errorf("policy %d: Allow(NaN) = %v", row.policy, got)
			}
		}
		if s := l.Stats(); s.Keys != 0 || s.Capped != 100 {
			t.Errorf("policy %d: %d keys remembered and %d turned away, want 0 and 100", row.policy, s.Keys, s.Capped)
		}
		if err := l.Wait(t.Context(), nan); (err == nil) != row.want {
			t.Errorf("policy %d: Wait(NaN) = %v", row.policy, err)
		}
		ok, d := make([]bool, 2), make([]gcra.Decision, 2)
		l.AllowBatch([]float64{nan, nan}, ok)
		l.TakeBatch([]float64{nan, nan}, []int{1, 2}, d)
		if ok[0] != row.want || ok[1] != row.want || d[0].OK() != row.want || d[1].OK() != row.want {
			t.Errorf("policy %d: a batch of NaN got %v, %v and %v", row.policy, ok, d[0].OK(), d[1].OK())
		}
		r := l.Reserve(nan, 1)
		if r.OK() != row.want {
			t.Errorf("policy %d: Reserve(NaN): %v", row.policy, r.Err())
		}
		r.Settle(2) // upwards, which charges it
		r = l.Reserve(nan, 1)
		r.Cancel()
		l.Debit(nan, 1)
		l.Reset(nan)
		capped := l.Stats().Capped
		if err := NewTable[float64](gcra.PerSecond(1), 10).Move(nan, l); err != ErrNoRoom || l.Stats().Capped != capped+1 {
			t.Errorf("policy %d: Move(NaN): %v, and counted %d", row.policy, err, l.Stats().Capped-capped)
		}
		if n := l.Len(); n != 0 {
			t.Errorf("policy %d: %d keys remembered of NaN", row.policy, n)
		}
		buckets := l.block.Load().buckets
		for i := range buckets {
			for j := range buckets[i] {
				if s := &buckets[i][j]; s.hash.Load() != 0 || s.tat.Load() != 0 {
					t.Fatalf("policy %d: a slot was written for NaN", row.policy)
				}
			}
		}
		before := l.Stats().Capped
		for _, n := range []int{0, -1, 3} { // as in a Limiter, what needs no room is not turned away
			l.Take(nan, n)
			l.Reserve(nan, n)
		}
		if n := l.Stats().Capped - before; n != 0 {
			t.Errorf("policy %d: %d decisions that store nothing were turned away for want of room", row.policy, n)
		}
	}
}

// Two keys of one hash share one bucket: each has at most the limit, both
// together have no more.
func TestTableEqualHashes(t *testing.T) {
	var clk clock.Manual
	l := NewTable[int](gcra.PerSecond(1).Burst(5), 10, WithClock(&clk))
	for _, h := range []uint64{1, 77, math.MaxUint64} {
		got := 0
		for range 20 {
			got += l.take(h, l.stripe(h), true, 1, gcra.TakeUpTo).Granted()
		}
		if got != 5 {
			t.Errorf("hash %x: %d tokens of 5", h, got)
		}
	}
	if l.Len() != 3 {
		t.Errorf("%d slots for 3 hashes", l.Len())
	}
}

// No key has hash 0, which is that of a slot never used.
func TestTableHashIsNeverZero(t *testing.T) {
	l := NewTable[int](gcra.PerHour(1), 10)
	for key := range 100_000 {
		if h, st, ok := l.hash(key); h == 0 || !ok || st != l.stripe(h) {
			t.Fatalf("key %d: hash %x, ok %v", key, h, ok)
		}
	}
	// Nor is one of those in a table found for it.
	if s := l.block.Load().find(1); s != nil {
		t.Error("a slot that was never used was found")
	}
}

// A table does what a Limiter does that has as few shards as it likes; its
// numbers add up.
func TestTableStats(t *testing.T) {
	var clk clock.Manual
	l := NewTable[string](gcra.PerSecond(1).Burst(2), 100, WithClock(&clk), WithStats())
	for range 5 {
		l.Allow("a")
	}
	l.TakeUpTo("b", 9)
	l.AllowN("b", 9)
	l.Peek("c", 1)
	if got, want := l.Stats(), (Stats{Keys: 2, Granted: 3, Refused: 4, Invalid: 1}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
	r := l.Reserve("d", 2)
	r.Settle(3) // a request of its own
	if got, want := l.Stats(), (Stats{Keys: 3, Granted: 5, Refused: 4, Invalid: 1}); got != want {
		t.Errorf("after a settlement upwards %+v, want %+v", got, want)
	}
}

func TestTableDoesNotAllocate(t *testing.T) {
	var clk clock.Manual
	limit := gcra.PerSecond(1).Burst(1_000_000)
	l := NewTable[uint64](limit, 1<<20, WithClock(&clk), WithStats())
	small := NewTable[uint64](gcra.PerSecond(1), 1, WithClock(&clk)) // full, and then all owe and all are full in turns
	l.Allow(1)
	l.Debit(2, 1_500_000)
	key, keys, ok := uint64(1000), make([]uint64, 100), make([]bool, 100)
	n, d := make([]int, 100), make([]gcra.Decision, 100)
	for i := range keys {
		keys[i], n[i] = uint64(i), 1
	}
	var r gatomic.Reservation
	view := l.For(1)
	for _, row := range []struct {
		what string
		run  func()
	}{
		{"Allow", func() { l.Allow(1) }},
		{"AllowN", func() { l.AllowN(1, 2) }},
		{"Take", func() { l.Take(1, 1) }},
		{"Take, refused", func() { l.Take(2, 1) }},
		{"Take, above the burst", func() { l.Take(2, 1_000_001) }},
		{"Take of a new key", func() { key++; l.Take(key, 1) }},
		{"Take of a new key that takes a slot over", func() { key++; clk.Advance(time.Second + 1); small.Take(key, 1) }},
		{"Take of a new key without room", func() { key++; small.Take(key, 1) }},
		{"TakeUpTo", func() { l.TakeUpTo(1, 3) }},
		{"Peek", func() { l.Peek(1, 1) }},
		{"Debit", func() { l.Debit(1, 1) }},
		{"Reserve", func() { r = l.Reserve(1, 1) }},
		{"Reserve of a new key", func() { key++; r = l.Reserve(key, 1) }},
		{"Settle", func() { r = l.Reserve(1, 2); r.Settle(3) }},
		{"Cancel, where one has been", func() { r = l.Reserve(1, 1); r.Cancel() }},
		{"Reset, where one has been", func() { l.Allow(1); l.Reset(1) }},
		{"WaitN without a wait", func() { l.WaitN(t.Context(), 1, 1) }},
		{"AllowBatch", func() { l.AllowBatch(keys, ok) }},
		{"TakeBatch", func() { l.TakeBatch(keys, n, d) }},
		{"a view", func() { view.Take(1) }},
		{"Stats", func() { l.Stats() }},
	} {
		row.run()
		if n := testing.AllocsPerRun(100, row.run); n != 0 {
			t.Errorf("%s: %v allocations", row.what, n)
		}
	}
	if small.Stats().Forgotten < 100 || small.Stats().Capped == 0 {
		t.Errorf("no slot was taken over, or nobody was turned away: %+v", small.Stats())
	}
}
