package redislimit_test

import (
	"math/big"
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/contrib/redislimit"
	"github.com/weir-go/weir/gcra"
)

// A rational is the exact bucket of one key: a level in tokens, filled by the time
// that passed, in whole µs, which is all that it shares with what it checks.
type rational struct {
	limit gcra.Limit
	level *big.Rat // as of the last write; nil: there was none
	at    int64    // µs, of the last write
}

// perMicro returns the tokens of a limit in a microsecond.
func perMicro(l gcra.Limit) *big.Rat {
	n, period := l.Rate()
	return new(big.Rat).Mul(big.NewRat(int64(n), int64(period)), big.NewRat(1000, 1))
}

// reading is what the limit's clock shows at an instant: the last step.
func reading(l gcra.Limit, us int64) int64 {
	return l.Birth(time.Duration(us) * time.Microsecond).Microseconds()
}

// levelAt returns the level under the limit in force since, at the instant now.
func (r *rational) levelAt(l gcra.Limit, since, now int64) *big.Rat {
	burst := big.NewRat(int64(l.Capacity()), 1)
	if r.level == nil {
		return burst
	}
	level, at := new(big.Rat).Set(r.level), r.at
	if r.limit != l {
		s := max(since, at)
		fill(level, r.limit, at, s)
		cut(level, burst)
		level = down(level, l)
		at = s
	}
	fill(level, l, at, now)
	return level
}

// fill adds what the limit refills between two instants.
func fill(level *big.Rat, l gcra.Limit, from, to int64) {
	if n, _ := l.Rate(); n > 0 {
		d := big.NewRat(reading(l, to)-reading(l, from), 1)
		level.Add(level, d.Mul(d, perMicro(l)))
	}
	cut(level, big.NewRat(int64(l.Capacity()), 1))
}

func cut(level, most *big.Rat) {
	if level.Cmp(most) > 0 {
		level.Set(most)
	}
}

// down rounds a level down to what decides at whole microseconds: an integer of
// them is a multiple of 1/m tokens, where a token takes m/d µs. And a debt that is
// carried over is at most 2^52 µs, 142 years.
func down(level *big.Rat, l gcra.Limit) *big.Rat {
	m := big.NewInt(1)
	if n, _ := l.Rate(); n > 0 {
		m = new(big.Int).Set(perMicro(l).Denom())
	}
	x := new(big.Int).Mul(level.Num(), m)
	x.Div(x, level.Denom())
	level = new(big.Rat).SetFrac(x, m)
	if n, _ := l.Rate(); n > 0 {
		least := new(big.Rat).Mul(perMicro(l), big.NewRat(-1<<52, 1))
		if least.Add(least, big.NewRat(int64(l.Capacity()), 1)); level.Cmp(least) < 0 {
			level = least
		}
	}
	return level
}

func whole(level *big.Rat) int64 {
	if level.Sign() < 0 {
		return 0
	}
	return new(big.Int).Quo(level.Num(), level.Denom()).Int64()
}

// until returns the exact time in ns until the level is at want: the least number
// of ns, or with steps the step; -1 if never.
func until(level *big.Rat, want int64, l gcra.Limit, now int64) *big.Int {
	lacks := new(big.Rat).Sub(big.NewRat(want, 1), level)
	if lacks.Sign() <= 0 {
		return new(big.Int)
	}
	n, _ := l.Rate()
	if n == 0 {
		return big.NewInt(-1)
	}
	us := lacks.Quo(lacks, perMicro(l))
	us.Add(us, big.NewRat(reading(l, now), 1)) // the instant
	ns := us.Mul(us, big.NewRat(1000, 1))
	up := new(big.Int).Add(ns.Num(), new(big.Int).Sub(ns.Denom(), big.NewInt(1)))
	up.Div(up, ns.Denom())
	if s := stepOf(l); s > 0 {
		step := big.NewInt(int64(s))
		up.Add(up, new(big.Int).Sub(step, big.NewInt(1)))
		up.Div(up, step).Mul(up, step)
	}
	return up.Sub(up, big.NewInt(now*1000))
}

// stepOf is the step of the model's limits, worked out from the outside.
func stepOf(l gcra.Limit) time.Duration {
	for _, s := range []time.Duration{time.Millisecond, 250 * time.Millisecond, time.Second, 3 * time.Second} {
		if l.Birth(s-1) == 0 && l.Birth(s) == s && l.Birth(2*s-1) == s {
			return s
		}
	}
	return 0
}

var modelLimits = []string{
	"100/s burst 100", "3/s burst 1", "3/s burst 9", "99/s burst 99", "999999937/s burst 7", "10000/us burst 1000000",
	"7/m burst 5", "1/d burst 3", "6/3s burst 10 step 3s", "5/s burst 10 step 1s", "17/s burst 4 step 250ms", "0/s burst 12",
	"1000003/7919s burst 1009", "1/100ns burst 1000", "7/1001ns burst 50", "123456789/86399s burst 123456789", "1/36501h burst 2",
	"4294967291/s burst 4294967296", "1000/m burst 1", "64/ns burst 64000000000", "1/us burst 4503599627", "13/ms burst 13 step 1ms",
}

// TestModel compares every number of random decisions with exact rational buckets,
// to the microsecond: of keys never seen, of keys that several limiters with
// different limits ask about, as in a rolling deploy, and across changes of limit.
// It makes 100 000 on redis-server where there is one, else on miniredis, which is
// slower, or with -race 10 000.
func TestModel(t *testing.T) {
	decisions := 100_000
	if raceOn || testing.Short() {
		decisions /= 10
	}
	_, err := exec.LookPath("redis-server")
	t.Run("redis-server", func(t *testing.T) { model(t, newServer(t).client(), decisions, 2) })
	if err == nil {
		decisions /= 10
	}
	mini := miniredis.RunT(t)
	t.Run("miniredis", func(t *testing.T) { model(t, clientOf(t, "tcp", mini.Addr()), decisions, 1) })
}

func model(t *testing.T, client *redis.Client, decisions int, seed uint64) {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 7)), client: client}
	for w.done < decisions {
		switch w.rng.IntN(3) {
		case 0: // one limiter, whose limit changes
			w.begin(1)
		default: // two, which may have different limits
			w.begin(2)
		}
		for range 150 {
			w.decide()
		}
	}
	t.Logf("%d decisions; of their times %d exact to the ns and %d a ns late; %d changes of limit", w.done, w.exact, w.late, w.changes)
	if w.exact < decisions || w.late > decisions/10 || w.changes < decisions/500 {
		t.Error("that proves too little")
	}
}

// A world is limiters that have keys in common, and the exact buckets of those.
type world struct {
	t      *testing.T
	rng    *rand.Rand
	client *redis.Client
	now    time.Duration
	ls     []*actor
	keys   map[string]*rational

	done, exact, late, changes int
}

type actor struct {
	*redislimit.Limiter
	limit gcra.Limit
	since int64 // µs; -1: no answer yet
}

var modelKeys = []string{"a", "b c", "{d}\x00"}

func (w *world) begin(limiters int) {
	w.client.FlushDB(ctx)
	w.ls, w.keys = nil, map[string]*rational{}
	for _, name := range modelKeys {
		w.keys[name] = &rational{}
	}
	same := w.rng.IntN(2) == 0
	for i := range limiters {
		a := &actor{limit: w.pick(), since: -1}
		if i > 0 && same {
			a.limit = w.ls[0].limit
		}
		var err error
		a.Limiter, err = redislimit.NewVirtual(w.client, a.limit, redislimit.Closed(), func() time.Duration { return w.now }, redislimit.WithMemory(0))
		if err != nil {
			w.t.Fatal(err)
		}
		w.ls = append(w.ls, a)
	}
}

func (w *world) pick() gcra.Limit {
	return limitOf(w.t, modelLimits[w.rng.IntN(len(modelLimits))])
}

// pause lets time pass: about a token's, a bucket's, a microsecond, or none.
func (w *world) pause(l gcra.Limit) {
	fill := int64(min(l.FillTime(), 100*time.Hour))
	switch w.rng.IntN(10) {
	case 0, 1, 2:
		w.now += time.Duration(w.rng.Int64N(fill/int64(l.Capacity())*2 + 2000))
	case 3:
		w.now += time.Duration(w.rng.Int64N(fill*2 + 2000))
	case 4:
		w.now += time.Microsecond
	}
}

// change gives the one limiter another limit: every bucket changes now.
func (w *world) change(a *actor) {
	w.now += time.Microsecond
	us, next := w.now.Microseconds(), w.pick()
	for _, k := range w.keys {
		level := down(k.levelAt(a.limit, us, us), a.limit)
		if next != a.limit {
			cut(level, big.NewRat(int64(next.Capacity()), 1))
			level = down(level, next)
		}
		k.limit, k.level, k.at = next, level, us
	}
	if a.limit, a.since = next, us; a.SetLimit(ctx, next) != nil {
		w.t.Fatal("SetLimit failed")
	}
	w.changes++
}

// decide makes one decision and compares it.
func (w *world) decide() {
	a, name := w.ls[w.rng.IntN(len(w.ls))], modelKeys[w.rng.IntN(len(modelKeys))]
	if len(w.ls) == 1 && w.rng.IntN(20) == 0 {
		w.change(a)
	}
	w.pause(a.limit)
	us, k, limit, burst := w.now.Microseconds(), w.keys[name], a.limit, a.limit.Capacity()
	if a.since < 0 {
		a.since = us
	}
	level := k.levelAt(limit, a.since, us)
	left := whole(level)
	n := [...]int{0, 1, 1, 1, 2, burst, burst + 1, -1, 1 + w.rng.IntN(burst), max(int(left), 1), int(left) + 1}[w.rng.IntN(11)]

	var d gcra.Decision
	var err, wantErr error
	want, asked := int64(n), int64(n) // granted, and waited for
	partly := func(there int64) {
		if want, asked = min(want, there), min(asked, 1); want == 0 && n > 0 {
			wantErr = gcra.ErrLimited
		}
	}
	all := func() {
		switch {
		case n > burst:
			want, wantErr = 0, gcra.ErrExceedsBurst
		case want > left:
			want, wantErr = 0, gcra.ErrLimited
		}
	}
	op := w.rng.IntN(6)
	switch op {
	case 0:
		partly(left)
		d, err = a.TakeUpTo(ctx, name, n)
	case 1: // into a debt of a burst
		partly(whole(new(big.Rat).Add(level, big.NewRat(int64(burst), 1))))
		d, err = a.Debit(ctx, name, n)
	case 2:
		all()
		want = 0
		d, err = a.Peek(ctx, name, n)
	default:
		all()
		d, err = a.Take(ctx, name, n)
	}
	if n < 0 {
		want, wantErr = 0, gcra.ErrCost
	}
	w.done++
	after := new(big.Rat).Sub(level, big.NewRat(want, 1))
	if want > 0 {
		k.limit, k.level, k.at = limit, after, us
	}
	if err != nil || d.Err() != wantErr || d.Granted() != int(want) || d.Remaining() != int(whole(after)) || d.Limit() != limit {
		w.t.Fatalf("decision %d at %d µs, %v since %d, op %d of %d tokens with %s: error %v; err %v, granted %d, remaining %d, want %v, %d, %d",
			w.done, us, limit, a.since, op, n, level.FloatString(9), err, d.Err(), d.Granted(), d.Remaining(), wantErr, want, whole(after))
	}
	w.compare("reset", limit, d.ResetAfter(), until(after, int64(burst), limit, us))
	if wantErr == gcra.ErrLimited {
		w.compare("retry", limit, d.RetryAfter(), until(level, asked, limit, us))
	}
}

// compare compares a time with the exact one: to the ns, and where gcra's ticks are
// no parts of a microsecond, at most a ns late. Beyond a year gcra may clip it.
func (w *world) compare(what string, l gcra.Limit, got time.Duration, want *big.Int) {
	const year = 365 * 24 * time.Hour
	late := new(big.Int).Sub(big.NewInt(int64(got)), want)
	switch {
	case want.Sign() < 0 && got == gcra.Never, want.Cmp(big.NewInt(int64(year))) > 0 && got > year, late.Sign() == 0:
		w.exact++
	case late.Cmp(big.NewInt(1)) == 0 && want.Sign() > 0 && !parts(l):
		w.late++
	default:
		w.t.Fatalf("decision %d under %v: %s after %d ns, want %v", w.done, l, what, got, want)
	}
}

// parts reports whether a microsecond is a whole number of the limit's ticks.
func parts(l gcra.Limit) bool {
	empty := l.Start(0)
	at := gcra.At(&empty, 0)
	ticks := (gcra.Fresh(&empty, at) - at.Tick) / int64(l.Capacity())
	n, _ := l.Rate()
	return n == 0 || new(big.Rat).Mul(perMicro(l), big.NewRat(ticks, 1)).IsInt()
}

func limitOf(t *testing.T, text string) gcra.Limit {
	t.Helper()
	l, err := gcra.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
