package shard

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// TestBatchesAgainstSingles plays the same random histories on two tables, on one
// in batches of any length and on the other key by key. Seeds differ, and so the
// keys' slots, but there is room in both.
func TestBatchesAgainstSingles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, text := range []string{"100/s burst 5", "33/s burst 3 start 1", "6/3s burst 10 step 3s", "0/s burst 4", "unlimited", "none"} {
		var clk clock.Manual
		limit := parse(t, text)
		a := NewTable[int](limit, 500, WithClock(&clk), WithStats())
		b := NewTable[int](limit, 500, WithClock(&clk), WithStats())
		for round := range 400 {
			clk.Advance(time.Duration(rng.IntN(30)) * time.Millisecond)
			if round == 200 {
				a.SetLimit(gcra.PerSecond(50).Burst(4))
				b.SetLimit(gcra.PerSecond(50).Burst(4))
			}
			keys := make([]int, []int{0, 1, 2, atOnce - 1, atOnce, atOnce + 1, 2 * atOnce, rng.IntN(200)}[rng.IntN(8)])
			n, d, ok := make([]int, len(keys)+round%3), make([]gcra.Decision, len(keys)+round%2), make([]bool, len(keys)+round%2)
			for i := range n {
				n[i] = []int{1, 1, 1, 2, 0, -1, 6, 1 << 40 >> 20}[rng.IntN(8)]
			}
			for i := range keys {
				keys[i] = rng.IntN(1 + rng.IntN(400)) // some of them often
			}
			if round%2 == 0 {
				a.TakeBatch(keys, n, d)
			} else {
				a.AllowBatch(keys, ok)
			}
			for i, key := range keys {
				if round%2 == 0 {
					if err := sameDecision(d[i], b.Take(key, n[i])); err != nil {
						t.Fatalf("%s, round %d, key %d of %d, cost %d: %v", text, round, i, len(keys), n[i], err)
					}
				} else if want := b.Allow(key); ok[i] != want {
					t.Fatalf("%s, round %d, key %d of %d: %v, want %v", text, round, i, len(keys), ok[i], want)
				}
			}
			for i := len(keys); i < len(d); i++ {
				if d[i] != (gcra.Decision{}) || ok[i] {
					t.Fatalf("round %d: something was decided behind the last key", round)
				}
			}
		}
		x, y := a.Stats(), b.Stats()
		x.Keys, x.Forgotten, y.Keys, y.Forgotten = 0, 0, 0, 0 // as the seeds would have it
		if x != y || x.Granted+x.Refused == 0 {
			t.Errorf("%s: batches counted %+v, single calls %+v", text, x, y)
		}
	}
}

// What does not fit panics with a message, and nothing has been decided.
func TestBatchesThatDoNotFit(t *testing.T) {
	l := NewTable[string](gcra.PerHour(1), 10, WithStats())
	keys := []string{"a", "b", "c"}
	for _, row := range []struct {
		ask  func()
		text string
	}{
		{func() { l.AllowBatch(keys, make([]bool, 2)) }, "weir: AllowBatch: 3 keys and room for 2"},
		{func() { l.AllowBatch(keys, nil) }, "weir: AllowBatch: 3 keys and room for 0"},
		{func() { l.TakeBatch(keys, make([]int, 2), make([]gcra.Decision, 3)) }, "weir: TakeBatch: 3 keys and room for 2"},
		{func() { l.TakeBatch(keys, make([]int, 3), make([]gcra.Decision, 1)) }, "weir: TakeBatch: 3 keys and room for 1"},
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.HasPrefix(text, row.text) {
					t.Errorf("panicked with %q, want %q", text, row.text)
				}
			}()
			row.ask()
		}()
	}
	if s := l.Stats(); s != (Stats{}) {
		t.Errorf("%+v after batches that did not fit", s)
	}
	l.AllowBatch(nil, nil)
	l.TakeBatch(nil, nil, nil)
}

// A batch is decided at one reading of the clock, but for keys that are new; at
// a later one where a change of the limit came in between, and no key is then
// decided under the old limit after one that was under the new.
func TestBatchReadsTheClockOnce(t *testing.T) {
	clk := new(countingClock)
	l := NewTable[int](gcra.PerSecond(1).Burst(10), 1000, WithClock(clk))
	keys, n, d := make([]int, 100), make([]int, 100), make([]gcra.Decision, 100)
	for i := range keys {
		keys[i], n[i] = i, 1
		l.Take(i, 5)
	}
	before := clk.reads
	if l.TakeBatch(keys, n, d); clk.reads != before+1 {
		t.Errorf("a batch of present keys read the clock %d times", clk.reads-before)
	}
	// A hook at the reading of the key that is new, in the second part.
	keys[50] = 5000
	clk.hook = func() {
		clk.hook = func() { // under the lock of the new key, where a change has to wait
			clk.Advance(time.Second)
		}
	}
	l.TakeBatch(keys, n, d)
	for i := range keys {
		want := 3
		if i == 50 {
			want = 9
		}
		if d[i].Remaining() != want {
			t.Errorf("key %d has %d left, want %d", i, d[i].Remaining(), want)
		}
	}
	clk.Advance(time.Second)
	clk.hook = func() { l.SetLimit(gcra.PerSecond(2).Burst(4)) } // after the batch's reading
	l.TakeBatch(keys, n, d)
	for i := range keys {
		if want := 3; d[i].Limit() != gcra.PerSecond(2).Burst(4) || d[i].Remaining() != want {
			t.Errorf("key %d has %d left under %v, want %d", i, d[i].Remaining(), d[i].Limit(), want)
		}
	}
}

type countingClock struct {
	hookClock
	reads int
}

func (c *countingClock) Now() time.Duration {
	c.reads++
	return c.hookClock.Now()
}

// A batch with keys that find no room says so of them only.
func TestBatchWithoutRoom(t *testing.T) {
	for _, policy := range []Policy{Refuse, Admit} {
		l := NewTable[int](gcra.PerHour(1).Burst(2), 1, WithMaxKeys(1, policy))
		keys, ok := make([]int, 1000), make([]bool, 1000)
		for i := range keys {
			keys[i] = i
		}
		granted := 0
		l.AllowBatch(keys, ok)
		for _, ok := range ok {
			if ok {
				granted++
			}
		}
		s := l.Stats()
		slots := l.slots()
		if want := slots + int(policy)*(1000-slots); granted != want || s.Keys != slots || s.Capped != int64(1000-slots) {
			t.Errorf("policy %d: %d granted, %+v", policy, granted, s)
		}
	}
}

// TestBatchUncomparable: a key that cannot be compared panics before any other is
// charged, wherever it stands.
func TestBatchUncomparable(t *testing.T) {
	for _, at := range []int{0, atOnce - 1, atOnce, 3*atOnce + 5} {
		var clk clock.Manual
		l := NewTable[any](gcra.PerHour(1).Burst(5), 1000, WithClock(&clk), WithStats())
		keys := make([]any, 4*atOnce)
		for i := range keys {
			keys[i] = i
		}
		keys[at] = []int{at}
		for name, run := range map[string]func(){
			"AllowBatch": func() { l.AllowBatch(keys, make([]bool, len(keys))) },
			"TakeBatch":  func() { l.TakeBatch(keys, make([]int, len(keys)), make([]gcra.Decision, len(keys))) },
		} {
			panicked := func() (with any) {
				defer func() { with = recover() }()
				run()
				return nil
			}()
			if s := l.Stats(); panicked == nil || s != (Stats{}) {
				t.Errorf("%s with a slice at %d: panicked with %v and left %+v", name, at, panicked, s)
			}
		}
	}
}
