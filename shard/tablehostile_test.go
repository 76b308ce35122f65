package shard

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// long runs what takes minutes: tables of 16 million keys, a hundred million
// flooding ones.
var long = flag.Bool("long", false, "run the tests of large tables and long floods")

// A share below one in a million is promised at the declared capacity. These
// tests fail if there were more than that: they insert so many keys that a share
// of 5 in 10⁸, which is what a table has, gives them far fewer failures. By
// Poisson's law a table fails wrongly, at 10⁷ inserts, where 0.5 are expected and
// 10 would be too many, once in 5·10⁹ runs; and a share of 2 in 10⁶ passes once
// in 200.

// TestTableShareWithoutSlot fills tables to their capacity with keys that owe.
func TestTableShareWithoutSlot(t *testing.T) {
	for _, row := range []struct{ capacity, tables int }{
		{1000, 10_000}, {1_000_000, 3}, {16_000_000, 1},
	} {
		if row.capacity > 1_000_000 && !*long || row.capacity == 1_000_000 && (testing.Short() || raceSlow > 0) {
			continue
		}
		tables := row.tables
		if row.capacity == 1000 {
			tables = fewer(tables)
		}
		failed := int64(0)
		for range tables {
			l := NewTable[int](gcra.PerHour(1), row.capacity)
			for key := range row.capacity {
				l.Allow(key)
			}
			failed += l.Stats().Capped
		}
		share(t, "filled", row.capacity, failed, int64(tables*row.capacity))
	}
}

// share checks the promise, if there were inserts enough to tell.
func share(t *testing.T, how string, capacity int, failed, inserts int64) {
	t.Helper()
	t.Logf("capacity %d, %s: %d of %d new keys found no slot, %.1e of them", capacity, how, failed, inserts, float64(failed)/float64(inserts))
	if allowed := max(inserts/1_000_000, 6); failed >= allowed {
		t.Errorf("capacity %d, %s: %d of %d new keys found no slot, want fewer than %d", capacity, how, failed, inserts, allowed)
	}
}

// TestTableShareInOldAge turns a table's keys over many times: as many owe as it
// was made for, and a new one comes as each is full. What the slots' owners do
// before, give back or reset, only lengthens by a little how long a slot is not
// free. The share was 8 in 10⁸ (3 of 3.6·10⁷), which fails here once in 10⁷ runs
// at 10⁷ inserts, and once in 10⁶ at 3·10⁶, where 6 are too many.
func TestTableShareInOldAge(t *testing.T) {
	for _, row := range []struct {
		how      string
		capacity int
		inserts  int
		spend    func(l *Table[uint64], key uint64, rng *rand.Rand)
	}{
		{"in turnover", 1000, 10_000_000, func(l *Table[uint64], key uint64, _ *rand.Rand) { l.Take(key, 4) }},
		{"in turnover", 100_000, 3_000_000, func(l *Table[uint64], key uint64, _ *rand.Rand) { l.Take(key, 4) }},
		{"in turnover, half settled for less", 1000, 10_000_000, func(l *Table[uint64], key uint64, rng *rand.Rand) {
			// As long in debt as the others, by another way.
			if r := l.Reserve(key, 4); rng.IntN(2) == 0 {
				r.Settle(rng.IntN(4))
			}
		}},
	} {
		inserts := fewer(row.inserts)
		if raceSlow > 0 {
			inserts /= 4
		}
		if row.capacity > 1000 && inserts < row.inserts {
			continue
		}
		var clk clock.Manual
		rng := rand.New(rand.NewPCG(7, 7))
		limit := gcra.PerSecond(4).Burst(4) // full after a second
		l := NewTable[uint64](limit, row.capacity, WithClock(&clk))
		pause := time.Second / time.Duration(row.capacity)
		for i := range inserts {
			row.spend(l, uint64(i), rng)
			clk.Advance(pause)
		}
		s := l.Stats()
		if s.Forgotten < int64(inserts)*9/10 {
			t.Errorf("%+v: no old age", s)
		}
		share(t, row.how, row.capacity, s.Capped, int64(inserts))
	}
}

// TestTableFlood sends new keys, each once, at a full table, beside honest
// ones that are asked all the time. Memory stays what it was, none of the
// honest is evicted, and each has its balance to the token.
func TestTableFlood(t *testing.T) {
	const capacity, honest = 2_000, 1_000
	for _, policy := range []Policy{Refuse, Admit} {
		flood := flooding
		if *long {
			flood = 100_000_000
		}
		var clk clock.Manual
		l := NewTable[uint64](gcra.PerHour(1).Burst(1000), capacity, WithClock(&clk), WithMaxKeys(capacity, policy))
		taken := make([]int, honest)
		ask := func(key int) {
			n := 1 + key%3
			if l.Take(uint64(key), n).OK() {
				taken[key] += n
			}
		}
		for key := range honest {
			ask(key)
		}
		for key := range 20 * capacity { // until no slot is left
			l.Debit(uint64(honest+key), 1000)
		}
		full := l.Stats()
		rng := rand.New(rand.NewPCG(uint64(policy), 1))
		before, objects, start := heap(), heapObjects(), time.Now()
		passed := 0
		for i := range flood {
			if l.Allow(1<<32 + rng.Uint64N(1<<62)) {
				passed++
			}
			if i%16 == 0 {
				ask(i / 16 % honest)
			}
		}
		took := time.Since(start)
		if grown, more := heap()-before, heapObjects()-objects; grown > 1<<16 || more > 200 {
			t.Errorf("policy %d: the heap has %d bytes and %d objects more after a flood", policy, grown, more)
		}
		s := l.Stats()
		t.Logf("policy %d: %d new keys at a full table of %d slots in %v, %v each; %d passed", policy, flood, s.Keys, took, took/time.Duration(flood), passed)
		inserted := s.Keys - full.Keys // the last slots, which few keys may have
		if inserted > 20 || s.Forgotten != 0 || s.Capped-full.Capped != int64(flood-inserted) {
			t.Errorf("policy %d: %+v before, %+v after", policy, full, s)
		}
		if want := inserted + int(policy)*(flood-inserted); passed != want {
			t.Errorf("policy %d: %d of %d new keys passed, want %d", policy, passed, flood, want)
		}
		for key := range honest {
			if d := l.Peek(uint64(key), 0); d.Remaining() != 1000-taken[key] || taken[key] == 0 {
				t.Fatalf("policy %d: honest key %d has %d tokens of 1000 after it took %d", policy, key, d.Remaining(), taken[key])
			}
		}
	}
}

func heapObjects() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapObjects)
}

// TestTableMemoryOfReturns: what is given back costs 8 bytes for each slot near
// one that it comes back to, once; and as many again for resets.
func TestTableMemoryOfReturns(t *testing.T) {
	const keys = 10_000
	var clk clock.Manual
	l := NewTable[int](gcra.PerHour(1).Burst(4), keys, WithClock(&clk))
	slots := int64(l.slots())
	empty := heap()
	for round := range 3 {
		for key := range keys {
			r := l.Reserve(key, 2)
			r.Cancel()
		}
		if more, most := heap()-empty, slots*8*11/10+1<<14; more > most {
			t.Errorf("round %d: %d bytes more after every key gave back, want at most %d", round, more, most)
		}
	}
	marked := heap()
	for key := range keys {
		l.Take(key, 1)
		l.Reset(key)
	}
	if more, most := heap()-marked, slots*8*11/10+1<<14; more > most {
		t.Errorf("%d bytes more after every key was reset, want at most %d", more, most)
	}
	l.SetLimit(gcra.PerHour(2).Burst(4)) // and a change frees it all
	if more := heap() - empty; more > 1<<14 {
		t.Errorf("%d bytes more after a change of limit", more)
	}
	runtime.KeepAlive(l)
}
