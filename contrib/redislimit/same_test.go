package redislimit_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/contrib/redislimit"
	"github.com/weir-go/weir/gcra"
)

// TestSameAsInProcess plays random histories of bookings, settlements and debits
// here and on a limiter of package atomic whose clock shows whole microseconds:
// they agree about everything, slots and what comes back included. The limits are
// such that its ticks are parts of a microsecond.
func TestSameAsInProcess(t *testing.T) {
	mini := miniredis.RunT(t)
	rounds := 150
	if raceOn {
		rounds = 30
	}
	t.Run("miniredis", func(t *testing.T) { same(t, clientOf(t, "tcp", mini.Addr()), rounds) })
	t.Run("redis-server", func(t *testing.T) { same(t, newServer(t).client(), 4*rounds) })
}

func same(t *testing.T, client *redis.Client, rounds int) {
	rng := rand.New(rand.NewPCG(3, 3))
	back, waited := 0, 0
	for range rounds {
		client.FlushDB(ctx)
		var m clock.Manual
		limit := limitOf(t, []string{"1/s burst 4", "3/s burst 9", "99/s burst 99", "7/m burst 5", "6/3s burst 10 step 3s", "0/s burst 30", "1000/s burst 3", "13/ms burst 13"}[rng.IntN(8)])
		here := gatomic.NewLimiter(limit, gatomic.WithClock(&m), gatomic.WithMaxWait(time.Minute))
		there, err := redislimit.NewVirtual(client, limit, redislimit.Closed(), func() time.Duration { return m.Now() }, redislimit.WithMemory(0))
		if err != nil {
			t.Fatal(err)
		}
		type pair struct {
			here  *gatomic.Reservation
			there *redislimit.Reservation
			n     int
		}
		var held []pair
		burst := limit.Capacity()
		gap := int64(min(limit.FillTime(), time.Minute)) / int64(burst) * 2
		for op := range 60 {
			if rng.IntN(3) > 0 {
				m.Advance(time.Duration(rng.Int64N(gap)) / time.Microsecond * time.Microsecond)
			}
			n := 1 + rng.IntN(burst)
			var a, b gcra.Decision
			switch rng.IntN(8) {
			case 0:
				a = here.Take(n)
				b, err = there.Take(ctx, "k", n)
			case 1:
				a = here.TakeUpTo(n)
				b, err = there.TakeUpTo(ctx, "k", n)
			case 2:
				a = here.Debit(n)
				b, err = there.Debit(ctx, "k", n)
			case 3, 4, 5:
				r := here.Reserve(n)
				var s *redislimit.Reservation
				s, err = there.Reserve(ctx, "k", n)
				if r.Delay() > 0 {
					waited++
				}
				if up := (r.Delay() + time.Microsecond - 1) / time.Microsecond * time.Microsecond; r.Delay() != gcra.Never && s.OK() && up != s.Delay() || r.OK() != s.OK() {
					t.Fatalf("%v, operation %d: Reserve(%d) in %v, ok %v; in process %v, %v", limit, op, n, s.Delay(), s.OK(), r.Delay(), r.OK())
				}
				if s.OK() && s.Granted() != n {
					t.Fatalf("granted %d of %d", s.Granted(), n)
				}
				held = append(held, pair{&r, s, n})
			case 6, 7:
				if len(held) == 0 {
					continue
				}
				i := rng.IntN(len(held))
				if rng.IntN(2) == 0 {
					i = len(held) - 1
				}
				p, actual := held[i], rng.IntN(held[i].n+2)
				if rng.IntN(2) == 0 {
					actual = 0
				}
				held = append(held[:i], held[i+1:]...)
				before := here.Peek(0).ResetAfter()
				p.here.Settle(actual)
				if here.Peek(0).ResetAfter() < before {
					back++
				}
				err = p.there.Settle(ctx, actual)
			}
			if err != nil {
				t.Fatal(err)
			}
			if a.Err() != b.Err() || a.Granted() != b.Granted() || a.Remaining() != b.Remaining() {
				t.Fatalf("%v, operation %d of %d: err %v, granted %d, remaining %d; in process %v, %d, %d", limit, op, n, b.Err(), b.Granted(), b.Remaining(), a.Err(), a.Granted(), a.Remaining())
			}
			p, q := here.Peek(1), gcra.Decision{}
			if q, err = there.Peek(ctx, "k", 1); err != nil {
				t.Fatal(err)
			}
			if p.Err() != q.Err() || p.Remaining() != q.Remaining() || p.RetryAfter() != q.RetryAfter() || p.ResetAfter() != q.ResetAfter() {
				t.Fatalf("%v, after operation %d: %v, %d left, retry %v, reset %v; in process %v, %d, %v, %v", limit, op,
					q.Err(), q.Remaining(), q.RetryAfter(), q.ResetAfter(), p.Err(), p.Remaining(), p.RetryAfter(), p.ResetAfter())
			}
		}
	}
	if back < rounds || waited < rounds {
		t.Errorf("%d settlements gave something back and %d bookings waited: too little for a proof", back, waited)
	}
}
