package shard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

func saved[K comparable](t testing.TB, l *Limiter[K]) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := l.Save(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func load[K comparable](t testing.TB, l *Limiter[K], data []byte) {
	t.Helper()
	if err := l.Load(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
}

// A wall clock that went back is no down time, and one that reads anything at
// all does no harm.
func TestWallClock(t *testing.T) {
	limit := gcra.PerSecond(1).Burst(100)
	for _, row := range []struct {
		moved time.Duration // the wall clock, while the program was down
		want  int
		why   string
	}{
		{-1, 10, "back: what was there"},
		{-24 * time.Hour, 10, "by a day"},
		{math.MinInt64, 10, "by centuries"},
		{0, 10, "no time"},
		{time.Second - 1, 10, "not a token yet"},
		{time.Second, 11, "a token"},
		{math.MaxInt64, 100, "centuries"},
	} {
		synctest.Test(t, func(t *testing.T) {
			old := New[string](limit)
			old.Take("a", 90)
			data := saved(t, old)
			s, err := parseStream(data)
			if err != nil {
				t.Fatal(err)
			}
			s.wall = minus(s.wall, int64(row.moved))
			l := New[string](limit)
			load(t, l, s.seal())
			if got := l.Peek("a", 0).Remaining(); got != row.want {
				t.Errorf("%v: %d tokens, want %d: %s", row.moved, got, row.want, row.why)
			}
		})
	}
}

// A lazy clock takes a second before it reads and another after.
type lazyClock struct{ start time.Time }

func (c *lazyClock) Now() time.Duration {
	time.Sleep(time.Second)
	defer time.Sleep(time.Second)
	return time.Since(c.start)
}

// The two clocks are not read at the same instant, and what passes between is
// not credited.
func TestTimeBetweenReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := &lazyClock{time.Now()}
		limit := gcra.PerSecond(1).Burst(100)
		old := New[string](limit, WithClock(clk))
		old.Take("a", 100)
		data := saved(t, old)
		l := New[string](limit, WithClock(clk))
		load(t, l, data)
		want, got := old.Peek("a", 0).ResetAfter(), l.Peek("a", 0).ResetAfter()+2*time.Second // between the two
		if got < want {
			t.Errorf("full after %v, want at least %v", got, want)
		}
	})
}

func TestMinus(t *testing.T) {
	const least, most = math.MinInt64, math.MaxInt64
	for _, row := range [][3]int64{
		{5, 3, 2}, {3, 5, -2}, {least, 1, least}, {least, least, 0}, {most, -1, most}, {most, least, most},
		{least, most, least}, {0, least, most}, {-1, least, most}, {most, most, 0}, {-2, most, least},
	} {
		if got := minus(row[0], row[1]); got != row[2] {
			t.Errorf("%d − %d is %d, want %d", row[0], row[1], got, row[2])
		}
	}
}

// What no decision can have done: a key with more than one never seen. Rules 9
// and 11: it is saved, and not forgotten before fresh has passed.
func TestRicherThanFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := gcra.PerSecond(1).Burst(10).Start(0)
		s, _ := parseStream(saved(t, New[string](limit)))
		s.add("rich", 0)
		s.add("half", uint64(5*perToken(&limit)))
		data := s.seal()
		for range 3 {
			l := New[string](limit)
			load(t, l, data)
			l.Sweep()
			for i := range 100 { // inserts sweep too
				if l.Debit(fmt.Sprint(i), 1); l.Peek("rich", 0).Remaining() != 10 || l.Peek("half", 0).Remaining() != 5 || l.Peek("new", 0).Remaining() != 0 {
					t.Fatalf("rich has %d tokens, half %d, new %d; want 10, 5, 0", l.Peek("rich", 0).Remaining(),
						l.Peek("half", 0).Remaining(), l.Peek("new", 0).Remaining())
				}
			}
			data = saved(t, l)
		}
		l := New[string](limit)
		load(t, l, data)
		time.Sleep(10 * time.Second)
		if rich := l.Peek("rich", 0).Remaining(); rich != 10 {
			t.Errorf("rich has %d tokens", rich)
		}
		time.Sleep(10 * time.Second) // past the debts too
		if l.Sweep(); l.Len() != 0 {
			t.Errorf("%d keys are left when fresh has passed", l.Len())
		}
	})
}

func TestLoadRefusesWhatHasKeys(t *testing.T) {
	limit := gcra.PerHour(1).Burst(2)
	old := New[string](limit)
	old.Allow("a")
	data := saved(t, old)
	l := New[string](limit)
	l.Peek("b", 1)
	l.Allow("b")
	l.Reset("b") // which leaves a dead cell
	if err := l.Load(bytes.NewReader(data)); !errors.Is(err, errHasKeys) || l.Len() != 1 {
		t.Errorf("%v, %d keys", err, l.Len())
	}
	l.Sweep()
	load(t, l, data)
	if err := l.Load(bytes.NewReader(data)); !errors.Is(err, errHasKeys) {
		t.Errorf("the second load: %v", err)
	}
}

// More keys than there is room for are an error before anything is changed;
// those that owe nothing by now need no room.
func TestLoadAtTheCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := gcra.PerSecond(1).Burst(20)
		old := New[int](limit)
		for key := range 10 {
			old.Take(key, key+1)
		}
		data := saved(t, old)
		for down := range 10 {
			for most := 1; most < 12; most++ {
				l := New[int](limit, WithMaxKeys(most, Admit))
				err := l.Load(bytes.NewReader(data))
				owing := 10 - down
				if fits := owing <= most; fits && (err != nil || l.Len() != owing) || !fits && (!errors.Is(err, ErrNoRoom) || l.Len() != 0 || !l.AllowN(9, 20)) {
					t.Errorf("%d keys owe time, room for %d: %v, %d keys", owing, most, err, l.Len())
				}
			}
			time.Sleep(time.Second)
		}
	})
}

// Decisions, changes of limit and sweeps go on while it saves. What is saved is
// never more than what is there in the end is less, since nothing refills.
func TestSaveUnderLoad(t *testing.T) {
	const keys, burst = 500, 1000
	l := New[uint64](gcra.Per(0, 1).Burst(burst))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for g := range uint64(3) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(g, 5))
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				l.TakeUpTo(rng.Uint64N(keys), rng.IntN(3))
				if g == 0 && i%100 == 0 {
					l.SetLimit(gcra.Per(0, time.Duration(1+i%3)).Burst(burst))
				}
			}
		})
	}
	var all [][]byte
	for len(all) < 30 || l.core.Current().Chain() < 10 {
		all = append(all, saved(t, l))
	}
	close(stop)
	wg.Wait()
	all = append(all, saved(t, l))
	var before *Limiter[uint64]
	for i, data := range all {
		now := New[uint64](gcra.Per(0, 1).Burst(burst))
		load(t, now, data)
		check(t, now)
		for key := range uint64(keys) {
			got, end := now.Peek(key, 0).Remaining(), l.Peek(key, 0).Remaining()
			if got < end || i == len(all)-1 && got != end {
				t.Fatalf("save %d: key %d has %d tokens, and %d in the end", i, key, got, end)
			}
			if before != nil && got > before.Peek(key, 0).Remaining() {
				t.Fatalf("save %d: key %d has more than in the save before", i, key)
			}
		}
		before = now
	}
}

// Decisions that run during a Load, which they should not, and changes of
// limit: no key has more than it was loaded with.
func TestLoadUnderLoad(t *testing.T) {
	const keys, burst = 500, 1000
	old := New[uint64](gcra.Per(0, 1).Burst(burst))
	for key := range uint64(keys) {
		old.Take(key, int(key)+1)
	}
	data := saved(t, old)
	met := 0
	for round := range uint64(100) {
		l := New[uint64](gcra.Per(0, 1).Burst(burst).Start(int(round%2)*burst), WithShards(4), WithMaxKeys(keys+50, Refuse))
		var wg sync.WaitGroup
		for g := range uint64(2) {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(g, round))
				for l.Len() == 0 { // Load has begun when it is not
					runtime.Gosched()
				}
				for i := range 2000 {
					l.TakeUpTo(rng.Uint64N(keys+100), 1)
					if g == 0 && i%50 == 0 {
						l.SetLimit(gcra.Per(0, time.Duration(1+i%3)).Burst(burst))
					}
				}
			})
		}
		load(t, l, data)
		if l.core.Current().Chain() > 0 {
			met++
		}
		wg.Wait()
		check(t, l)
		for key := range uint64(keys) {
			if got, most := l.Peek(key, 0).Remaining(), burst-int(key)-1; got > most {
				t.Fatalf("key %d has %d tokens and was loaded with %d", key, got, most)
			}
		}
		if got := l.Peek(9999, 0).Remaining(); got != burst {
			t.Fatalf("a key never seen has %d tokens", got)
		}
	}
	if met == 0 {
		t.Error("no load met a change of limit, so nothing is proved")
	}
}

// What a load meets if somebody has decided before it: the smaller balance
// counts, whatever became of the limit.
func TestPutMeetsADecision(t *testing.T) {
	limit, other := gcra.PerHour(1).Burst(10), gcra.PerHour(2).Burst(20)
	for _, row := range []struct {
		taken, loaded int // tokens
		between       func(l *Limiter[uint64])
		want          int // left
		why           string
	}{
		{2, 5, func(l *Limiter[uint64]) {}, 5, "what was loaded"},
		{5, 2, func(l *Limiter[uint64]) {}, 5, "what was taken"},
		{5, 2, func(l *Limiter[uint64]) { l.Reset(1) }, 8, "a dead cell says nothing"},
		{2, 5, func(l *Limiter[uint64]) { l.SetLimit(other) }, 5, "loaded, and then the limit was changed"},
		{5, 2, func(l *Limiter[uint64]) { l.SetLimit(other) }, 5, "taken, and then the limit was changed"},
		{5, 2, func(l *Limiter[uint64]) {
			c, _ := l.bin(1).cells.Load(1)
			l.SetLimit(other)
			c.Freeze()
		}, 5, "the same, and somebody is about to replace the cell"},
	} {
		var clk clock.Manual
		l := New[uint64](limit, WithClock(&clk))
		l.Take(1, row.taken)
		g := l.core.Current()
		row.between(l)
		l.keys.Add(1) // as Load does
		l.put(l.bin(1), 1, g, g.At(0).Tick+int64(row.loaded)*int64(perToken(&limit)))
		if got := l.Peek(1, 0).Remaining(); got != row.want {
			t.Errorf("%d taken, %d loaded: %d tokens, want %d: %s", row.taken, row.loaded, got, row.want, row.why)
		}
		check(t, l)
	}
}

func TestSaveOfNothing(t *testing.T) {
	for _, limit := range restartLimits {
		l := New[string](limit)
		load(t, l, saved(t, New[string](limit)))
		if l.Len() != 0 {
			t.Errorf("%v: %d keys", &limit, l.Len())
		}
	}
}

// Full buckets are left out, and a key takes its bytes and about six.
func TestSize(t *testing.T) {
	var clk clock.Manual
	l := New[uint32](gcra.PerSecond(10).Burst(100), WithClock(&clk))
	for key := range uint32(1000) {
		l.Allow(key)
	}
	clk.Advance(time.Second)
	for key := range uint32(100) {
		l.Allow(key + 128)
	}
	if n := len(saved(t, l)); n > 100+100*9 {
		t.Errorf("100 keys that owe time take %d bytes", n)
	}
}

type limitedWriter struct{ left int }

func (w *limitedWriter) Write(b []byte) (int, error) {
	if n := min(w.left, len(b)); n < len(b) {
		w.left = 0
		return n, io.ErrClosedPipe
	}
	w.left -= len(b)
	return len(b), nil
}

func TestWriterFails(t *testing.T) {
	var clk clock.Manual // or the size would depend on the time
	l := New[int](gcra.PerHour(1), WithClock(&clk))
	for key := range 10_000 {
		l.Allow(key)
	}
	size := len(saved(t, l))
	for left := range 40 {
		for _, n := range []int{left, size/40*left + left, size - 1 - left} {
			if err := l.Save(&limitedWriter{n}); !errors.Is(err, io.ErrClosedPipe) {
				t.Fatalf("after %d bytes of %d: %v", n, size, err)
			}
		}
	}
	if err := l.Save(&limitedWriter{size}); err != nil {
		t.Error(err)
	}
}

func TestReaderFails(t *testing.T) {
	old := New[int](gcra.PerHour(1))
	old.Allow(1)
	data := saved(t, old)
	l := New[int](gcra.PerHour(1))
	err := l.Load(io.MultiReader(bytes.NewReader(data), iotest.ErrReader(io.ErrClosedPipe)))
	if !errors.Is(err, io.ErrClosedPipe) || l.Len() != 0 {
		t.Errorf("%v, %d keys", err, l.Len())
	}
	if err := l.Load(iotest.OneByteReader(bytes.NewReader(data))); err != nil || l.Len() != 1 {
		t.Errorf("byte by byte: %v, %d keys", err, l.Len())
	}
}
