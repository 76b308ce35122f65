package tsc

import (
	"errors"
	"flag"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loov/hrtime"
	"go.uber.org/goleak"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var long = flag.Duration("long", 0, "how long TestLong compares the clock with the system's")

// bound is what the package doc promises against System where nothing happens
// to the machine.
const bound = 50 * time.Microsecond

// skew is far above what the package doc says of cores that differ and of a
// counter that is read before what precedes it, and far below a life.
const skew = 10 * time.Microsecond

func newClock(t testing.TB) *Clock {
	t.Helper()
	c, err := New()
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err) // the machine has no counter for it
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewWithoutCounter(t *testing.T) {
	if supported() == nil {
		t.Skip("the machine has a counter")
	}
	if c, err := New(); c != nil || !errors.Is(err, ErrUnsupported) {
		t.Errorf("New() = %v, %v", c, err)
	}
}

func TestZero(t *testing.T) {
	var c Clock
	for range 3 {
		if now := c.Now(); now != 0 {
			t.Errorf("the zero Clock reads %v", now)
		}
	}
}

// compare reads the clock between two readings of the system's, so that a
// goroutine that is stopped in between makes room and no mistake.
func compare(t *testing.T, c *Clock) (ahead, behind time.Duration) {
	before := time.Since(c.machine.start)
	now := c.Now()
	after := time.Since(c.machine.start)
	if now > after+bound || now < before-bound {
		t.Fatalf("read %v between %v and %v", now, before, after)
	}
	return now - after, before - now
}

func TestNowBesideSystem(t *testing.T) {
	c := newClock(t)
	var ahead, behind time.Duration
	last := c.Now()
	for begin := last; last-begin < 250*time.Millisecond; { // some lives
		a, b := compare(t, c)
		ahead, behind = max(ahead, a), max(behind, b)
		now := c.Now()
		if now < last {
			t.Fatalf("read %v after %v", now, last)
		}
		last = now
	}
	t.Logf("at most %v ahead, %v behind, in %d lines", ahead, behind, c.board.cur.Load()/slots)
}

func TestLong(t *testing.T) {
	if *long == 0 {
		t.Skip("-long says how long, and is 0: simulated days are in TestDays")
	}
	c := newClock(t)
	var ahead, behind time.Duration
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for begin := time.Now(); time.Since(begin) < *long; <-ticker.C {
		for range 10 {
			a, b := compare(t, c)
			ahead, behind = max(ahead, a), max(behind, b)
		}
	}
	t.Logf("in %v at most %v ahead, %v behind, in %d lines", *long, ahead, behind, c.board.cur.Load()/slots)
}

// TestNowAcrossCores has goroutines hand each other what they read last. With
// no more than that between two readings, the counter may be read before what
// precedes it.
func TestNowAcrossCores(t *testing.T) {
	c := newClock(t)
	var last, least, handed atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var mine int64
			for i := range 500_000 {
				if i%512 == 0 {
					runtime.Gosched() // there is another's reading even on one core
				}
				before := last.Load()
				now := int64(c.Now())
				for less := least.Load(); now-before < less && !least.CompareAndSwap(less, now-before); {
					less = least.Load()
				}
				if before != mine {
					handed.Add(1)
				}
				for before < now && !last.CompareAndSwap(before, now) {
					before = last.Load()
				}
				mine = now
			}
		})
	}
	wg.Wait()
	if d := time.Duration(least.Load()); d < -skew {
		t.Errorf("read %v less than had been read before, want at most %v", -d, skew)
	}
	if handed.Load() < 1000 {
		t.Errorf("only %d readings came from another goroutine", handed.Load())
	}
	t.Logf("at most %v less; %d readings were another's", time.Duration(-least.Load()), handed.Load())
}

// TestAllocs reads through some changes of lines.
func TestAllocs(t *testing.T) {
	c := newClock(t)
	lines := c.board.cur.Load() / slots
	n := testing.AllocsPerRun(2, func() {
		for begin := c.Now(); c.Now()-begin < 150*time.Millisecond; {
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
	if lines = c.board.cur.Load()/slots - lines; lines < 3 {
		t.Errorf("only %d lines", lines)
	}
}

func TestEngine(t *testing.T) {
	c := newClock(t)
	var _ clock.Clock = c
	const burst, interval = 3, 10 * time.Microsecond
	limiter := gatomic.NewLimiter(gcra.Every(interval).Burst(burst), gatomic.WithClock(c))
	begin := time.Now()
	granted := 0
	var last time.Duration
	for last < 120*time.Millisecond { // some lives
		if limiter.Allow() {
			granted++
		}
		last = time.Since(begin)
	}
	if most := burst + int((last+2*bound)/interval); granted > most {
		t.Errorf("%d tokens in %v, want at most %d", granted, last, most)
	}
	if granted < 100 {
		t.Errorf("%d tokens in %v", granted, last)
	}
	if d := limiter.Take(burst + 1); d.OK() || d.Err() != gcra.ErrExceedsBurst {
		t.Errorf("took more than the burst: %v", d.Err())
	}
}

func BenchmarkNow(b *testing.B) {
	c := newClock(b)
	coarse := clock.NewCoarse(time.Millisecond)
	defer coarse.Stop()
	for _, row := range []struct {
		name string
		c    clock.Clock
	}{
		{"clock=system", clock.System()},
		{"clock=tsc", c},
		{"clock=coarse", coarse},
		{"clock=manual", new(clock.Manual)},
	} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				row.c.Now()
			}
		})
	}
	b.Run("counter=rdtscp", func(b *testing.B) { // what Now cannot be faster than
		for b.Loop() {
			hrtime.RDTSCP()
		}
	})
}

// BenchmarkRenew is the reading that draws a line: the one in a life, and every
// one on a limiter that is asked less than that.
func BenchmarkRenew(b *testing.B) {
	c := newClock(b)
	for b.Loop() {
		cur, l := c.board.load()
		i, _ := c.board.take()
		c.board.show(cur, i, l.next(sample(&c.machine)))
	}
}

func BenchmarkNew(b *testing.B) {
	newClock(b)
	for b.Loop() {
		if _, err := New(); err != nil {
			b.Log(err)
		}
	}
}
