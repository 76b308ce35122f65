package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestClasses(t *testing.T) {
	last := -1
	for _, low := range []int64{0, 1, 63, 64, 127, 128, 129, 130, 255, 256, 1000, 123456789, 1 << 40, math.MaxInt64 - 1, math.MaxInt64} {
		c := classOf(uint64(low))
		high := top(c)
		if c < last || high < low || high-low > low/64 {
			t.Errorf("%d is in class %d, up to %d", low, c, high)
		}
		if classOf(uint64(high)) != c || high < math.MaxInt64 && classOf(uint64(high)+1) != c+1 {
			t.Errorf("class %d does not end at %d", c, high)
		}
		last = c
	}
}

func TestQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 3, 10, 999, 1000, 1001, 20000} {
		times := make([]int64, n)
		var a, b histogram
		for i := range times {
			times[i] = r.Int64N(1 << (r.Uint64N(30) + 1))
			if i%3 == 0 {
				a.add(times[i])
			} else {
				b.add(times[i])
			}
		}
		a.merge(&b)
		slices.Sort(times)
		for _, q := range []float64{.5, .99, .999, 1} {
			exact := times[int(math.Ceil(q*float64(n)))-1]
			if got := a.quantile(q); got < exact || got-exact > exact/64 {
				t.Errorf("quantile %v of %d times is %d, want %d", q, n, got, exact)
			}
		}
		if s := a.summary(2); s.Max != 2*times[n-1] || s.Samples != uint64(n) || s.P50 != 2*a.quantile(.5) {
			t.Errorf("%+v", s)
		}
	}
	var h histogram
	if s := h.summary(1); s != (latency{}) {
		t.Errorf("an empty histogram: %+v", s)
	}
	if h.add(-5); h.longest != 0 || h.class[0] != 1 {
		t.Error("a clock that was set back is not a time of 0")
	}
}

func TestCounter(t *testing.T) {
	for _, c := range []counter{newCounter(), {start: time.Now()}} {
		last, moved := c.now(), false
		for start := time.Now(); !moved && time.Since(start) < 10*time.Second; {
			now := c.now()
			moved = now > last
		}
		if unit := c.unit(); !moved || unit <= 0 || c.overhead() < 0 || c.String() == "" {
			t.Errorf("%v: moved %v, unit %v, overhead %v", c, moved, unit, c.overhead())
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, row := range []struct {
		n    int64
		want string
		why  string
	}{
		{0, "0", "none"},
		{999, "999", "one group"},
		{1000, "1 000", "two"},
		{-123, "-123", "a sign is no digit"},
		{-123456, "-123 456", "nor with two groups"},
		{math.MaxInt64, "9 223 372 036 854 775 807", "the largest"},
	} {
		if got := grouped(row.n); got != row.want {
			t.Errorf("grouped(%d) = %q, want %q: %s", row.n, got, row.want, row.why)
		}
	}
	for _, row := range []struct {
		d    time.Duration
		want string
		why  string
	}{
		{0, "0s", "none"},
		{999, "999ns", "exact"},
		{1234, "1.23µs", "three digits"},
		{123456789, "123ms", "of any unit"},
		{90 * time.Minute, "1h30m0s", "long ones are left"},
		{math.MaxInt64, "2562047h47m0s", "the longest"},
	} {
		if got := short(row.d); got != row.want {
			t.Errorf("short(%d) = %q, want %q: %s", row.d, got, row.want, row.why)
		}
	}
	for _, row := range []struct{ key, want, why string }{
		{"10.0.0.1", "10.0.0.1", "harmless"},
		{"Ünïcode/世界", "Ünïcode/世界", "printable"},
		{"a b", `"a b"`, "two words"},
		{"\x1b[2J", `"\x1b[2J"`, "clears a terminal"},
		{"\xff", `"\xff"`, "not UTF-8"},
		{`"a"`, `"\"a\""`, "could be taken for a quoted one"},
		{"\u202eabc", `"\u202eabc"`, "turns the line around"},
		{string(bytes.Repeat([]byte("x"), 100)), string(bytes.Repeat([]byte("x"), 60)) + "...", "long"},
	} {
		if got := plain(row.key); got != row.want {
			t.Errorf("plain(%q) = %s, want %s: %s", row.key, got, row.want, row.why)
		}
	}
}

func TestProgress(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b)
	p.say("%d of %d", 1, 2)
	p.say("2 of 2")
	p.done()
	if got := b.String(); got != "1 of 2\n2 of 2\n" || p.every != time.Second {
		t.Errorf("%q each %v", got, p.every)
	}
	b.Reset()
	p.live = true
	p.say("10 of 10")
	p.say("done")
	p.done()
	p.done()
	if got := b.String(); got != "\r10 of 10\rdone    \r    \r" {
		t.Errorf("on a terminal: %q", got)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p := newProgress(f); p.live {
		t.Error("a file is taken for a terminal")
	}
}
