package main

import (
	"math"
	"math/rand/v2"
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
