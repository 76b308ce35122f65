package advise_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/advise"
	"github.com/weir-go/weir/cmd/weir/internal/brute"
	"github.com/weir-go/weir/cmd/weir/internal/logs"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/exact"
)

// traffic is random requests, whose times are multiples of unit.
func traffic(r *rand.Rand, n, keys int, unit, mean int64, largest int) (all []brute.Request) {
	at := int64(1_767_600_000e9)
	for range n {
		if r.IntN(3) > 0 {
			at += r.Int64N(2*mean/unit+1) * unit
		}
		cost := int64(1)
		if largest > 1 {
			cost = int64(r.IntN(largest + 1))
		}
		all = append(all, brute.Request{At: at, Key: "k" + strconv.Itoa(r.IntN(1+r.IntN(keys))), Cost: cost})
	}
	all[0].Cost = 1 // something costs something
	return all
}

func advised(t *testing.T, all []brute.Request, o advise.Options) *advise.Result {
	t.Helper()
	a := advise.New(o)
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, r := range all {
		if err := a.Add(&logs.Record{Time: r.At, Keys: [][]byte{[]byte(r.Key)}, Costs: []int64{r.Cost}}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := a.Result(&logs.Summary{Tick: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func rates(t *testing.T, s string) []advise.Rate {
	t.Helper()
	all, err := advise.ParseRates(s)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSmallestBurst is the claim of the command: with the burst that is told a replay refuses nothing, and with one token
// less something. The replay is the exact model's, in math/big, also at rates at which readings are rounded to ticks.
func TestSmallestBurst(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	all := rates(t, "1/d,7/h,1/m,13/11s,1/s,3/s,99/s,1000/s,12345/s,999999937/s")
	tight := 0
	for round := range 30 {
		records := traffic(r, 300, 12, 1+r.Int64N(1e6), []int64{1e3, 1e6, 1e9}[round%3], []int{1, 7, 1000}[round/3%3])
		got := advised(t, records, advise.Options{Rates: all})
		if len(got.Curve)+len(got.Skipped) != len(all) || len(got.Skipped) > 0 && (got.Skipped[0] != "1/d" || len(got.Skipped) > 1 || got.Tokens < 13343) {
			t.Fatalf("%d points and %v for %d rates", len(got.Curve), got.Skipped, len(all)) // 13343 tokens a day are 2^60 ns
		}
		for _, p := range got.Curve {
			l := gcra.Per(int(p.N), p.Period).Burst(int(p.Max))
			if n := refusedByModel(t, records, l); n != 0 {
				t.Fatalf("round %d: %v refuses %d", round, l, n)
			}
			if p.Max > 1 {
				tight++
				l = l.Burst(int(p.Max - 1))
				if refusedByModel(t, records, l) == 0 {
					t.Fatalf("round %d: %v refuses nothing either", round, l)
				}
			}
		}
	}
	if tight < 200 {
		t.Errorf("%d bursts above 1 prove little", tight)
	}
}

func refusedByModel(t *testing.T, records []brute.Request, l gcra.Limit) (n int) {
	t.Helper()
	s, err := exact.SpecOf(l)
	if err != nil {
		t.Fatal(err)
	}
	m := exact.New(s, records[0].At)
	for _, r := range records {
		if m.Take(r.Key, r.At, int(r.Cost)).Err != nil {
			n++
		}
	}
	return n
}

// TestTotals has numbers that were worked out by hand.
func TestTotals(t *testing.T) {
	at := func(ms int64, key string, cost int64) brute.Request {
		return brute.Request{At: ms * 1e6, Key: key, Cost: cost}
	}
	got := advised(t, []brute.Request{at(-500, "b", 3), at(-100, "b", 2), at(0, "b", 1), at(10, "a", 4), at(999, "a", 1), at(1000, "b", 0)}, advise.Options{})
	if got.Requests != 6 || got.Tokens != 11 || got.Keys != 2 || got.Largest != 4 || got.Busiest != (advise.KeyTokens{"b", 6}) {
		t.Errorf("%+v", got)
	}
	if want := (advise.Second{time.Unix(-1, 0).UTC(), 5, "b"}); got.Peak != want {
		t.Errorf("peak %+v, want %+v: of two equal ones the first", got.Peak, want)
	}
	if want := (advise.Second{time.Unix(0, 0).UTC(), 6, ""}); got.PeakAll != want {
		t.Errorf("peak of all %+v, want %+v", got.PeakAll, want)
	}
}

func TestNothing(t *testing.T) {
	if got := advised(t, nil, advise.Options{}); got.Requests != 0 || len(got.Curve) != 0 || len(got.Advice) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
	if got := advised(t, []brute.Request{{At: 5, Key: "a"}, {At: 7, Key: "a"}}, advise.Options{}); got.Requests != 2 || len(got.Curve) != 0 {
		t.Errorf("of costs of nothing: %+v", got)
	}
	huge := advised(t, []brute.Request{{At: 5, Key: "a", Cost: 1 << 62}, {At: 6, Key: "a", Cost: 1 << 62}}, advise.Options{})
	if len(huge.Curve) != 0 || len(huge.Advice) != 0 {
		t.Errorf("no limit has that burst: %+v", huge)
	}
	one := advised(t, []brute.Request{{At: 5, Key: "a", Cost: 1}}, advise.Options{})
	if len(one.Curve) != 1 || one.Curve[0].Max != 1 || one.Advice[0].Limit.Capacity() != 1 {
		t.Errorf("of one request: %+v", one)
	}
}

func TestLeftOut(t *testing.T) {
	var all []brute.Request
	for i := range 10 {
		all = append(all, brute.Request{At: int64(i), Key: strconv.Itoa(i % 5), Cost: 1})
	}
	if got := advised(t, all, advise.Options{MaxKeys: 3}); got.Keys != 3 || got.LeftOut != 4 || got.Requests != 6 {
		t.Errorf("%+v", got)
	}
}

// TestMemoryDoesNotMatter advises with much and with little memory.
func TestMemoryDoesNotMatter(t *testing.T) {
	records := traffic(rand.New(rand.NewPCG(21, 22)), 2000, 50, 1e6, 1e8, 5)
	o := advise.Options{Refuse: share(t, 1)}
	much := advised(t, records, o)
	o.Memory = 1
	little := advised(t, records, o)
	if little.Spooled == 0 {
		t.Error("nothing was spooled")
	}
	little.Spooled = 0
	if !reflect.DeepEqual(much, little) {
		t.Errorf("%+v\n%+v", much, little)
	}
}

func TestAnonymous(t *testing.T) {
	got := advised(t, []brute.Request{{At: 5, Key: "secret", Cost: 1}, {At: 5, Key: "secret", Cost: 1}}, advise.Options{Text: func(key []byte) string {
		return fmt.Sprint(len(bytes.TrimSpace(key)))
	}})
	if text := fmt.Sprintf("%+v", got); bytes.Contains([]byte(text), []byte("secret")) {
		t.Error(text)
	}
}
