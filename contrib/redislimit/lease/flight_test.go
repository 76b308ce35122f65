package lease_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/contrib/redislimit/lease"
	"github.com/weir-go/weir/gcra"
)

// A distant store answers after a while, or when the context ends.
type distant struct {
	*bucket
	mu   sync.Mutex
	away time.Duration
}

func (d *distant) Lend(ctx context.Context, key string, least, most int) (lease.Loan, error) {
	select {
	case <-time.After(d.away):
	case <-ctx.Done():
		return lease.Loan{}, ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bucket.Lend(ctx, key, least, most)
}

func newDistant(limit gcra.Limit) *distant {
	return &distant{bucket: newBucket(limit, clock.System()), away: 100 * time.Millisecond}
}

// TestOneAsks: of many, one asks; others take over where it gives up.
func TestOneAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newDistant(gcra.PerHour(1).Burst(100))
		l := newLimiter(t, store, lease.WithShare(1), lease.WithFirstBlock(40))
		start := time.Now()
		var granted atomic.Int64
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				if take(t, l, "k", 1).OK() {
					granted.Add(1)
				}
			})
		}
		wg.Wait()
		if granted.Load() != 40 || store.asked != 1 || time.Since(start) != store.away {
			t.Errorf("%d of 40 granted by %d questions in %v", granted.Load(), store.asked, time.Since(start))
		}

		// The one who asks gives up, and another one does.
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		wg.Go(func() {
			if d, err := l.Take(ctx, "k", 1); err != context.DeadlineExceeded || d.OK() {
				t.Errorf("the one who asks: %v", err)
			}
		})
		synctest.Wait()
		start = time.Now()
		brief, cancel2 := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel2()
		wg.Go(func() {
			if d, err := l.Take(brief, "k", 1); err != context.DeadlineExceeded || d.OK() || time.Since(start) != 10*time.Millisecond {
				t.Errorf("one who waits, but not for long: %v after %v", err, time.Since(start))
			}
		})
		for range 20 {
			wg.Go(func() {
				if d := take(t, l, "k", 1); !d.OK() || time.Since(start) != 130*time.Millisecond {
					t.Errorf("one who waits: %v after %v", d.Err(), time.Since(start))
				}
			})
		}
		wg.Wait()
		if store.asked != 2 {
			t.Errorf("asked %d times, want 2", store.asked)
		}
		done, cancel3 := context.WithCancel(t.Context())
		cancel3()
		if d, err := l.Take(done, "k", 1); err != context.Canceled || d.OK() {
			t.Errorf("a context that is done: %v", err)
		}
	})
}

// TestSharedFailure: who waits for an answer that does not come is told why, and
// does not ask again for it.
func TestSharedFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newDistant(gcra.PerHour(1).Burst(100))
		failed := errors.New("no answer")
		store.fail = func(context.Context) error { return failed }
		l := newLimiter(t, store)
		start := time.Now()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if d, err := l.Take(t.Context(), "k", 1); err != failed || d.OK() {
					t.Error(d.OK(), err)
				}
			})
		}
		wg.Wait()
		if store.asked != 1 || time.Since(start) != store.away {
			t.Errorf("%d questions, in %v", store.asked, time.Since(start))
		}
		// One that takes longer than a lease lasts is given up.
		store.away = time.Minute
		start = time.Now()
		if _, err := l.Take(t.Context(), "k", 1); err != context.DeadlineExceeded || time.Since(start) != time.Second {
			t.Errorf("%v after %v, want a lifetime", err, time.Since(start))
		}
	})
}

// TestCloseWaits: for questions that are under way, if its context does.
func TestCloseWaits(t *testing.T) {
	for _, row := range []struct {
		patience time.Duration
		left     int
		err      error
		why      string
	}{
		{time.Second, 99, nil, "nine of ten come back"},
		{50 * time.Millisecond, 90, context.DeadlineExceeded, "not if they came too late"},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := newDistant(gcra.PerHour(1).Burst(100))
			l := newLimiter(t, store, lease.WithFirstBlock(10))
			var wg sync.WaitGroup
			wg.Go(func() {
				if d := take(t, l, "k", 1); !d.OK() {
					t.Error("what was asked for before Close is refused")
				}
			})
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), row.patience)
			defer cancel()
			if err := l.Close(ctx); !errors.Is(err, row.err) {
				t.Errorf("%s: %v", row.why, err)
			}
			wg.Wait()
			if left := store.of.Peek("k", 0).Remaining(); left != row.left {
				t.Errorf("%s: %d left at the store, want %d", row.why, left, row.left)
			}
			if d, err := l.Take(t.Context(), "k", 1); err != lease.ErrClosed || d.OK() {
				t.Errorf("%s: after Close: %v", row.why, err)
			}
		})
	}
}

// locked is a store for goroutines that really run at the same time.
type locked struct {
	mu sync.Mutex
	*bucket
}

func (s *locked) Lend(ctx context.Context, key string, least, most int) (lease.Loan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	loan, err := s.bucket.Lend(ctx, key, least, most)
	settle := loan.Settle
	loan.Settle = func(ctx context.Context, used int) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		return settle(ctx, used)
	}
	return loan, err
}

// TestExactSum: whatever races, what was charged is what was spent, came back, or is
// known to be left.
func TestExactSum(t *testing.T) {
	for round := range 40 {
		const burst = 5000
		store := &locked{bucket: newBucket(gcra.Per(1, 24*time.Hour).Burst(burst), clock.System())}
		charged, back := 0, 0
		store.lent = func(_ string, n int) { charged += n }
		store.back = func(_ string, n int) { back += n }
		l := newLimiter(t, store, lease.WithLifetime(time.Hour), lease.WithShare(1+round%7))
		var spent atomic.Int64
		var wg sync.WaitGroup
		closing := make(chan struct{})
		begin := sync.OnceFunc(func() { close(closing) })
		for g := range 4 {
			wg.Go(func() {
				defer begin()
				for i := 0; ; i++ {
					n := 1 + (g+i)%3
					d, err := l.Take(context.Background(), "k", n)
					if errors.Is(err, lease.ErrClosed) {
						return
					}
					spent.Add(int64(d.Granted()))
					if i == 300 {
						begin()
					}
					if n == 1 && !d.OK() {
						return // all is spent
					}
				}
			})
		}
		if round%2 == 0 {
			<-closing
			if err := l.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		wg.Wait()
		if got := spent.Load() + int64(back); got != int64(charged) || round%2 == 1 && spent.Load() != burst {
			t.Fatalf("round %d: %d charged, %d spent, %d back", round, charged, spent.Load(), back)
		}
	}
}

// TestTakenOut: a small request waits for tokens that a large one took out, and gets
// them if they come back.
func TestTakenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newDistant(gcra.PerHour(1).Burst(5))
		l := newLimiter(t, store, lease.WithShare(1), lease.WithFirstBlock(4))
		take(t, l, "k", 1) // three left here, one there
		store.of.Take("k", 1)
		var wg sync.WaitGroup
		wg.Go(func() {
			if take(t, l, "k", 4).OK() {
				t.Error("four of three are granted")
			}
		})
		synctest.Wait()
		start := time.Now()
		if d := take(t, l, "k", 2); !d.OK() || time.Since(start) != store.away {
			t.Errorf("two of three: %v after %v", d.Err(), time.Since(start))
		}
		wg.Wait()
	})
}

// TestForgetRace: no token is lost sight of, although keys are forgotten while they are
// asked about.
func TestForgetRace(t *testing.T) {
	store := &locked{bucket: newBucket(gcra.PerSecond(1_000_000).Burst(1000), clock.System())}
	charged, back := 0, 0
	store.lent = func(_ string, n int) { charged += n }
	store.back = func(_ string, n int) { back += n }
	l := newLimiter(t, store, lease.WithLifetime(20*time.Microsecond), lease.WithMaxKeys(4), lease.WithFirstBlock(3))
	keys := []string{"a", "b", "c", "d", "e", "f"}
	var spent atomic.Int64
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 8_000 {
				// An error is an answer that took longer than the lifetime.
				if d, err := l.Take(context.Background(), keys[(i*7+g*g+i/11)%len(keys)], 1); err == nil {
					spent.Add(int64(d.Granted()))
				}
			}
		})
	}
	wg.Wait()
	if err := l.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	s := l.Stats()
	if got := spent.Load() + s.Lost + int64(back); got != int64(charged) || s.Lost == 0 {
		t.Errorf("%d charged; %d spent, %d lost and %d back are %d", charged, spent.Load(), s.Lost, back, got)
	}
	t.Logf("%d charged, %d spent, %d lost, %d questions", charged, spent.Load(), s.Lost, s.Asked)
}
