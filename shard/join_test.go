package shard_test

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A tank is the exact bucket that a member is compared with: a level in
// rational tokens. Its limits are read without rounding at every nanosecond.
type tank struct {
	limit        gcra.Limit
	step         time.Duration
	burst, level *big.Rat
	last         time.Duration
}

func newTank(limit gcra.Limit, start int, step time.Duration) *tank {
	return &tank{limit, step, big.NewRat(int64(limit.Capacity()), 1), big.NewRat(int64(start), 1), 0}
}

func (b *tank) at(now time.Duration) *big.Rat {
	if b.step > 0 {
		now -= now % b.step
	}
	n, period := b.limit.Rate()
	level := big.NewRat(int64(n)*int64(now-b.last), int64(period))
	if level.Add(level, b.level).Cmp(b.burst) > 0 {
		return b.burst
	}
	return level
}

func (b *tank) left(now time.Duration) int {
	level := b.at(now)
	return int(new(big.Int).Quo(level.Num(), level.Denom()).Int64())
}

func (b *tank) take(now time.Duration, n int) {
	level := b.at(now)
	b.level = new(big.Rat).Sub(level, big.NewRat(int64(n), 1))
	if b.last = now; b.step > 0 {
		b.last -= now % b.step
	}
}

// A pair is a limit that can be joined and what it is compared with.
type pair struct {
	shard.Joinable
	*tank
	take func(n int) gcra.Decision
}

// joinables returns limits of every kind, all of them read by the clock.
func joinables(clk clock.Clock) []pair {
	var pairs []pair
	for _, row := range []struct {
		limit string
		start int
		step  time.Duration
	}{
		{"10/s burst 5", 5, 0},
		{"3/s burst 7", 7, 0},
		{"1000/h burst 20", 20, 0},
		{"0/s burst 60", 60, 0},
		{"6/3s burst 10 step 3s start 2", 2, 3 * time.Second},
		{"2/s burst 4 start 0", 0, 0},
	} {
		var limit gcra.Limit
		if err := limit.UnmarshalText([]byte(row.limit)); err != nil {
			panic(err)
		}
		one := gatomic.NewLimiter(limit, gatomic.WithClock(clk))
		many := shard.New[string](limit, shard.WithClock(clk))
		pairs = append(pairs,
			pair{one, newTank(limit, row.start, row.step), one.Take},
			pair{many.For("a"), newTank(limit, row.start, row.step), many.For("a").Take},
			pair{foreign{many.For("b")}, newTank(limit, row.start, row.step), many.For("b").Take})
	}
	return append(pairs, pair{gatomic.NewLimiter(gcra.Unlimited()), nil, nil})
}

// foreign hides all that a limit has beside what Joinable asks for.
type foreign struct{ shard.Joinable }

// Random histories of joints, of repeats and joints in joints, among direct
// takes, against the exact buckets.
func TestJointIsExact(t *testing.T) {
	refused := map[error]int{}
	for seed := range uint64(200) {
		rng, clk := rand.New(rand.NewPCG(seed, 8)), new(clock.Manual)
		pairs := joinables(clk)
		for range 12 {
			joint, times := aJoint(rng, pairs, 2)
			for range 4 {
				if rng.IntN(2) == 0 {
					clk.Advance(time.Duration(rng.Int64N(int64(3 * time.Second))))
				}
				if p := pairs[rng.IntN(len(pairs))]; rng.IntN(3) == 0 && p.tank != nil {
					p.tank.take(clk.Now(), p.take(rng.IntN(3)).Granted())
				}
				n := rng.IntN(6) - 1
				d := joint.Peek(n)
				before := levels(pairs, clk.Now())
				if !consistent(t, d, times, clk.Now(), n, 0) || levels(pairs, clk.Now()) != before {
					t.Fatalf("seed %d: Peek(%d)", seed, n)
				}
				d = joint.Take(n)
				if d.OK() {
					for p, m := range times {
						p.take(clk.Now(), m*n)
					}
				}
				refused[d.Err()]++
				if !consistent(t, d, times, clk.Now(), n, d.Granted()) {
					t.Fatalf("seed %d: Take(%d)", seed, n)
				}
				for i, p := range pairs {
					if p.tank != nil && p.Peek(0).Remaining() != p.left(clk.Now()) {
						t.Fatalf("seed %d, after Take(%d) with err %v, which cost %v: limit %d (%v) has %d, want %d",
							seed, n, d.Err(), times[p.tank], i, p.Limit(), p.Peek(0).Remaining(), p.left(clk.Now()))
					}
				}
			}
		}
	}
	for _, err := range []error{nil, gcra.ErrLimited, gcra.ErrExceedsBurst, gcra.ErrCost} {
		if refused[err] < 500 {
			t.Errorf("err %v came %d times: the histories prove little", err, refused[err])
		}
	}
}

// aJoint joins some of the limits, and tells how many times each is in it.
func aJoint(rng *rand.Rand, pairs []pair, depth int) (*shard.Joint, map[*tank]int) {
	var limits []shard.Joinable
	times := map[*tank]int{}
	for range 1 + rng.IntN(4) {
		if depth > 0 && rng.IntN(4) == 0 {
			inner, within := aJoint(rng, pairs, depth-1)
			limits = append(limits, inner)
			for p, m := range within {
				times[p] += m
			}
			continue
		}
		p := pairs[rng.IntN(len(pairs))]
		limits = append(limits, p.Joinable)
		if p.tank != nil {
			times[p.tank]++
		}
	}
	return shard.Join(limits...), times
}

func levels(pairs []pair, now time.Duration) (all [32]int) {
	for i, p := range pairs {
		if p.tank != nil {
			all[i] = p.Peek(0).Remaining()
		}
	}
	return all
}

// consistent checks a decision on n tokens against buckets that are as it left
// them.
func consistent(t *testing.T, d gcra.Decision, times map[*tank]int, now time.Duration, n, granted int) bool {
	t.Helper()
	left, reset, named := math.MaxInt, time.Duration(0), false
	fits, exceeds := true, false
	for p, m := range times {
		left = min(left, p.left(now)/m)
		exceeds = exceeds || n*m > p.limit.Capacity()
		fits = fits && (granted > 0 || n*m <= p.left(now))
		named = named || p.limit == d.Limit() || n < 0 // all are to name
		if full := p.whenHas(now, p.limit.Capacity()); full > reset {
			reset = full
		}
	}
	want := error(nil)
	switch {
	case n < 0:
		want = gcra.ErrCost
	case exceeds:
		want = gcra.ErrExceedsBurst
	case !fits:
		want = gcra.ErrLimited
	}
	if d.Err() != want || d.OK() != (want == nil) {
		t.Errorf("err %v, want %v", d.Err(), want)
		return false
	}
	retry := time.Duration(0)
	switch want {
	case gcra.ErrLimited:
		for p, m := range times {
			if wait := p.whenHas(now, n*m); wait > retry {
				retry = wait
			}
		}
	case gcra.ErrCost, gcra.ErrExceedsBurst:
		retry = gcra.Never
	}
	switch {
	case d.RetryAfter() != retry:
		t.Errorf("retry after %v, want %v", d.RetryAfter(), retry)
	case d.ResetAfter() != reset:
		t.Errorf("reset after %v, want %v", d.ResetAfter(), reset)
	case len(times) > 0 && (d.Remaining() != left || !named):
		t.Errorf("remaining %d under %v, want %d", d.Remaining(), d.Limit(), left)
	default:
		return true
	}
	return false
}

// whenHas returns how long it takes until n tokens are there.
func (b *tank) whenHas(now time.Duration, n int) time.Duration {
	rate, period := b.limit.Rate()
	lacks := new(big.Rat).Sub(big.NewRat(int64(n), 1), b.at(now))
	switch {
	case lacks.Sign() <= 0:
		return 0
	case rate == 0:
		return gcra.Never
	}
	from := now
	if b.step > 0 {
		from -= now % b.step
	}
	lacks.Mul(lacks, big.NewRat(int64(period), int64(rate)))
	ns := new(big.Int).Quo(new(big.Int).Add(lacks.Num(), new(big.Int).Sub(lacks.Denom(), big.NewInt(1))), lacks.Denom())
	then := from + time.Duration(ns.Int64())
	if b.step > 0 {
		then = (then + b.step - 1) / b.step * b.step
	}
	return then - now
}

func TestJointRows(t *testing.T) {
	var clk clock.Manual
	one := func(text string) *gatomic.Limiter {
		var l gcra.Limit
		if err := l.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return gatomic.NewLimiter(l, gatomic.WithClock(&clk))
	}
	a, b := one("10/s burst 5"), one("1/s burst 9")
	users := shard.New[string](gcra.PerSecond(1).Burst(4), shard.WithClock(&clk))
	for _, row := range []struct {
		joint *shard.Joint
		n     int
		err   error
		left  int
		why   string
	}{
		{shard.Join(), math.MaxInt, nil, math.MaxInt, "no limits"},
		{shard.Join(), -1, gcra.ErrCost, math.MaxInt, "but no refund"},
		{shard.Join(shard.Join()), 1, nil, math.MaxInt, "and none in it"},
		{shard.Join(a, b), 0, nil, 5, "a cost of 0"},
		{shard.Join(a, b), 5, nil, 0, "all of one"},
		{shard.Join(b, a), 6, gcra.ErrExceedsBurst, 5, "more than one ever has"},
		{shard.Join(a, a), 2, nil, 0, "twice two of five leave one, which is none"},
		{shard.Join(a, a), 3, gcra.ErrExceedsBurst, 2, "twice three of five"},
		{shard.Join(a, shard.Join(a, shard.Join(a))), 1, nil, 0, "joints in joints"},
		{shard.Join(users.For("x"), users.For("x"), users.For("y")), 2, nil, 0, "views of one key"},
		{shard.Join(users.For("x"), users.For("y")), 3, nil, 1, "views of two keys"},
		{shard.Join(foreign{a}, foreign{a}), 2, nil, 0, "equal wrappers are one limit"},
		{shard.Join(a, b, b, b, b), math.MaxInt, gcra.ErrExceedsBurst, 2, "a cost that overflows"},
		{shard.Join(a, a), math.MinInt, gcra.ErrCost, 2, "a cost that overflows, to the other side"},
		{shard.Join(gatomic.NewLimiter(gcra.Unlimited()), a), 1, nil, 4, "one that does not limit"},
		{shard.Join(gatomic.NewLimiter(gcra.Limit{}), a), 1, gcra.ErrExceedsBurst, 0, "the zero limit"},
	} {
		a.Reset()
		b.Reset()
		users.Reset("x")
		users.Reset("y")
		d := row.joint.Take(row.n)
		left := d.Remaining()
		if left >= 1<<30 {
			left = math.MaxInt
		}
		want := 0
		if row.err == nil {
			want = row.n
		}
		if d.Err() != row.err || left != row.left || d.Granted() != want {
			t.Errorf("Take(%d): err %v, granted %d, remaining %d; want %v, %d, %d: %s",
				row.n, d.Err(), d.Granted(), d.Remaining(), row.err, want, row.left, row.why)
		}
	}
}

// slices cannot be compared, and panic if they are tried.
type incomparable struct {
	shard.Joinable
	_ []int
}

func TestJoinOfOddValues(t *testing.T) {
	var clk clock.Manual
	l := gatomic.NewLimiter(gcra.PerHour(2).Burst(2), gatomic.WithClock(&clk))
	odd := incomparable{Joinable: l}
	if j := shard.Join(odd, odd, foreign{odd}, foreign{odd}); j.Take(1).OK() || l.Peek(2).Remaining() != 2 {
		t.Error("four that share two tokens granted one, or kept some")
	}
	keys := shard.New[any](gcra.PerHour(2).Burst(2))
	shard.Join(keys.For([]int{1}), keys.For([]int{1})) // panics only when it decides
	nan := shard.New[float64](gcra.PerHour(2), shard.WithMaxKeys(9, shard.Admit))
	if !shard.Join(nan.For(math.NaN()), nan.For(math.NaN())).Allow() {
		t.Error("a key that is not equal to itself did not get the policy")
	}
	for _, limits := range [][]shard.Joinable{{nil}, {l, nil}, {(*shard.Joint)(nil)}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic for a limit that is nil")
				}
			}()
			shard.Join(limits...)
		}()
	}
}

// A joint of more limits than it holds inline is the same, at the price of
// allocations.
func TestJointOfMany(t *testing.T) {
	var clk clock.Manual
	l := shard.New[int](gcra.PerSecond(1).Burst(3), shard.WithClock(&clk))
	var views []shard.Joinable
	for i := range 100 {
		views = append(views, l.For(i), l.For(i/2))
	}
	j := shard.Join(views...) // 0 to 49 three times, the others once
	for i, want := range []error{nil, gcra.ErrLimited} {
		if d := j.Take(1); d.Err() != want || d.Remaining() != 0 {
			t.Errorf("take %d: err %v, %d remaining", i, d.Err(), d.Remaining())
		}
	}
	for i := range 100 {
		want := 2
		if i < 50 {
			want = 0
		}
		if got := l.Peek(i, 0).Remaining(); got != want {
			t.Fatalf("key %d has %d, want %d", i, got, want)
		}
	}
	if got := j.Limit(); got != l.Limit() {
		t.Errorf("limit %v", got)
	}
}

// A refusal writes nothing, makes no cell, and says when all pass: then, and
// not a nanosecond earlier.
func TestJointRefusal(t *testing.T) {
	for _, slowFirst := range []bool{true, false} {
		var clk clock.Manual
		fast := gatomic.NewLimiter(gcra.PerSecond(10).Burst(5), gatomic.WithClock(&clk))
		slow := gatomic.NewLimiter(gcra.Per(7, time.Minute).Burst(3), gatomic.WithClock(&clk))
		users := shard.New[string](gcra.PerHour(1000).Burst(50), shard.WithClock(&clk))
		limits := []shard.Joinable{fast, users.For("u"), slow}
		if slowFirst {
			limits = []shard.Joinable{slow, fast, users.For("u")}
		}
		j := shard.Join(limits...)
		fast.Take(5)
		slow.Take(2)
		want := [3]gcra.Decision{fast.Peek(5), slow.Peek(3), users.Peek("u", 50)}
		for range 100 {
			if d := j.Take(2); d.OK() || d.Limit() != slow.Limit() || d.RetryAfter() != slow.Peek(2).RetryAfter() {
				t.Fatalf("ok %v, limit %v, retry after %v; want that of the slow limit", d.OK(), d.Limit(), d.RetryAfter())
			}
			j.Take(4)
			j.Take(-1)
			j.Take(0)
			j.AllowN(2)
			if r := j.ReserveWithin(time.Second, 2); r.OK() || r.Delay() != slow.Peek(2).RetryAfter() || !errors.Is(r.Err(), gcra.ErrLimited) {
				t.Fatalf("a reservation beyond its bound: ok %v, delay %v, err %v", r.OK(), r.Delay(), r.Err())
			}
			soon, cancel := context.WithTimeout(t.Context(), time.Second)
			var late *gatomic.WaitError
			if err := j.WaitN(soon, 2); !errors.As(err, &late) || !errors.Is(err, context.DeadlineExceeded) || late.Delay != slow.Peek(2).RetryAfter() {
				t.Fatalf("a wait beyond its deadline: %v", err)
			}
			cancel()
			if err := j.WaitN(soon, 2); !errors.Is(err, context.Canceled) {
				t.Fatalf("a wait with a context that is done: %v", err)
			}
		}
		if got := [3]gcra.Decision{fast.Peek(5), slow.Peek(3), users.Peek("u", 50)}; got != want || users.Len() != 0 {
			t.Errorf("refusals cost something, or made %d cells", users.Len())
		}
		clk.Advance(j.Peek(2).RetryAfter() - 1)
		if j.AllowN(2) {
			t.Error("passed a nanosecond before RetryAfter")
		}
		if clk.Advance(1); !j.AllowN(2) {
			t.Error("refused after RetryAfter")
		}
	}
}

// meddler runs something between the question and the charge.
type meddler struct {
	*gatomic.Limiter
	before func()
}

func (m *meddler) Reserve(n int) gatomic.Reservation {
	m.before()
	return m.Limiter.Reserve(n)
}

// What goes back after a lost race goes back at a new reading. B 2, k 10: the
// joint takes 1 at 0, another takes 1 at 10, which makes the TAT 20. Returned
// as if at 0 it would be 10, and two more would pass at 10: three in an instant.
func TestJointRollBack(t *testing.T) {
	for _, row := range []struct {
		later time.Duration
		took  int
		want  int
		why   string
	}{
		{0, 0, 2, "at the same instant all comes back"},
		{0, 1, 1, "and what others took stays taken"},
		{5, 0, 2, "half has been refilled, the other half comes back"},
		{10, 1, 1, "it has been refilled, and another has taken it"},
		{10, 0, 2, "it has been refilled"},
	} {
		var clk clock.Manual
		first := gatomic.NewLimiter(gcra.Every(10).Burst(2), gatomic.WithClock(&clk))
		second := &meddler{Limiter: gatomic.NewLimiter(gcra.PerHour(3).Burst(3), gatomic.WithClock(&clk))}
		second.before = func() {
			clk.Advance(row.later)
			first.Take(row.took)
			second.Take(3)
		}
		d := shard.Join(second, first).Take(1)
		if d.OK() || d.Limit() != second.Limit() || d.RetryAfter() != 20*time.Minute {
			t.Errorf("ok %v, limit %v, retry after %v", d.OK(), d.Limit(), d.RetryAfter())
		}
		if got := first.Peek(0).Remaining(); got != row.want {
			t.Errorf("%d tokens after the roll-back, want %d: %s", got, row.want, row.why)
		}
		if first.Take(row.want + 1).OK() {
			t.Errorf("%d tokens passed: %s", row.want+1, row.why)
		}
	}
}

// A lost race in a booking gives back in the same way, also to limits that only
// have what Joinable asks for.
func TestJointReserveLosesRace(t *testing.T) {
	for _, plain := range []bool{false, true} {
		var clk clock.Manual
		first := gatomic.NewLimiter(gcra.PerSecond(1).Burst(2), gatomic.WithClock(&clk))
		second := &meddler{Limiter: gatomic.NewLimiter(gcra.PerHour(3).Burst(3), gatomic.WithClock(&clk))}
		second.before = func() { second.Limiter.Take(3) }
		limits := []shard.Joinable{first, second}
		if plain {
			limits[0] = foreign{first}
		}
		if r := shard.Join(limits...).ReserveWithin(time.Minute, 1); r.OK() || r.Delay() != 20*time.Minute {
			t.Errorf("ok %v, delay %v", r.OK(), r.Delay())
		}
		if got := first.Peek(0).Remaining(); got != 2 {
			t.Errorf("%d tokens after the roll-back, want 2", got)
		}
	}
}

func TestJointReservation(t *testing.T) {
	for _, row := range []struct {
		settle      int
		fast, users int
		why         string
	}{
		{0, 10, 30, "all back, three times what each was asked for"},
		{4, 6, 18, "what was booked and no more"},
		{3, 7, 21, "one back, of each"},
		{6, 4, 12, "two more charged, of each"},
		{12, -2, -6, "into debt"},
		{-1, 6, 18, "nonsense settles nothing"},
		{math.MaxInt, -10, -30, "as far as debt goes"},
	} {
		var clk clock.Manual
		fast := gatomic.NewLimiter(gcra.PerSecond(1).Burst(10), gatomic.WithClock(&clk))
		users := shard.New[string](gcra.PerSecond(1).Burst(30), shard.WithClock(&clk))
		u := users.For("u")
		j := shard.Join(fast, u, shard.Join(u, u))
		r := j.ReserveWithin(0, 4)
		if d := r.Decision(); !r.OK() || r.Delay() != 0 || d.Granted() != 4 || d.Remaining() != 6 || d.Limit() != fast.Limit() {
			t.Fatalf("err %v, delay %v, granted %d, remaining %d", r.Err(), r.Delay(), d.Granted(), d.Remaining())
		}
		r.Settle(row.settle)
		if row.settle >= 0 {
			r.Cancel() // once only
		}
		for _, m := range []struct {
			d    gcra.Decision
			want int
		}{{fast.Peek(1), row.fast}, {u.Peek(1), row.users}} {
			if got := m.d.Remaining(); got != max(m.want, 0) || m.want < 0 && m.d.RetryAfter() != time.Duration(1-m.want)*time.Second {
				t.Errorf("settled at %d: %v has %d, the next in %v, want %d: %s", row.settle, m.d.Limit(), got, m.d.RetryAfter(), m.want, row.why)
			}
		}
	}
}

func TestJointWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast := gatomic.NewLimiter(gcra.PerSecond(2).Burst(2))
		slow := shard.New[string](gcra.PerSecond(1).Start(0))
		j := shard.Join(fast, slow.For("a"))
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				if err := j.Wait(t.Context()); err != nil {
					t.Error(err)
				}
				if got, want := time.Since(start), time.Duration(i+1)*time.Second; got != want {
					t.Errorf("waiter %d came at %v, want %v", i, got, want)
				}
			})
			synctest.Wait() // it has booked
		}
		// Five bookings in the fast limit, each at its own slot: two at once,
		// and three in the next 1.5 s.
		if got := fast.Peek(1).RetryAfter(); got != 2*time.Second {
			t.Errorf("the fast limit has its next slot in %v, want 2s", got)
		}
		time.Sleep(500 * time.Millisecond)
		// The last in line gives up: it comes back whole, in both.
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		wg.Go(func() { err = j.WaitN(ctx, 1) })
		synctest.Wait()
		cancel()
		synctest.Wait()
		if !errors.Is(err, context.Canceled) || fast.Peek(1).RetryAfter() != 1500*time.Millisecond || slow.Peek("a", 1).RetryAfter() != 5500*time.Millisecond {
			t.Errorf("err %v, next slots in %v and %v", err, fast.Peek(1).RetryAfter(), slow.Peek("a", 1).RetryAfter())
		}
		wg.Wait()
		at, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := j.Wait(at); err != nil {
			t.Errorf("a deadline at the slot: %v", err)
		}
		if err := j.WaitN(t.Context(), 2); err != gcra.ErrExceedsBurst {
			t.Errorf("above the burst: %v", err)
		}
		if err := j.WaitN(t.Context(), -1); err != gcra.ErrCost {
			t.Errorf("a negative cost: %v", err)
		}
	})
}

// A member's WithMaxWait refuses at once, and its WithSpin and WithJitter are
// those of the joint whose slot it decides.
func TestJointWaitOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		impatient := gatomic.NewLimiter(gcra.PerSecond(1), gatomic.WithMaxWait(2*time.Second))
		slow := gatomic.NewLimiter(gcra.PerMinute(1).Burst(9), gatomic.WithJitter(time.Second))
		users := shard.New[string](gcra.PerSecond(1).Start(0), shard.WithMaxWait(time.Hour))
		j := shard.Join(slow, users.For("a"), impatient)
		impatient.Reserve(1)
		impatient.Reserve(1)
		impatient.Reserve(1)
		before := slow.Peek(9)
		r := j.Reserve(1)
		err := j.Wait(t.Context())
		var late *gatomic.WaitError
		if !errors.Is(err, gcra.ErrLimited) || !errors.As(err, &late) || late.Delay != 3*time.Second || r.OK() || r.Delay() != 3*time.Second {
			t.Errorf("beyond the bound of a member: %v, and reserved %v with delay %v", err, r.OK(), r.Delay())
		}
		if slow.Peek(9) != before || users.Len() != 0 {
			t.Error("that cost something")
		}
		slow.Take(9)
		start := time.Now()
		if err := shard.Join(slow, gatomic.NewLimiter(gcra.PerSecond(9))).Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if got := time.Since(start); got <= time.Minute || got >= time.Minute+time.Second {
			t.Errorf("woke after %v, want a minute and the jitter", got)
		}
	})
}

// A dry run refuses nothing in a joint, and the decision tells what it would
// have been.
func TestJointDryRun(t *testing.T) {
	var clk clock.Manual
	tried := shard.New[string](gcra.PerSecond(1), shard.WithClock(&clk), shard.WithDryRun(), shard.WithStats())
	real := gatomic.NewLimiter(gcra.PerSecond(1).Burst(2), gatomic.WithClock(&clk))
	j := shard.Join(tried.For("a"), real)
	for i, want := range []struct {
		ok  bool
		err error
	}{{true, nil}, {true, gcra.ErrLimited}, {false, gcra.ErrLimited}} {
		d := j.Take(1)
		if d.OK() != want.ok || d.Err() != want.err || (d.RetryAfter() == time.Second) != (want.err != nil) {
			t.Errorf("take %d: ok %v, err %v, retry after %v", i, d.OK(), d.Err(), d.RetryAfter())
		}
	}
	if s := tried.Stats(); s.Granted != 1 || s.WouldRefuse != 1 {
		t.Errorf("granted %d, would refuse %d", s.Granted, s.WouldRefuse)
	}
	clk.Advance(time.Second)
	r := j.Reserve(1)
	if r.Cancel(); !r.OK() || tried.Peek("a", 1).Remaining() != 1 {
		t.Error("a dry run's reservation does not come back")
	}
}

// Goroutines take from joints that share limits, in different orders, and from
// the limits themselves. No limit grants more than it has, and at the end it
// lacks exactly what was granted, or more in every fourth round, where one of
// them is wrapped and what is booked behind may stay lost.
func TestJointRace(t *testing.T) {
	const rounds, burst = 3000, 12
	contended := 0
	for round := range rounds {
		var clk clock.Manual
		a := gatomic.NewLimiter(gcra.PerSecond(1).Burst(burst), gatomic.WithClock(&clk))
		b := gatomic.NewLimiter(gcra.PerSecond(1).Burst(burst), gatomic.WithClock(&clk))
		users := shard.New[int](gcra.PerSecond(1).Burst(burst), shard.WithClock(&clk), shard.WithShards(1))
		c := users.For(1)
		last, wrapped := shard.Joinable(c), round%4 == 0
		if wrapped {
			last = foreign{c}
		}
		joints := [...]*shard.Joint{shard.Join(a, b, c), shard.Join(last, b, a), shard.Join(b, b, a)}
		var joint [3]atomic.Int64
		var direct [3]atomic.Int64
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(round), uint64(g)))
				for range 12 {
					n := 1 + rng.IntN(3)
					switch i := rng.IntN(3); rng.IntN(4) {
					case 0:
						direct[i].Add(int64([...]func(int) gcra.Decision{a.Take, b.Take, c.Take}[i](n).Granted()))
					case 1:
						if r := joints[i].ReserveWithin(0, n); r.OK() && rng.IntN(2) == 0 {
							r.Cancel()
						} else if r.OK() {
							joint[i].Add(int64(n))
						}
					default:
						joint[i].Add(int64(joints[i].Take(n).Granted()))
					}
				}
			})
		}
		wg.Wait()
		x, y, z := joint[0].Load(), joint[1].Load(), joint[2].Load()
		for i, m := range []struct {
			d    gcra.Decision
			used int64
		}{
			{a.Peek(0), x + y + z + direct[0].Load()}, {b.Peek(0), x + y + 2*z + direct[1].Load()}, {c.Peek(0), x + y + direct[2].Load()},
		} {
			if left := burst - int(m.used); left < 0 || m.d.Remaining() > left || !wrapped && m.d.Remaining() < left {
				t.Fatalf("round %d: limit %d granted %d of %d and has %d left", round, i, m.used, burst, m.d.Remaining())
			}
		}
		if x > 0 && y > 0 && z > 0 {
			contended++
		}
	}
	if contended == 0 {
		t.Error("in no round did all joints win, so nothing is proved")
	}
}

// While the clock moves, what joints and others take stays within the window of
// each limit.
func TestJointRaceMovingClock(t *testing.T) {
	var clk clock.Manual
	hot := gatomic.NewLimiter(gcra.PerSecond(1000).Burst(5), gatomic.WithClock(&clk))
	warm := gatomic.NewLimiter(gcra.PerSecond(700).Burst(9), gatomic.WithClock(&clk))
	x, y := shard.Join(hot, warm), shard.Join(warm, foreign{hot})
	var inHot, inWarm atomic.Int64
	var over atomic.Bool
	var wg sync.WaitGroup
	for g := range 3 {
		wg.Go(func() {
			for !over.Load() {
				n := int64([...]*shard.Joint{x, y, x}[g].Take(1 + g).Granted())
				inHot.Add(n)
				inWarm.Add(n)
				if g == 1 {
					inHot.Add(int64(hot.TakeUpTo(1).Granted()))
				} else {
					inWarm.Add(int64(warm.TakeUpTo(1).Granted()))
				}
				runtime.Gosched()
			}
		})
	}
	for range 10_000 {
		clk.Advance(time.Millisecond / 3)
		n := int64(x.Take(1).Granted())
		inHot.Add(n)
		inWarm.Add(n)
	}
	over.Store(true)
	wg.Wait()
	for _, m := range []struct {
		l    *gatomic.Limiter
		used int64
	}{{hot, inHot.Load()}, {warm, inWarm.Load()}} {
		if most := int64(m.l.Limit().Within(clk.Now())); m.used > most || m.used < most/10 {
			t.Errorf("%v: %d tokens in %v, want at most %d and some", m.l.Limit(), m.used, clk.Now(), most)
		}
	}
}

func TestJointAllocations(t *testing.T) {
	var clk clock.Manual
	users := shard.New[string](gcra.PerHour(1000).Burst(1<<30), shard.WithClock(&clk))
	empty := shard.New[string](gcra.PerHour(1), shard.WithClock(&clk))
	global := gatomic.NewLimiter(gcra.PerSecond(1000).Burst(1<<30), gatomic.WithClock(&clk))
	many := shard.Join(global)
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		users.Allow(key)
		many = shard.Join(many, users.For(key), users.For(key))
	}
	empty.Allow("a")
	granted, refused := shard.Join(users.For("a"), global), shard.Join(users.For("a"), empty.For("a"), global)
	for _, row := range []struct {
		what string
		most float64
		do   func()
	}{
		{"Join and Take for one request", 2, func() { shard.Join(users.For("a"), global).Take(1) }},
		{"Join and Allow, refused", 2, func() { shard.Join(empty.For("a"), global).Allow() }},
		{"Take, granted", 0, func() { granted.Take(1) }},
		{"Take by eight limits", 0, func() { many.Take(1) }},
		{"Take, refused", 0, func() { refused.Take(1) }},
		{"Take, above the burst", 0, func() { refused.Take(2) }},
		{"Peek", 0, func() { refused.Peek(1) }},
		{"Allow", 0, func() { granted.Allow() }},
		{"Wait without a wait", 0, func() { granted.Wait(context.Background()) }},
		{"the numbers of a decision", 0, func() {
			d := refused.Peek(1)
			_, _, _, _ = d.Remaining(), d.RetryAfter(), d.ResetAfter(), d.Err()
		}},
	} {
		if n := testing.AllocsPerRun(100, row.do); n > row.most {
			t.Errorf("%s: %v allocations, want at most %v", row.what, n, row.most)
		}
	}
}

func TestJointLimit(t *testing.T) {
	a, b := gatomic.NewLimiter(gcra.PerSecond(1).Burst(6)), gatomic.NewLimiter(gcra.PerHour(1).Burst(5))
	for _, row := range []struct {
		joint *shard.Joint
		want  gcra.Limit
		why   string
	}{
		{shard.Join(a, b), b.Limit(), "the least burst"},
		{shard.Join(a, b, a), a.Limit(), "twice asked is half a burst"},
		{shard.Join(), gcra.Unlimited(), "no limits"},
	} {
		if got := row.joint.Limit(); got != row.want {
			t.Errorf("%v, want %v: %s", got, row.want, row.why)
		}
	}
}

// A counter counts what a joint takes from a limit, also if that goes back.
type counter struct {
	shard.View[int]
	taken *atomic.Int64
}

func (c counter) Reserve(n int) gatomic.Reservation {
	c.taken.Add(int64(n))
	return c.View.Reserve(n)
}

// How often a decision is rolled back: two goroutines, each with a user of its
// own, at one global limit that refuses most of what they ask.
//
//	go test -run ^$ -bench JointRollBack -cpu 2 ./shard
func BenchmarkJointRollBack(b *testing.B) {
	for _, row := range []struct {
		name  string
		users gcra.Limit
	}{
		{"global=tightest", gcra.PerSecond(1e9).Burst(1 << 30)},
		{"global=as_tight", gcra.PerSecond(1e9)}, // users have 1 token too, and are charged first
	} {
		b.Run(row.name, func(b *testing.B) {
			global := gatomic.NewLimiter(gcra.PerSecond(1e5).Burst(10))
			users := shard.New[int](row.users)
			var next, taken, granted atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				j, got := shard.Join(counter{users.For(int(next.Add(1))), &taken}, global), int64(0)
				for pb.Next() {
					got += int64(j.Take(1).Granted())
				}
				granted.Add(got)
			})
			if granted.Load() == 0 {
				b.Error("nothing was granted")
			}
			b.ReportMetric(float64(taken.Load()-granted.Load())/float64(b.N)*1e6, "rollbacks/M")
			b.ReportMetric(float64(granted.Load())/float64(b.N), "granted/op")
		})
	}
}

func BenchmarkJoint(b *testing.B) {
	users := shard.New[string](gcra.PerHour(1000).Burst(1 << 30))
	users.Allow("a")
	global := gatomic.NewLimiter(gcra.PerHour(1000).Burst(1 << 30))
	empty := gatomic.NewLimiter(gcra.PerHour(1))
	empty.Allow()
	granted, refused := shard.Join(users.For("a"), global), shard.Join(users.For("a"), empty)
	for _, row := range []struct {
		name string
		do   func() bool
		want bool
	}{
		{"op=one_after_the_other", func() bool { return users.Take("a", 1).OK() && global.Take(1).OK() }, true},
		{"op=take", func() bool { return granted.Take(1).OK() }, true},
		{"op=join_take", func() bool { return shard.Join(users.For("a"), global).Take(1).OK() }, true},
		{"op=take_refused", func() bool { return refused.Take(1).OK() }, false},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if row.do() != row.want {
					b.Fatal("decided otherwise")
				}
			}
		})
	}
}
