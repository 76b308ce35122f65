package redislimit_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/weir-go/weir/contrib/redislimit"
	"github.com/weir-go/weir/gcra"
)

// FuzzTerms compares a limit's numbers with rational ones: the time of n tokens,
// exactly, and the tokens that are missing after some, as gcra counts them.
func FuzzTerms(f *testing.F) {
	f.Fuzz(func(t *testing.T, n, period, burst, cost, w, r int64) {
		if n < 0 || period <= 0 || period > 1<<58 || burst < 1 || burst >= 1<<52 || n > 0 && (n-1)/64 >= period {
			return
		}
		limit := gcra.Per(int(n), time.Duration(period)).Burst(int(burst))
		m, d, ok := redislimit.Terms(limit)
		if !ok {
			return
		}
		micro := new(big.Rat).SetFrac(big.NewInt(period), new(big.Int).Mul(big.NewInt(max(n, 1)), big.NewInt(1000)))
		if n == 0 {
			micro.SetInt64(1)
		}
		if micro.Cmp(new(big.Rat).SetFrac(new(big.Int).SetUint64(m), new(big.Int).SetUint64(d))) != 0 {
			t.Fatalf("%v: a token takes %d/%d µs, want %v", limit, m, d, micro)
		}
		c := uint64(cost) % uint64(burst+1)
		gotW, gotR := redislimit.TimeOf(limit, c)
		got := new(big.Rat).SetFrac(new(big.Int).SetUint64(gotR), new(big.Int).SetUint64(d))
		got.Add(got, new(big.Rat).SetInt(new(big.Int).SetUint64(gotW)))
		want := new(big.Rat).Mul(micro, new(big.Rat).SetInt(new(big.Int).SetUint64(c)))
		if got.Cmp(want) != 0 || gotR >= d {
			t.Fatalf("%v: %d tokens take %d + %d/%d µs, want %v", limit, c, gotW, gotR, d, want)
		}
		// What is missing, up to two bursts.
		lw, lr := uint64(w)%(1<<51), uint64(r)%d
		missing := new(big.Rat).SetFrac(new(big.Int).SetUint64(lr), new(big.Int).SetUint64(d))
		missing.Add(missing, new(big.Rat).SetInt(new(big.Int).SetUint64(lw))).Quo(missing, micro)
		if missing.Cmp(new(big.Rat).SetInt64(2*burst)) > 0 {
			return
		}
		left := new(big.Rat).Sub(big.NewRat(burst, 1), missing)
		wantLeft := int64(0)
		if left.Sign() > 0 {
			wantLeft = new(big.Int).Quo(left.Num(), left.Denom()).Int64()
		}
		dec := redislimit.Lacking(limit, lw, lr, int(wantLeft))
		if dec.Remaining() != int(wantLeft) || !dec.OK() {
			t.Fatalf("%v lacks %v tokens: %d remain, ok %v; want %d", limit, missing, dec.Remaining(), dec.OK(), wantLeft)
		}
		if wantLeft < burst && redislimit.Lacking(limit, lw, lr, int(wantLeft)+1).OK() {
			t.Fatalf("%v lacks %v tokens and grants %d", limit, missing, wantLeft+1)
		}
	})
}

// TestBeyondRange: debts that gcra cannot express are told as the longest that it can.
func TestBeyondRange(t *testing.T) {
	for _, text := range []string{"1/s burst 1", "64/ns burst 1000", "0/s burst 3", "1/36501h burst 2", "999999937/s burst 7"} {
		d := redislimit.Lacking(limitOf(t, text), 1<<53-1, 0, 1)
		if d.OK() || d.Remaining() != 0 || d.RetryAfter() < 24*time.Hour || d.ResetAfter() < d.RetryAfter() {
			t.Errorf("%s: ok %v, %d left, retry after %v, reset after %v", text, d.OK(), d.Remaining(), d.RetryAfter(), d.ResetAfter())
		}
	}
}
