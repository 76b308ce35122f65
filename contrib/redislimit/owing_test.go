package redislimit_test

import (
	"testing"
	"time"

	"github.com/weir-go/weir/contrib/redislimit"
)

// TestOwing: what was charged here is due there for as long as this bucket has not
// refilled it, however long that is, and nothing else is.
func TestOwing(t *testing.T) {
	s := newServer(t)
	for _, row := range []struct {
		limit string
		debt  int
		up    func(t *testing.T, l *redislimit.Limiter) // before the outage
		down  func(t *testing.T, l *redislimit.Limiter) // in it
		waits time.Duration                             // after that
		left  int                                       // at least; exactly where nothing refills
		reset time.Duration                             // at least
		why   string
	}{
		{"10/s burst 1", 1000, nothing, debit(1000), 300 * time.Millisecond, 0, 50 * time.Second, "a debt that takes longer than a burst"},
		{"10/s burst 10", 0, nothing, func(t *testing.T, l *redislimit.Limiter) {
			debit(10)(t, l)
			change("10/h burst 10")(t, l)
		}, 1100 * time.Millisecond, 0, 5 * time.Minute, "a rate that falls before all has refilled"},
		{"10/h burst 10", 10, change("10/h burst 20"), func(t *testing.T, l *redislimit.Limiter) {
			if got := left(t, l, "k"); got != 10 {
				t.Errorf("%d left here, want 10", got)
			}
			if d, err := l.Take(ctx, "another", 1); err != nil || !d.OK() {
				t.Errorf("ok %v, error %v", d.OK(), err)
			}
		}, 0, 10, 0, "a burst that was raised: what a key never had is not due"},
		{"10/h burst 10", 10, change("10/h burst 20"), debit(4), 0, 6, 0, "and what it had and used is"},
	} {
		t.Run(row.why, func(t *testing.T) {
			l := newLimiter(t, s.client(), row.limit, redislimit.Local(1, 1), redislimit.WithMaxDebt(row.debt), redislimit.WithMaxWait(0), redislimit.WithPrefix(row.why))
			row.up(t, l)
			s.kill()
			row.down(t, l)
			begin := time.Now()
			eventually(t, func() bool { return time.Since(begin) > row.waits })
			s.start()
			eventually(t, func() bool { return back(l) })
			for range 2 { // once
				d, err := l.Peek(ctx, "k", 1)
				if err != nil || d.Remaining() < row.left || row.waits == 0 && d.Remaining() > row.left || d.ResetAfter() < row.reset {
					t.Errorf("%d left, full after %v, error %v; want %d, and no sooner than %v", d.Remaining(), d.ResetAfter(), err, row.left, row.reset)
				}
			}
		})
	}
}

// TestOwingSettled: more was used than reserved, which is known long after the
// reservation.
func TestOwingSettled(t *testing.T) {
	s := newServer(t)
	l := newLimiter(t, s.client(), "2/s burst 1", redislimit.Local(1, 1), redislimit.WithMaxWait(0))
	s.kill()
	r, err := l.Reserve(ctx, "k", 1)
	if err != nil || !r.OK() {
		t.Fatalf("%v, error %v", r.Err(), err)
	}
	begin := time.Now()
	eventually(t, func() bool { return time.Since(begin) > 1200*time.Millisecond })
	s.start()
	eventually(t, func() bool { return back(l) })
	if err := r.Settle(ctx, 2); err != nil {
		t.Fatal(err)
	}
	if d, err := l.Peek(ctx, "k", 1); err != nil || d.OK() {
		t.Errorf("%d left, error %v, want none", d.Remaining(), err)
	}
}

// back reports whether Redis is asked again, about another key.
func back(l *redislimit.Limiter) bool {
	before := l.Count()
	_, err := l.Peek(ctx, "somebody", 1)
	asked := l.Count()
	if _, again := l.Peek(ctx, "somebody", 1); again != nil || err != nil {
		return false
	}
	return asked > before && l.Count() > asked
}

func nothing(*testing.T, *redislimit.Limiter) {}

func debit(n int) func(*testing.T, *redislimit.Limiter) {
	return func(t *testing.T, l *redislimit.Limiter) {
		if d, err := l.Debit(ctx, "k", n); err != nil || d.Granted() != n {
			t.Errorf("%d of %d debited, error %v", d.Granted(), n, err)
		}
	}
}

func change(limit string) func(*testing.T, *redislimit.Limiter) {
	return func(t *testing.T, l *redislimit.Limiter) {
		if err := l.SetLimit(ctx, limitOf(t, limit)); err != nil {
			t.Error(err)
		}
	}
}
