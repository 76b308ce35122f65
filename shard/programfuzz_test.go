package shard

import (
	"math/rand/v2"
	"testing"
)

// play does what the bytes say, to the last one.
func play(t *testing.T, data []byte) {
	p := newProgram(data)
	for step := 0; len(p.d.data) > 0; step++ {
		if err := p.step(); err != nil {
			t.Fatalf("step %d at %v: %v", step, p.clk.Now(), err)
		}
	}
	for _, pair := range p.pairs {
		for _, a := range pair {
			if err := a.audit(p.clk.Now()); err != nil {
				t.Fatalf("at the end, at %v under %v: %v", p.clk.Now(), a.m.limit, err)
			}
		}
	}
}

// FuzzProgram reads no more than the first longest bytes: Go's minimiser plays as
// many programs as the square of their number, for each input that it keeps.
// TestPrograms plays longer ones.
func FuzzProgram(f *testing.F) {
	const longest = 100
	f.Fuzz(func(t *testing.T, data []byte) { play(t, data[:min(len(data), longest)]) })
}

// TestPrograms plays random programs of some 400 operations.
func TestPrograms(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{'p'})
	for range fewer(200) {
		data := make([]byte, 2048)
		rng.Read(data)
		if play(t, data); t.Failed() {
			return
		}
	}
}
