package tsc

import (
	"testing"
)

const (
	ms = 1_000_000
	s  = 1000 * ms
)

func TestRateFrom(t *testing.T) {
	for _, row := range []struct {
		old, new reading
		want     rate
		ok       bool
		why      string
	}{
		{reading{5, 7}, reading{5 + life, 7 + 50*ms}, 50 * ms << fracBits, true, "a life"},
		{reading{0, 0}, reading{life / 2, 25 * ms}, 50 * ms << fracBits, true, "half of one"},
		{reading{0, 0}, reading{3 << 45, 3 << 44}, life << fracBits / 2, true, "hours at 2 GHz"},
		{reading{0, 0}, reading{1 << 20, 1 << 22}, slowest, true, "the slowest"},
		{reading{0, 0}, reading{1<<20 - 1, 1 << 22}, slowest + slowest>>20, false, "slower"},
		{reading{0, 0}, reading{32 << 20, 1 << 20}, fastest, true, "the fastest"},
		{reading{0, 0}, reading{1 << 40, 1 << 30}, 0, false, "a counter that jumped on"},
		{reading{9, 0}, reading{9, 50 * ms}, 0, false, "a counter that stands"},
		{reading{9, 0}, reading{8, 50 * ms}, 0, false, "a counter that went back"},
		{reading{0, 9}, reading{life, 9}, 0, false, "a clock that stands"},
		{reading{0, 0}, reading{1, 1 << 62}, 0, false, "a counter as good as standing: no overflow"},
	} {
		got, ok := row.new.rateFrom(row.old)
		if ok != row.ok || ok && got != row.want {
			t.Errorf("from %v to %v: %d, %v, want %d, %v: %s", row.old, row.new, got, ok, row.want, row.ok, row.why)
		}
	}
}

// TestNext has lines that followed one that began at count 1000 and 1 s, for a
// life of 50 ms.
func TestNext(t *testing.T) {
	const r = 50 * ms << fracBits
	old := line{count: 1000, now: s, span: 50 * ms, sys: s, rate: r}
	ahead := line{count: 1000, now: s + 20*ms, span: 30 * ms, sys: s, rate: r}
	doubting := old
	doubting.doubt = 2 * r
	for _, row := range []struct {
		old  line
		r    reading
		want line
		why  string
	}{
		{old, reading{1000 + life, s + 50*ms},
			line{1000 + life, s + 50*ms, 50 * ms, s + 50*ms, r, 0}, "on time"},
		{old, reading{1000 + life, s + 50*ms + 800},
			line{1000 + life, s + 50*ms + 800, 50*ms + 50, s + 50*ms + 800, r + 50<<fracBits, 0}, "behind: up at once, and a 16th of it learnt"},
		{old, reading{1000 + life, s + 50*ms - 800},
			line{1000 + life, s + 50*ms, 50*ms - 850, s + 50*ms - 800, r - 50<<fracBits, 0}, "ahead: less to go in this life"},
		{ahead, reading{1000 + life, s + 50*ms},
			line{1000 + life, s + 50*ms, 50 * ms, s + 50*ms, r, 0}, "it was ahead: gone"},
		{old, reading{1000 + 1<<37, s + 60*ms},
			line{1000 + 1<<37, s + 60*ms, 50 * ms, s + 60*ms, r, 0}, "the counter jumped on: nothing learnt"},
		{old, reading{1000 + life, s + 10*ms},
			line{1000 + life, s + 50*ms, 10 * ms, s + 10*ms, r, 10 * ms << fracBits}, "a jump that could be another rate: not above a life after the time, and a doubt"},
		{old, reading{3, s + 10*ms},
			line{3, s + 50*ms, 10 * ms, s + 10*ms, r, 0}, "the counter began anew"},
		{old, reading{1000 + life, s + 100*ms},
			line{1000 + life, s + 100*ms, 50 * ms, s + 100*ms, r, 2 * r}, "a counter half as fast, or it stood for a while"},
		{doubting, reading{1000 + life, s + 100*ms},
			line{1000 + life, s + 100*ms, 100 * ms, s + 100*ms, 2 * r, 0}, "once more: it is half as fast"},
		{doubting, reading{1000 + life, s + 50*ms},
			line{1000 + life, s + 50*ms, 50 * ms, s + 50*ms, r, 0}, "not again: forgotten"},
		{old, reading{1000 + life, s - 1},
			line{1000 + life, s + 50*ms, 0, s - 1, r, 0}, "the system's clock went back: it stands and waits"},
	} {
		if got := row.old.next(row.r); got != row.want {
			t.Errorf("after %+v\nat %+v\ngot  %+v\nwant %+v: %s", row.old, row.r, got, row.want, row.why)
		}
	}
}

// TestLineKeepsToItsReadings is what the argument of the package doc rests on.
func TestLineKeepsToItsReadings(t *testing.T) {
	for _, span := range []int64{0, 1, 2, 27*ms + 1, 52*ms - 1, 134 * ms, int64(slowest >> fracBits)} {
		l := line{now: s, span: span}
		last := l.now
		for since := uint64(0); since < life; since += 1 + since/64 {
			now := l.at(since)
			if now < last || now > l.end() {
				t.Fatalf("span %d, count %d: %d, after %d and before the end %d", span, since, now, last, l.end())
			}
			last = now
		}
		if now := l.at(life - 1); now < l.end()-2-span/life {
			t.Errorf("span %d: reads %d at last, and should come to %d", span, now, l.end())
		}
	}
}
