package redislimit_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/contrib/redislimit"
)

// TestRefusedAgain: who is refused is refused again without a round trip, for as
// long as that holds.
func TestRefusedAgain(t *testing.T) {
	mini := miniredis.RunT(t)
	client := clientOf(t, "tcp", mini.Addr())
	var m clock.Manual
	l, err := redislimit.NewVirtual(client, limitOf(t, "2/s burst 4"), redislimit.Closed(), func() time.Duration { return m.Now() })
	if err != nil {
		t.Fatal(err)
	}
	asked := func(key string, n int, ok bool, sent int64, why string) {
		t.Helper()
		before := l.Count()
		d, err := l.Take(ctx, key, n)
		if err != nil || d.OK() != ok || l.Count()-before != sent {
			t.Errorf("%s: ok %v, error %v, %d round trips; want %v, %d", why, d.OK(), err, l.Count()-before, ok, sent)
		}
	}
	l.Count()
	if _, err := l.Take(ctx, "warm", 1); err != nil {
		t.Fatal(err)
	}
	asked("k", 3, true, 1, "there are 4")
	asked("k", 2, false, 1, "one is left")
	asked("k", 2, false, 0, "it is known")
	asked("k", 4, false, 0, "so are more")
	asked("k", 1, true, 1, "but one might be there")
	asked("k", 1, false, 1, "and now none")
	asked("other", 1, true, 1, "another key")
	m.Advance(500*time.Millisecond - time.Microsecond)
	asked("k", 1, false, 0, "a microsecond before it is there")
	if d, err := l.TakeUpTo(ctx, "k", 3); err != nil || d.OK() || d.RetryAfter() != time.Microsecond {
		t.Errorf("TakeUpTo: ok %v, retry after %v, error %v", d.OK(), d.RetryAfter(), err)
	}
	m.Advance(time.Microsecond)
	asked("k", 1, true, 1, "now it is there")
	asked("k", 4, false, 0, "and no more than it")
	m.Advance(500*time.Millisecond - time.Microsecond)
	asked("k", 4, false, 0, "known for a second")
	m.Advance(time.Microsecond)
	asked("k", 4, false, 1, "and not longer, for others may have given back")
	if err := l.Reset(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	asked("k", 4, true, 1, "a reset is seen at once")
	r, err := l.Reserve(ctx, "r", 4)
	if err != nil {
		t.Fatal(err)
	}
	asked("r", 1, false, 1, "all is reserved")
	asked("r", 1, false, 0, "it is known")
	if err := r.Cancel(ctx); err != nil {
		t.Fatal(err)
	}
	asked("r", 1, true, 1, "a return is seen at once")
	asked("s", 4, true, 1, "full")
	asked("s", 1, false, 1, "empty")
	if err := l.SetLimit(ctx, limitOf(t, "2000000/s burst 4")); err != nil {
		t.Fatal(err)
	}
	m.Advance(time.Microsecond)
	asked("s", 1, true, 1, "a change is seen at once")
}

// TestRefusedRightly plays random histories: what is refused without asking is what
// an exact limiter refuses.
func TestRefusedRightly(t *testing.T) {
	mini := miniredis.RunT(t)
	client := clientOf(t, "tcp", mini.Addr())
	rng := rand.New(rand.NewPCG(5, 5))
	spared := 0
	for _, text := range []string{"1000/s burst 3", "3/s burst 9", "6/3s burst 10 step 3s", "0/s burst 5", "7/m burst 5"} {
		for range 20 {
			client.FlushDB(ctx)
			var m clock.Manual
			limit := limitOf(t, text)
			here := gatomic.NewLimiter(limit, gatomic.WithClock(&m))
			there, err := redislimit.NewVirtual(client, limit, redislimit.Closed(), func() time.Duration { return m.Now() })
			if err != nil {
				t.Fatal(err)
			}
			there.Count()
			for op := range 100 {
				m.Advance(time.Duration(rng.Int64N(int64(min(limit.FillTime(), time.Minute))/20)) / time.Microsecond * time.Microsecond)
				n, before := 1+rng.IntN(3), there.Count()
				a := here.Take(n)
				b, err := there.Take(ctx, "k", n)
				if err != nil || a.OK() != b.OK() || b.RetryAfter() > a.RetryAfter() || (a.RetryAfter() == 0) != (b.RetryAfter() == 0) {
					t.Fatalf("%s, operation %d: ok %v, retry after %v, error %v; in process %v, %v", text, op, b.OK(), b.RetryAfter(), err, a.OK(), a.RetryAfter())
				}
				if there.Count() == before {
					spared++
				}
			}
		}
	}
	if spared < 1000 {
		t.Errorf("only %d round trips were spared", spared)
	}
}

// TestManyRefusals: what is remembered is bounded.
func TestManyRefusals(t *testing.T) {
	mini := miniredis.RunT(t)
	l := newLimiter(t, clientOf(t, "tcp", mini.Addr()), "1/h burst 1", redislimit.Closed())
	for i := range 100_000 {
		l.Refused(strconv.Itoa(i))
	}
	if n := l.Remembered(); n < 8*1024 || n > 16*1024 {
		t.Errorf("%d refusals are remembered", n)
	}
}
