package redislimit_test

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/contrib/redislimit"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/stress"
)

// engine makes a limiter what the suite asks: what cannot fail. An error is what
// the test fails with.
type engine struct {
	t *testing.T
	*redislimit.Limiter
}

func key(k uint64) string { return "{k}" + strconv.FormatUint(k, 16) }

func (e engine) must(d gcra.Decision, err error) gcra.Decision {
	if err != nil {
		e.t.Error(err)
	}
	return d
}

var ctx = context.Background()

func (e engine) AllowN(k uint64, n int) bool        { return e.Take(k, n).OK() }
func (e engine) Take(k uint64, n int) gcra.Decision { return e.must(e.Limiter.Take(ctx, key(k), n)) }
func (e engine) TakeUpTo(k uint64, n int) gcra.Decision {
	return e.must(e.Limiter.TakeUpTo(ctx, key(k), n))
}
func (e engine) Peek(k uint64, n int) gcra.Decision  { return e.must(e.Limiter.Peek(ctx, key(k), n)) }
func (e engine) Debit(k uint64, n int) gcra.Decision { return e.must(e.Limiter.Debit(ctx, key(k), n)) }

func (e engine) Reset(k uint64) {
	if err := e.Limiter.Reset(ctx, key(k)); err != nil {
		e.t.Error(err)
	}
}

func (e engine) SetLimit(l gcra.Limit) {
	if err := e.Limiter.SetLimit(ctx, l); err != nil {
		e.t.Error(err)
	}
}

func (e engine) Reserve(k uint64, n int) stress.Reservation {
	r, err := e.Limiter.Reserve(ctx, key(k), n)
	if err != nil {
		e.t.Error(err)
	}
	return reservation{e.t, r}
}

type reservation struct {
	t *testing.T
	*redislimit.Reservation
}

func (r reservation) Cancel() { r.Settle(0) }
func (r reservation) Settle(actual int) {
	if err := r.Reservation.Settle(ctx, actual); err != nil {
		r.t.Error(err)
	}
}

type joint struct {
	t *testing.T
	j *redislimit.Joint
}

func (j joint) Take(n int) gcra.Decision { return engine{t: j.t}.must(j.j.Take(ctx, n)) }
func (j joint) Peek(n int) gcra.Decision { return engine{t: j.t}.must(j.j.Peek(ctx, n)) }

// Of L5 the suite's model keeps what gcra keeps of a token at a change, hundreds of
// millions of parts, where a value in Redis keeps those that decide at whole
// microseconds: 10^6 parts or so. At 100, histories have no change in which that
// shows; TestModel goes on where this ends.

// subject is a limiter in the suite's time, on that server.
func subject(t *testing.T, name string, client *redis.Client, slow int) stress.Subject {
	var made atomic.Int64
	s := stress.Subject{Name: name, Remote: true, Slow: slow, Resolution: time.Microsecond}
	s.New = func(limit gcra.Limit, c clock.Clock) stress.Engine {
		l, err := redislimit.NewVirtual(client, limit, redislimit.Closed(), c.Now,
			redislimit.WithPrefix(fmt.Sprintf("%s:%d:", t.Name(), made.Add(1))), redislimit.WithMaxWait(366*24*time.Hour), redislimit.WithMemory(0))
		if err != nil {
			t.Fatal(err)
		}
		return engine{t, l}
	}
	s.Join = func(members ...stress.Member) stress.Joint {
		var views []redislimit.View
		for _, m := range members {
			views = append(views, m.Engine.(engine).For(key(m.Key)))
		}
		j, err := redislimit.Join(views...)
		if err != nil {
			t.Fatal(err)
		}
		return joint{t, j}
	}
	return s
}

func TestLawsOnMiniredis(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); raceOn && err == nil {
		t.Skip("a minute with -race, since the script is interpreted in this process: TestLawsOnRedis asks the same")
	}
	server := miniredis.RunT(t)
	client := clientOf(t, "tcp", server.Addr())
	stress.Run(t, subject(t, "redislimit on miniredis", client, 100))
}

func TestLawsOnRedis(t *testing.T) {
	stress.Run(t, subject(t, "redislimit on redis-server", newServer(t).client(), 100))
}
