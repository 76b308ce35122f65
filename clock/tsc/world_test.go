package tsc

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// A world is a machine in simulated time: a source whose counter and system's
// clock do what a test wants.
type world struct {
	rng   *rand.Rand
	ns    int64  // the true time, which is what the system's clock reads
	at    uint64 // the counter
	part  uint64 // of a count, in 2^-32
	freq  uint64 // counts per ns, in 2^-32
	stall float64
	meet  func() // what happens before the counter is read, once
	board board
}

const cyclesPerNs = 2.6

func newWorld(seed uint64, at uint64) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 7)), at: at}
	w.ppm(0)
	return w
}

// ppm makes the counter faster than nominal by so many millionths.
func (w *world) ppm(p float64) { w.freq = uint64(cyclesPerNs * (1 + p/1e6) * (1 << 32)) }

// pass lets time pass.
func (w *world) pass(ns int64) {
	w.ns += ns
	hi, lo := bits.Mul64(uint64(ns), w.freq)
	lo, carry := bits.Add64(lo, w.part, 0)
	w.at += (hi+carry)<<32 + lo>>32
	w.part = lo & (1<<32 - 1)
}

func (w *world) count() uint64 {
	if meet := w.meet; meet != nil {
		w.meet = nil
		meet()
	}
	w.pass(7)
	return w.at
}

func (w *world) system() int64 {
	w.hiccup()
	w.pass(10 + w.rng.Int64N(20))
	ns := w.ns
	w.pass(10)
	w.hiccup()
	return ns
}

// hiccup stops the goroutine now and then.
func (w *world) hiccup() {
	if w.rng.Float64() < w.stall {
		w.pass(w.rng.Int64N(10e6))
	}
}

// now is Clock.Now on this machine.
func (w *world) now() int64 {
	if now, ok := w.board.read(w.count()); ok {
		return now
	}
	return w.board.renew(w)
}

// gap returns a time between two readings: any size is as likely as any other.
func (w *world) gap(most float64) int64 {
	return int64(10 * math.Exp(w.rng.Float64()*math.Log(most/10)))
}

// lives returns the nominal time of so many lives of a line.
func lives(n float64) int64 { return int64(n * life / cyclesPerNs) }

// begin calibrates the world's clock, as New does.
func (w *world) begin(t *testing.T) *world {
	t.Helper()
	first, err := calibrate(w)
	if err != nil {
		t.Fatal(err)
	}
	w.board.start(first)
	return w
}

// lines returns how many have been drawn after the first.
func (w *world) lines() uint64 { return w.board.cur.Load() / slots }
