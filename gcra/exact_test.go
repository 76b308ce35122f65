package gcra_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A history drives one key through the package and through the model, as its
// script says, and compares everything that the two answer.
type history struct {
	spec
	unit  time.Duration // of the clock
	limit gcra.Limit
	model *model
	tat   int64
	now   time.Duration
	last  answer
	held  []gcra.Booking
	seen  map[string]int // what happened how often, if not nil
}

func newHistory(s spec, unit time.Duration) *history {
	h := &history{spec: s, unit: unit, limit: s.limit(), model: newModel(s)}
	h.tat = gcra.Fresh(&h.limit, gcra.At(&h.limit, 0))
	return h
}

// run plays four bytes of script at a time: how to move the clock (and how
// far), what to ask and how much of it.
func (h *history) run(t *testing.T, script []byte) {
	t.Helper()
	if h.tat != h.model.tat() {
		t.Fatalf("%v: a fresh key has TAT %d, want %d", &h.limit, h.tat, h.model.tat())
	}
	for i := 0; len(script) >= 4; i, script = i+1, script[4:] {
		h.now = h.move(script[0], int64(script[1]))
		n := h.cost(script[3])
		if err := h.ask(script[2], n); err != nil {
			t.Fatalf("%v, clock of %v, request %d of %d at %d ns: %v", &h.limit, h.unit, i, n, h.now, err)
		}
	}
}

// move returns the next reading.
func (h *history) move(how byte, far int64) time.Duration {
	m := h.model
	by := func(d *big.Int) time.Duration {
		d.Add(d, num(int64(h.now)))
		if !d.IsInt64() {
			return math.MaxInt64
		}
		return time.Duration(d.Int64()).Truncate(h.unit)
	}
	units := func(n int64) *big.Int { return new(big.Int).Mul(num(n), num(int64(h.unit))) }
	fill := func(tokens, of int64) *big.Int {
		if m.n.Sign() <= 0 {
			return units(tokens)
		}
		d := new(big.Int).Mul(m.p, num(tokens))
		return ceil(d, new(big.Int).Mul(m.n, num(of)))
	}
	switch {
	case how < 40: // the same instant
		return h.now
	case how < 70:
		return by(units(far))
	case how < 100: // about a token
		return by(fill(far, 64))
	case how < 120: // about a bucket
		f := fill(far, 128)
		return by(f.Mul(f, num(max(h.burst, 1))))
	case how < 150: // the tie of the last refusal, or just before
		if h.last.retry != gcra.Never {
			return by(num(int64(h.last.retry) - far%3))
		}
	case how < 165: // the instant at which the bucket is full, or just before
		if h.last.reset != gcra.Never {
			return by(num(int64(h.last.reset) - far%3))
		}
	case how < 180 && h.step > 0: // around a step
		return by(num(int64(h.step) - int64(max(h.now, 0)%h.step) - far%3))
	case how < 240:
		return by(units(far * far * far))
	case how < 246: // a reading older than the last
		return by(units(-far))
	case how < 248: // older than the first
		return time.Duration(-far)
	case how < 250: // the end of the range
		if m.n.Sign() > 0 {
			rate := new(big.Int).Mul(m.n, m.k)
			end := new(big.Int).Sub(m.end, one)
			end = ceil(end.Mul(end, m.p), rate)
			h.now = 0
			return by(end.Add(end, units(far-100)))
		}
	case how == 250:
		return math.MaxInt64 - time.Duration(far)
	case how == 251 && far < 20:
		return math.MinInt64 + time.Duration(far)
	}
	return by(units(1))
}

// cost returns what to ask for.
func (h *history) cost(how byte) int {
	there := int64(h.model.whole(h.model.reading(h.now)))
	n := [...]int64{
		0, 1, 1, 2, 3, h.burst - 1, h.burst, h.burst + 1, h.burst / 2, there - 1, there, there, there + 1,
		-1, math.MinInt, math.MinInt / 3, math.MaxInt, math.MaxInt / 3, int64(how), h.burst * int64(how) / 256,
	}[int(how)%20]
	return int(min(n, math.MaxInt))
}

// ask makes one request on both sides.
func (h *history) ask(how byte, n int) error {
	at := gcra.At(&h.limit, h.now)
	if want := h.model.reading(h.now); num(at.Tick).Cmp(want) != 0 || at.Elapsed != h.now {
		return fmt.Errorf("read as %+v, want tick %d", at, want)
	} else if want == h.model.end && h.n > 0 {
		h.count("At", "the end")
	}
	before := h.tat
	var d gcra.Decision
	var want answer
	var err error
	kind := ""
	switch {
	case how < 90:
		kind, want = "Take", h.model.take(h.now, n)
		next, ok := gcra.Allow(&h.limit, h.tat, at, n)
		h.tat, d = gcra.Take(&h.limit, h.tat, at, n)
		if ok != d.OK() || ok && next != h.tat {
			err = fmt.Errorf("Allow: %v and TAT %d, beside Take: %v and %d", ok, next, d.OK(), h.tat)
		}
	case how < 140:
		kind, want = "TakeUpTo", h.model.takeUpTo(h.now, n)
		h.tat, d = gcra.TakeUpTo(&h.limit, h.tat, at, n)
	case how < 170:
		kind, want = "Peek", h.model.peek(h.now, n)
		d = gcra.Peek(&h.limit, h.tat, at, n)
	case how < 180:
		kind, want = "Refuse", h.model.refuse(h.now, n)
		want.tat = h.tat // nothing is written
		d = gcra.Refuse(&h.limit, at, n)
	case how < 230:
		kind = "Book"
		d, want, err = h.book(at, how, n)
	default:
		return h.giveBack(at, how, n)
	}
	h.last = want
	h.count(kind, d.Err())
	if d.OK() && d.Granted() < n {
		h.count(kind, "in part")
	}
	switch got, most := answered(h.tat, d), math.MaxInt64-h.burst*h.model.k.Int64(); {
	case err != nil:
		return err
	case got != want:
		return fmt.Errorf("%s: %v; want %v", kind, got, want)
	case d.OK() != (want.err == nil):
		return fmt.Errorf("%s: OK is %v beside %v", kind, d.OK(), want.err)
	case d.Limit() != h.limit:
		return fmt.Errorf("%s: Limit is %v", kind, d.Limit())
	case h.tat < before || h.tat > most:
		return fmt.Errorf("%s moved the TAT from %d to %d of at most %d", kind, before, h.tat, most)
	}
	return nil
}

func (h *history) book(at gcra.Instant, how byte, n int) (gcra.Decision, answer, error) {
	late := []time.Duration{0, 1, h.unit * time.Duration(how), time.Hour, gcra.Never}[how%5]
	from := gcra.Schedule(&h.limit, h.tat, at, late)
	if want := h.model.schedule(h.now, late, h.tat); num(from).Cmp(want) != 0 {
		return gcra.Decision{}, answer{}, fmt.Errorf("%v late, a waiter books from %d, want %d", late, from, want)
	}
	switch {
	case from < at.Tick:
		h.count("Book", "on schedule")
	case how%4 == 0 && h.n > 0: // just from an older instant
		from = max(from-int64(how), 1)
	}
	want, says := h.model.book(h.now, num(from), n)
	b, d := gcra.Book(&h.limit, h.tat, at, from, n)
	if d.OK() {
		h.tat, h.held = b.End, append(h.held, b)
	}
	if b != want {
		return d, says, fmt.Errorf("booked %+v, want %+v", b, want)
	}
	wait := gcra.Until(&h.limit, b.Slot, at)
	if want := h.model.until(num(b.Slot), h.now); wait != want {
		return d, says, fmt.Errorf("the slot %d is %d ns away, want %d", b.Slot, wait, want)
	}
	if wait > 0 {
		h.count("Book", "later")
	}
	return d, says, nil
}

func (h *history) giveBack(at gcra.Instant, how byte, n int) error {
	if len(h.held) == 0 {
		return nil
	}
	i, before := int(how)%len(h.held), h.tat
	b := h.held[i]
	h.held = slices.Delete(h.held, i, i+1)
	h.tat = gcra.GiveBack(&h.limit, h.tat, at, b, n)
	if want := h.model.giveBack(h.now, b, n); h.tat != want {
		return fmt.Errorf("GiveBack of %+v from TAT %d left %d, want %d", b, before, h.tat, want)
	}
	if h.tat > before || h.tat < min(before, at.Tick) {
		return fmt.Errorf("GiveBack at tick %d moved the TAT from %d to %d", at.Tick, before, h.tat)
	}
	h.count("GiveBack", h.tat < before)
	return nil
}

func (h *history) count(kind string, outcome any) {
	if h.seen != nil {
		h.seen[fmt.Sprint(kind, " ", outcome)]++
	}
}

var rates = []spec{
	{n: 1, period: 24 * time.Hour}, {n: 3, period: 24 * time.Hour}, {n: 5000, period: time.Hour},
	{n: 7, period: time.Minute}, {n: 100, period: time.Minute}, {n: 1, period: time.Second},
	{n: 2, period: time.Second}, {n: 3, period: time.Second}, {n: 33, period: time.Second},
	{n: 99, period: time.Second}, {n: 100, period: time.Second}, {n: 4999, period: time.Second},
	{n: 1_500_000, period: time.Second}, {n: 3e8, period: time.Second}, {n: 7e8, period: time.Second},
	{n: 999_999_937, period: time.Second}, {n: 1_250_000_000, period: time.Second}, // 10 Gbit/s in bytes
	{n: 9_990_000_000, period: time.Second}, {n: 10, period: time.Nanosecond}, // 10 GB/s
	{n: 999, period: time.Microsecond}, {n: 33, period: time.Nanosecond}, {n: 64, period: time.Nanosecond},
	{n: 997, period: 1 << 58}, {n: math.MaxInt64, period: 1 << 58}, {n: 0, period: time.Second},
}

var bursts = []int64{1, 2, 3, 10, 99, 1000, 65536, 999_983, 1e9, 1 << 60}

// TestExact plays random histories for every pair of rate and burst, on clocks
// of nanoseconds, microseconds and milliseconds, continuous and in steps.
func TestExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	script := make([]byte, 4*40)
	seen := map[string]int{}
	play := func(s spec, unit time.Duration) {
		if !s.fits() {
			return
		}
		for i := range script {
			script[i] = byte(rng.Uint32())
		}
		h := newHistory(s, unit)
		h.seen = seen
		h.run(t, script)
	}
	for _, unit := range []time.Duration{time.Nanosecond, time.Microsecond, time.Millisecond} {
		for _, r := range rates {
			for _, burst := range bursts {
				interval := max(r.period/time.Duration(max(r.n, 1)), 1)
				for _, step := range []time.Duration{0, unit * 1000, interval, interval * 7 / 2} {
					play(spec{r.n, r.period, burst, []int64{full, 0, burst / 2}[rng.IntN(3)], step}, unit)
				}
			}
		}
		for range 20 {
			play(spec{}, unit)
			play(spec{period: -1}, unit)
		}
		for range 200 { // and between the pairs
			s := per(rng.Int64()>>rng.IntN(63), time.Duration(rng.Int64()>>rng.IntN(63)), 1+rng.Int64N(1e9)>>rng.IntN(30))
			if s.step = time.Duration(rng.Int64N(2) * rng.Int64() >> rng.IntN(63)); s.legal() {
				play(s, unit)
			}
		}
	}
	// A history proves nothing about what does not happen in it.
	for _, kind := range []string{"Take", "TakeUpTo", "Peek", "Refuse", "Book"} {
		for _, err := range []error{nil, gcra.ErrLimited, gcra.ErrExceedsBurst, gcra.ErrCost} {
			if what := fmt.Sprint(kind, " ", err); seen[what] < 100 && what != "TakeUpTo "+gcra.ErrExceedsBurst.Error() {
				t.Errorf("%q happened %d times", what, seen[what])
			}
		}
	}
	for _, what := range []string{"At the end", "TakeUpTo in part", "Book later", "Book on schedule",
		"GiveBack true", "GiveBack false"} {
		if seen[what] < 100 {
			t.Errorf("%q happened %d times", what, seen[what])
		}
	}
	t.Log(seen)
}

// FuzzExact does the same with limits and histories that the fuzzer makes up;
// whether a limit can be made at all is compared too.
func FuzzExact(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i, r := range rates {
		script := make([]byte, 4*20)
		for j := range script {
			script[j] = byte(rng.Uint32())
		}
		f.Add(r.n, int64(r.period), bursts[i%len(bursts)], int64(i%3-1), int64(i%2*1e6), uint8(i), script)
	}
	f.Fuzz(func(t *testing.T, n, period, burst, start, step int64, unit uint8, script []byte) {
		s := spec{n, time.Duration(period), burst, max(start, full), time.Duration(max(step, 0))}
		if !s.fits() {
			t.Skip("beyond this platform's int")
		}
		if s.period != 0 && s.period != -1 {
			if made := panics(func() { s.limit() }) == nil; made != s.legal() {
				t.Fatalf("%+v: made is %v", s, made)
			}
		}
		switch {
		case s.period == 0 || s.period == -1:
			s = spec{period: s.period}
		case !s.legal():
			return
		}
		clock := []time.Duration{time.Nanosecond, time.Microsecond, time.Millisecond}[unit%3]
		newHistory(s, clock).run(t, script[:min(len(script), 4*100)])
	})
}

func panics(f func()) (with any) {
	defer func() { with = recover() }()
	f()
	return nil
}
