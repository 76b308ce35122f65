package shard

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// By the default clock and in tokens: what a user sees.
func TestRestart(t *testing.T) {
	const s = time.Second
	per := gcra.Per
	for _, row := range []struct {
		old, new   gcra.Limit
		take       int
		up, down   time.Duration // the save is that long after the take, the load after the save
		ann, never int           // tokens of the key and of one never seen
		why        string
	}{
		{per(1, s).Burst(9), per(1, s).Burst(9), 9, 0, 0, 0, 9, "no time has passed"},
		{per(1, s).Burst(9), per(1, s).Burst(9), 9, 2 * s, 3 * s, 5, 9, "the down time counts like any other"},
		{per(1, s).Burst(9), per(1, s).Burst(9), 9, 0, 100 * s, 9, 9, "a bucket does not hold more"},
		{per(1, s).Burst(9), per(1, s).Burst(9), 9, 0, 100 * 365 * 24 * time.Hour, 9, 9, "nor after a century"},
		{per(1, s).Burst(9), per(1, s).Burst(9), 9, s / 2, s / 2, 1, 9, "two halves of a token are one"},
		{per(3, s).Burst(9), per(3, s).Burst(9), 9, 500 * time.Millisecond, 500 * time.Millisecond, 3, 9, "of an interval that is no whole number of ns"},
		{per(1, s).Burst(9).Start(0), per(1, s).Burst(9).Start(0), 0, 2 * s, 3 * s, 5, 5, "keys never seen began with none 5s ago"},
		{per(1, s).Burst(9).Start(0), per(1, s).Burst(9), 0, 2 * s, 3 * s, 5, 5, "whatever the new limit starts with"},
		{per(1, s).Burst(9), per(1, s).Burst(9).Start(0), 9, 0, s, 1, 9, "and the other way round"},
		{per(0, s).Burst(9), per(0, s).Burst(9), 4, s, s, 5, 9, "nothing refills"},
		{per(0, s).Burst(9), per(1, s).Burst(9), 4, s, s, 5, 9, "what refills the new one counts from the load"},
		{per(1, s).Burst(9), per(0, s).Burst(9), 4, s, s, 7, 9, "the old rate counts until then"},
		{per(1, s).Burst(9), per(1, s).Burst(4), 2, 0, 0, 4, 4, "no more than the new burst"},
		{per(1, s).Burst(9), per(1, s).Burst(4), 7, 0, s, 3, 4, "but all that is there"},
		{per(1, s).Burst(9), per(100, s).Burst(90), 7, 0, s, 3, 9, "nobody gets a free burst"},
		{per(6, 3*s).Burst(10).InSteps(3 * s), per(6, 3*s).Burst(10).InSteps(3 * s), 10, 2 * s, 0, 0, 10, "no step yet"},
		{per(6, 3*s).Burst(10).InSteps(3 * s), per(6, 3*s).Burst(10).InSteps(3 * s), 10, 2 * s, s, 6, 10, "the step comes by the old clock"},
		{per(6, 3*s).Burst(10).InSteps(3 * s), per(6, 3*s).Burst(10).InSteps(3 * s), 10, 4 * s, s, 6, 10, "one that came before is not given again"},
		{gcra.Unlimited(), per(1, s).Burst(9), 5, 0, 0, 9, 9, "unlimited is more than any burst"},
		{per(1, s).Burst(9), gcra.Unlimited(), 5, 0, 0, math.MaxInt, math.MaxInt, "and has no end"},
		{gcra.Limit{}, per(1, s).Burst(9), 1, 0, 5 * s, 0, 0, "none was there, and none refilled"},
		{per(1, s).Burst(9), gcra.Limit{}, 1, 0, 5 * s, 0, 0, "none is given"},
	} {
		synctest.Test(t, func(t *testing.T) {
			old := New[string](row.old)
			if row.old.Capacity() > 0 && !old.Peek("ann", row.take).OK() {
				old.Debit("ann", row.take)
			}
			old.Take("ann", row.take)
			time.Sleep(row.up)
			data := saved(t, old)
			time.Sleep(row.down)
			l := New[string](row.new)
			load(t, l, data)
			ann, never := l.Peek("ann", 0).Remaining(), l.Peek("never", 0).Remaining()
			if ann != row.ann || never != row.never {
				t.Errorf("%v, %v up and %v down, %v: %d tokens and %d if never seen, want %d and %d: %s",
					&row.old, row.up, row.down, &row.new, ann, never, row.ann, row.never, row.why)
			}
		})
	}
}

// lacks returns the ticks that a key lacks now.
func lacks[K comparable](l *Limiter[K], key K) int64 {
	now, c, g := l.find(l.bin(key), key)
	return int64(lacking(balance(c, g), g.At(now)))
}

// atEnd reports whether a key's TAT is the last that there is.
func atEnd[K comparable](l *Limiter[K], key K) bool {
	_, c, g := l.find(l.bin(key), key)
	return balance(c, g) == math.MaxInt64-int64(g.Limit().Capacity())*int64(perToken(g.Limit()))
}

// A host is a limiter on a clock of its own, in a bubble whose time is the wall
// clock.
type host struct {
	*Limiter[int16]
	clk clock.Manual
}

func newHost(limit gcra.Limit, epoch, age time.Duration, opts ...Option) *host {
	h := new(host)
	h.clk.Set(epoch)
	h.Limiter = New[int16](limit, append(opts, WithClock(&h.clk), WithShards(1))...)
	h.clk.Advance(age)
	return h
}

func pass(d time.Duration, hosts ...*host) {
	time.Sleep(d)
	for _, h := range hosts {
		h.clk.Advance(d)
	}
}

// ended reports whether the host is at the end of the range, where it stands
// still, which a new one does not.
func (h *host) ended() bool {
	limit := h.Limit()
	at := h.core.Current().At(h.core.Now())
	return at.Tick == gcra.At(&limit, gcra.Never).Tick && limit.Interval() != 0 && limit.Interval() != gcra.Never
}

// dice gives the choices of a history: from a generator, or from a fuzzer.
type dice interface{ IntN(n int) int }

var restartLimits = []gcra.Limit{
	gcra.PerSecond(1).Burst(10),
	gcra.PerSecond(99).Burst(7),
	gcra.PerSecond(3).Burst(5).Start(2),
	gcra.PerSecond(999_999_937).Burst(1000),
	gcra.PerMinute(7).Burst(50).Start(0),
	gcra.PerDay(5000).Burst(5000),
	gcra.Per(64, 1).Burst(1 << 20),
	gcra.Per(0, 1).Burst(20),
	gcra.Per(0, 1).Burst(20).Start(0),
	gcra.Unlimited(),
	{},
	gcra.Per(6, 3*time.Second).Burst(10).InSteps(3 * time.Second),
	gcra.PerSecond(999_999_937).Burst(1 << 20).InSteps(time.Millisecond),
	gcra.Per(7, 3*time.Second).Burst(30).Start(3).InSteps(time.Second),
	gcra.PerDay(100).Burst(100).InSteps(24 * time.Hour),
	gcra.Per(1, 1<<50).Burst(1 << 30), // k is 2^30, and a tick lasts a millisecond
	gcra.Per(3, 1<<58).Burst(1 << 30),
}

// someTime is 0, a few ns, or up to some four times what a token takes.
func someTime(d dice, l *gcra.Limit) time.Duration {
	token := l.Interval()
	if token == 0 || token == gcra.Never {
		token = time.Second
	}
	switch d.IntN(5) {
	case 0:
		return 0
	case 1:
		return time.Duration(d.IntN(5))
	default:
		return min(token/1000*time.Duration(d.IntN(4001)), 1<<58) + time.Duration(d.IntN(1000))
	}
}

const restartKeys = 8

// drive makes random requests of the keys but the last.
func drive(d dice, h *host, also ...*host) {
	for range d.IntN(30) {
		limit := h.Limit()
		key, n := int16(d.IntN(restartKeys-1)), 1+d.IntN(max(min(limit.Capacity(), 1<<30), 1))
		for _, h := range append(also, h) {
			switch op := n % 5; op {
			default:
				h.Take(key, n)
			case 2:
				h.TakeUpTo(key, n)
			case 3:
				h.Debit(key, n)
			case 4:
				r := h.Reserve(key, n)
				if n%3 == 0 {
					r.Cancel()
				}
			}
		}
		pass(someTime(d, &limit), append(also, h)...)
	}
}

// restart saves a host, and after some down time loads a new one under the
// limit, while the other hosts, which never stop, go on.
func restart(t testing.TB, d dice, h *host, limit gcra.Limit, others ...*host) *host {
	data := saved(t, h.Limiter)
	old := h.Limit()
	pass(someTime(d, &old), append(others, h)...)
	next := newHost(limit, someTime(d, &limit), someTime(d, &limit))
	load(t, next.Limiter, data)
	return next
}

// ticksPer returns the ticks of a token and of a step.
func ticksPer(l gcra.Limit) (token, step int64) {
	return int64(perToken(&l)), gcra.At(&l, -l.Birth(-1)).Tick - gcra.At(&l, 0).Tick
}

// A limiter that is restarted, again and again, equals one that never stops: at
// the load to the tick, but that it may lack one tick more, once a restart; and
// without steps at every later instant too. With steps, which then come by
// another clock, it is in between a step late and a step early.
func restarts(t testing.TB, d dice, limit gcra.Limit) {
	whole := newHost(limit, someTime(d, &limit), 0)
	var h *host
	// Both begin alike, and with the same clock.
	h = newHost(limit, whole.clk.Now(), 0)
	if d.IntN(3) == 0 { // and with the history of another limit
		other := restartLimits[d.IntN(len(restartLimits))]
		for _, h := range []*host{h, whole} {
			h.Limiter = New[int16](other, WithClock(&h.clk), WithShards(1))
		}
		drive(d, h, whole)
		h.SetLimit(limit)
		whole.SetLimit(limit)
	}
	drive(d, h, whole)
	_, step := ticksPer(limit)
	for restarts := range int64(4) {
		if h = restart(t, d, h, limit, whole); whole.ended() {
			return
		}
		for key := range int16(restartKeys) {
			want, got := lacks(whole.Limiter, key), lacks(h.Limiter, key)
			if got < want || got > want+restarts+1 {
				t.Fatalf("%v: after restart %d key %d lacks %d ticks, want %d to %d", &limit, restarts, key, got, want, want+restarts+1)
			}
		}
		for range d.IntN(4) {
			pass(someTime(d, &limit), h, whole)
			if whole.ended() {
				return
			}
			for key := range int16(restartKeys) {
				want, got := lacks(whole.Limiter, key), lacks(h.Limiter, key)
				least, most := want, want+restarts+1
				if limit.Birth(-1) != -1 {
					least, most = max(want-step-1, 0), most+step+1
					if ahead := h.ahead.Load(); ahead.by >= 0 {
						least = want
					}
				}
				if got < least || got > most {
					t.Fatalf("%v: later key %d lacks %d ticks, want %d to %d", &limit, key, got, least, most)
				}
			}
		}
	}
}

// Under another limit, it equals one whose limit was set at that instant.
func replaced(t testing.TB, d dice, limit, next gcra.Limit) {
	h := newHost(limit, someTime(d, &limit), 0)
	drive(d, h)
	loaded := restart(t, d, h, next)
	h.SetLimit(next)
	for key := range int16(restartKeys) {
		want, got := lacks(h.Limiter, key), lacks(loaded.Limiter, key)
		if atEnd(h.Limiter, key) || atEnd(loaded.Limiter, key) {
			continue // more debt than the rest of the range holds, which differs
		}
		if more := got - want; more != 0 && (more != 1 || !sameTicks(&limit, &next)) {
			t.Fatalf("%v, then %v: key %d lacks %d ticks, want %d", &limit, &next, key, got, want)
		}
	}
}

func TestRestartEqualsGoingOn(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		for _, limit := range restartLimits {
			synctest.Test(t, func(t *testing.T) { restarts(t, rng, limit) })
		}
	}
}

func TestLoadUnderAnotherLimitEqualsSetLimit(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		for _, limit := range restartLimits {
			for _, next := range restartLimits {
				synctest.Test(t, func(t *testing.T) { replaced(t, rng, limit, next) })
			}
		}
	}
}

// bytesDice makes a fuzzer's bytes the choices; after them all are 0.
type bytesDice struct{ data []byte }

func (b *bytesDice) IntN(n int) int {
	v := uint64(0)
	for limit := uint64(n - 1); limit > 0 && len(b.data) > 0; limit >>= 8 {
		v, b.data = v<<8|uint64(b.data[0]), b.data[1:]
	}
	return int(v % uint64(n))
}

func FuzzRestart(f *testing.F) {
	f.Add("99/s burst 7", "6/3s burst 10 step 3s", []byte("some history of requests, with times between them"))
	f.Add("999999937/s burst 1000", "0/s burst 3 start 0", []byte{29, 3, 4, 4, 4, 200, 1, 9, 9, 9, 9, 9, 0, 0, 7, 7, 7, 7, 255, 255, 255})
	f.Add("1/24h burst 5 step 24h", "unlimited", bytes.Repeat([]byte{2, 77, 130, 5}, 40))
	f.Fuzz(func(t *testing.T, limit, next string, data []byte) {
		from, err := gcra.Parse(limit)
		if err != nil {
			return
		}
		if to, err := gcra.Parse(next); err == nil {
			synctest.Test(t, func(t *testing.T) { replaced(t, &bytesDice{data}, from, to) })
		}
		synctest.Test(t, func(t *testing.T) { restarts(t, &bytesDice{data}, from) })
	})
}
