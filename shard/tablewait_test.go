package shard

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// At the cap, Admit lets pass what may go at once and refuses to queue: all
// the waiters whose slots nobody stores would wake together. Want of room is no
// matter of a deadline, since no slot will ever come.
func TestTableWaitWithoutRoom(t *testing.T) {
	for _, row := range []struct {
		policy Policy
		n      int
		want   error
	}{{Admit, 1, nil}, {Admit, 2, gcra.ErrLimited}, {Refuse, 1, gcra.ErrLimited}, {Refuse, 3, gcra.ErrExceedsBurst}, {Admit, 0, nil}, {Refuse, 0, nil}} {
		synctest.Test(t, func(t *testing.T) {
			l := NewTable[int](gcra.PerSecond(1).Burst(2).Start(1), 1, WithMaxKeys(1, row.policy))
			for key := range 1000 {
				l.Debit(key, 1)
			}
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := l.WaitN(ctx, 5000, row.n); !errors.Is(err, row.want) || time.Since(start) != 0 {
				t.Errorf("policy %d, %d tokens: %v after %v, want %v", row.policy, row.n, err, time.Since(start), row.want)
			}
		})
	}
}

// Waits of new keys book in the slots that they get, in order, while others
// push them out and in.
func TestTableWaitsOfNewKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTable[int](gcra.PerSecond(1).Start(0), 100, WithStats())
		start := time.Now()
		var wg sync.WaitGroup
		for key := range 10 {
			wg.Go(func() {
				for i := range 3 {
					if err := l.Wait(t.Context(), key); err != nil {
						t.Error(err)
					}
					if got, want := time.Since(start), time.Duration(i+1)*time.Second; got != want {
						t.Errorf("key %d: wait %d ended at %v, want %v", key, i, got, want)
					}
				}
			})
		}
		wg.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := l.Wait(ctx, 99); err != nil {
			t.Errorf("a full bucket: %v", err)
		}
		if err := l.Wait(ctx, 99); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an empty one: %v", err)
		}
		if s, want := l.Stats(), (Stats{Keys: 11, Granted: 31, Refused: 1, Waited: 30, WaitMicros: 30_000_000}); s != want {
			t.Errorf("stats %+v, want %+v", s, want)
		}
	})
}

// A waiter whose context ends gives its slot back, and one that sleeps keeps it
// through a reset and a change of limit.
func TestTableWaiterGivesUp(t *testing.T) {
	for _, row := range []struct {
		meanwhile func(l *Table[int])
		next      time.Duration // until the next token after the waiter has given up
		why       string
	}{
		{func(*Table[int]) {}, time.Second, "the last slot comes back"},
		{func(l *Table[int]) { l.Reset(1); l.Allow(1) }, time.Second, "after a reset nothing comes back"},
		{func(l *Table[int]) { l.Reset(1); l.Allow(1); l.Reserve(1, 1) }, 2 * time.Second, "nor what was booked since"},
		{func(l *Table[int]) { l.SetLimit(gcra.PerSecond(2)) }, time.Second, "nor across a change: two tokens at 2 a second"},
		{func(l *Table[int]) { l.Reserve(1, 1) }, 3 * time.Second, "a slot in the middle stays empty"},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := NewTable[int](gcra.PerSecond(1), 10)
			l.Allow(1)
			ctx, cancel := context.WithCancel(t.Context())
			var err error
			var wg sync.WaitGroup
			wg.Go(func() { err = l.Wait(ctx, 1) })
			synctest.Wait()
			row.meanwhile(l)
			cancel()
			wg.Wait()
			if d := l.Peek(1, 1); d.RetryAfter() != row.next || !errors.Is(err, context.Canceled) {
				t.Errorf("the next token comes in %v, want %v, err %v: %s", d.RetryAfter(), row.next, err, row.why)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l := NewTable[int](gcra.PerSecond(1), 10)
		l.Allow(1)
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := l.Wait(t.Context(), 1); err != nil || time.Since(start) != time.Second {
				t.Errorf("woke after %v: %v", time.Since(start), err)
			}
		})
		synctest.Wait()
		l.SetLimit(gcra.PerHour(1))
		l.Reset(1)
		wg.Wait()
	})
}

// WithMaxWait and a deadline bound how far a slot may be away; what is refused
// leaves no slot and no trace.
func TestTableRefusedWait(t *testing.T) {
	l := NewTable[int](gcra.PerHour(1).Burst(2).Start(0), 10, WithMaxWait(time.Minute))
	for _, n := range []int{0, 1, 2, 3, -1} {
		if l.WaitN(t.Context(), 7, n); l.Len() != 0 {
			t.Fatalf("a wait for %d tokens that was refused took a slot", n)
		}
	}
	var refused *gatomic.WaitError
	if err := l.Wait(t.Context(), 7); !errors.As(err, &refused) || !errors.Is(err, gcra.ErrLimited) || refused.Delay < 59*time.Minute {
		t.Errorf("a slot in an hour: %v", err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.WaitN(done, 7, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is done: %v", err)
	}
}

// The deadline is as far away as it is when the slot is booked, under the limit
// that is in force then.
func TestTableNewKeyDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := new(hookClock)
		l := NewTable[int](gcra.Every(10*time.Second).Start(0), 10, WithClock(clk))
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		clk.hook = func() {
			// 0.4 tokens have come, and 0.6 at 1 in 15 s take 9 s. The deadline
			// is 8 s away, and was 12 at the reading.
			clk.Advance(4 * time.Second)
			l.SetLimit(gcra.Every(15 * time.Second))
		}
		start := time.Now()
		err := l.Wait(ctx, 1)
		var refused *gatomic.WaitError
		if !errors.As(err, &refused) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 0 || l.Len() > 0 {
			t.Errorf("Wait = %v after %v, %d keys", err, time.Since(start), l.Len())
		}
	})
	for _, start := range []int{1, 0} {
		synctest.Test(t, func(t *testing.T) {
			clk := new(hookClock)
			l := NewTable[int](gcra.PerSecond(1).Start(start), 10, WithClock(clk))
			clk.hook = func() { clk.Advance(10 * time.Second) } // after the turn's reading
			begin := time.Now()
			if err := l.Wait(t.Context(), 1); err != nil || time.Since(begin) > 0 {
				t.Errorf("start %d: a full bucket was waited for %v, err %v", start, time.Since(begin), err)
			}
		})
	}
}

// tardyClock shows the bubble's time, later by what a timer was late.
type tardyClock struct {
	clock.Clock
	late atomic.Int64
}

func (c *tardyClock) Now() time.Duration { return c.Clock.Now() + time.Duration(c.late.Load()) }

// In strict mode a slot that was reached late counts from the wake-up, for who
// comes after; with catch-up it counts where it was.
func TestTableStrict(t *testing.T) {
	for _, row := range []struct {
		opt  Option
		next time.Duration
	}{{WithCatchUp(0), time.Second}, {WithCatchUp(time.Second), 700 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			clk := &tardyClock{Clock: clock.System()}
			l := NewTable[int](gcra.PerSecond(1), 10, WithClock(clk), row.opt)
			l.Allow(1)
			var wg sync.WaitGroup
			wg.Go(func() {
				if err := l.Wait(t.Context(), 1); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			clk.late.Store(int64(300 * time.Millisecond))
			wg.Wait()
			if got := l.Peek(1, 1).RetryAfter(); got != row.next {
				t.Errorf("the next token comes in %v, want %v", got, row.next)
			}
		})
	}
	// It is not raised across a change, and not in the slot of another.
	synctest.Test(t, func(t *testing.T) {
		clk := &tardyClock{Clock: clock.System()}
		l := NewTable[int](gcra.PerSecond(1), 10, WithClock(clk), WithCatchUp(0))
		l.Allow(1)
		var wg sync.WaitGroup
		wg.Go(func() { l.Wait(t.Context(), 1) })
		synctest.Wait()
		l.SetLimit(gcra.PerSecond(2))
		clk.late.Store(int64(5 * time.Second))
		if wg.Wait(); !l.Allow(1) {
			t.Error("a wait from before a change held up who came after")
		}
	})
}

func TestTableDryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTable[string](gcra.PerHour(1), 1, WithDryRun(), WithStats())
		start := time.Now()
		for range 5 {
			if err := l.Wait(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		}
		r := l.Reserve("a", 1)
		if !r.OK() || r.Delay() != 0 || !errors.Is(r.Err(), gcra.ErrLimited) {
			t.Errorf("Reserve: ok %v, delay %v, err %v", r.OK(), r.Delay(), r.Err())
		}
		r.Settle(5)
		if d := l.Peek("a", 0); d.ResetAfter() != time.Hour {
			t.Errorf("who would have been refused was charged: full in %v", d.ResetAfter())
		}
		ok := make([]bool, 2)
		if l.AllowBatch([]string{"a", "a"}, ok); !ok[0] || !ok[1] || !l.Allow("a") || time.Since(start) != 0 {
			t.Errorf("a dry run refused or took %v", time.Since(start))
		}
		if d := l.Peek("a", 1); !d.OK() || d.Err() != gcra.ErrLimited {
			t.Errorf("Peek: ok %v, err %v", d.OK(), d.Err())
		}
		if got, want := l.Stats(), (Stats{Keys: 1, Granted: 1, WouldRefuse: 8}); got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}
		for key := range 1000 {
			if d := l.Take(string(rune(key)), 1); !d.OK() {
				t.Fatalf("a dry run refused for want of room: %v", d.Err())
			}
		}
		if s := l.Stats(); s.Keys != l.slots() || s.Capped == 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestTableTopRefused(t *testing.T) {
	l := NewTable[float64](gcra.PerDay(0), 100, WithTopRefused(2))
	for i := range 200_000 {
		l.Allow(1)
		if l.Allow(math.NaN()); i%4 == 0 {
			l.Allow(2)
		}
	}
	var got []float64
	for key := range l.TopRefused() {
		got = append(got, key)
	}
	if len(got) != 2 || got[0] != 1 || got[1] != 2 {
		t.Errorf("the keys refused most are %v, want 1 and 2", got)
	}
	for key := range NewTable[int](gcra.PerDay(0), 1).TopRefused() {
		t.Errorf("%v, though it is off", key)
	}
}

// A joint of tables and limiters is checked in stress; here are views alone.
func TestTableViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTable[string](gcra.PerSecond(1), 10)
		a, b := l.For("a"), l.For("b")
		if a == b || a != l.For("a") {
			t.Error("views are not equal exactly if table and key are")
		}
		start := time.Now()
		if !a.Allow() || a.Allow() || a.Wait(t.Context()) != nil || time.Since(start) != time.Second || !b.Allow() {
			t.Error("a view does not do what its table does for the key")
		}
		r := b.Reserve(1)
		if r.Cancel(); b.Peek(1).RetryAfter() != time.Second || b.Limit() != gcra.PerSecond(1) || b.Debit(1).Granted() != 1 {
			t.Error("a view's reservation was not returned")
		}
		joint := Join(a, a, b)
		if d := joint.Take(1); d.Err() != gcra.ErrExceedsBurst {
			t.Errorf("a key twice, of a burst of 1: %v", d.Err())
		}
	})
}
