package replay

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/brute"
	"github.com/weir-go/weir/cmd/weir/internal/logs"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/exact"
)

func specsOf(t *testing.T, texts ...string) (all []Spec) {
	t.Helper()
	for _, text := range texts {
		s, err := ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// play gives records to an engine. Each has a key for every kind that the engine wants, and a cost likewise.
func play(t *testing.T, specs []Spec, o Options, records []logs.Record) (*Engine, *Result) {
	t.Helper()
	e, err := New(specs, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		if err := e.Add(&records[i]); err != nil {
			t.Fatal(err)
		}
	}
	return e, e.Result(&logs.Summary{})
}

// traffic is random requests of two kinds of key and one cost. Times are multiples of unit.
func traffic(r *rand.Rand, n, keys int, unit, mean int64, largest int) (all []logs.Record) {
	at := int64(1_767_600_000e9)
	for range n {
		if r.IntN(3) > 0 { // many at one instant
			at += r.Int64N(2*mean/unit+1) * unit
		}
		cost := int64(1)
		if largest > 1 {
			cost = int64(r.IntN(largest + 1))
		}
		key := []byte("k" + strconv.Itoa(r.IntN(1+r.IntN(keys))))
		all = append(all, logs.Record{Time: at, Keys: [][]byte{key, key[:min(len(key), 2)]}, Costs: []int64{cost}})
	}
	return all
}

// count is what a Verdict has to be, of the outcomes of an independent engine.
func count(records []logs.Record, kind int, refused func(i int) (is, never bool, wait int64)) (v Verdict) {
	type tally struct{ asked, refused int64 }
	keys := map[string]*tally{}
	for i := range records {
		k := keys[string(records[i].Keys[kind])]
		if k == nil {
			k = &tally{}
			keys[string(records[i].Keys[kind])] = k
		}
		k.asked++
		is, never, wait := refused(i)
		if !is {
			v.Granted++
			v.GrantedTokens += records[i].Costs[0]
			continue
		}
		v.Refused++
		v.RefusedTokens += records[i].Costs[0]
		k.refused++
		if never {
			v.Never++
		} else {
			v.LongestWait = max(v.LongestWait, time.Duration(wait))
		}
	}
	v.Keys, v.KeysAtMost = int64(len(keys)), int64(len(keys))
	v.MostRefused = []KeyCount{}
	for key, k := range keys {
		if k.refused > 0 {
			v.RefusedKeys++
			v.MostRefused = append(v.MostRefused, KeyCount{key, k.refused, k.asked})
		}
	}
	v.RefusedKeysMost = v.RefusedKeys
	slices.SortFunc(v.MostRefused, func(a, b KeyCount) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(a.Key, b.Key))
	})
	v.MostRefused = v.MostRefused[:min(len(v.MostRefused), 10)]
	return v
}

// sameCounts compares what is counted.
func sameCounts(t *testing.T, what string, got, want Verdict) {
	t.Helper()
	got.Name, got.Key, got.Cost, got.Limit = "", "", "", gcra.Limit{}
	got.Forgotten, want.Forgotten = 0, 0
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: %+v, want %+v", what, got, want)
	}
}

var texts = []string{
	"1/s burst 1", "3/s burst 5", "99/s burst 99 start 7", "100000/m burst 20000", "7/d burst 3", "0/s burst 4", "unlimited", "none",
	"6/3s burst 10 step 3s start 0", "999999937/s burst 1000", "13/11us burst 4 step 17us", "7/h burst 900000000000000000",
}

// TestDecides holds several limits side by side against the exact model, decision by decision, with few rows and with enough.
func TestDecides(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	forgotten := int64(0)
	for round := range 40 {
		records := traffic(r, 600, 40, 1+r.Int64N(1e6), []int64{1e3, 1e6, 1e9, 1e10}[round%4], []int{1, 6}[round/4%2])
		var used []string
		for _, text := range texts {
			if _, err := gcra.Parse(text); err == nil { // 32 bits take fewer
				used = append(used, text)
			}
		}
		for _, most := range []int{0, 25} { // keys
			specs := specsOf(t, used...)
			e, got := play(t, specs, Options{MaxKeys: most}, records)
			if e.tables[0].unstored > 0 {
				continue // limits that never refill keep every key
			}
			forgotten += got.Limits[0].Forgotten
			for i := range specs {
				sameCounts(t, fmt.Sprintf("round %d, %s", round, used[i]), got.Limits[i], modelled(t, specs[i].Limit, records))
			}
		}
		// One limit that refills, and room for few keys: they are forgotten, and nothing changes but the counting.
		specs := specsOf(t, "2/s burst 2")
		_, got := play(t, specs, Options{MaxKeys: 25}, records)
		forgotten += got.Limits[0].Forgotten
		want := modelled(t, specs[0].Limit, records)
		if v := got.Limits[0]; v.Unstored == 0 && (v.Granted != want.Granted || v.Refused != want.Refused || v.LongestWait != want.LongestWait ||
			v.RefusedKeys != want.RefusedKeys || v.Keys > want.Keys || v.KeysAtMost < want.Keys) {
			t.Fatalf("round %d: %+v, want %+v", round, v, want)
		}
	}
	if forgotten < 1000 {
		t.Errorf("%d keys were forgotten, which proves little", forgotten)
	}
}

func modelled(t *testing.T, l gcra.Limit, records []logs.Record) Verdict {
	t.Helper()
	s, err := exact.SpecOf(l)
	if err != nil {
		t.Fatal(err)
	}
	m := exact.New(s, records[0].Time)
	return count(records, 0, func(i int) (bool, bool, int64) {
		a := m.Take(string(records[i].Keys[0]), records[i].Time, int(records[i].Costs[0]))
		return a.Err != nil, a.Retry == gcra.Never, int64(a.Retry)
	})
}

// TestJoint holds joint limits on two kinds of key against buckets in math/big.
func TestJoint(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	both, named := 0, [3]int64{}
	for round := range 60 {
		records := traffic(r, 500, 30, 1e6, []int64{1e7, 1e8, 1e9}[round%3], []int{1, 5}[round%2])
		specs := specsOf(t, "2/s burst 3", "group: 5/s burst 4", "10/m burst 20")
		limits := []brute.Limit{{N: 2, Period: 1e9, Burst: 3}, {N: 5, Period: 1e9, Burst: 4}, {N: 10, Period: 60e9, Burst: 20}}
		kinds := []int{0, 1, 0}
		_, got := play(t, specs, Options{Joint: true}, records)
		views := make([][]brute.Request, 3)
		for i, kind := range kinds {
			for _, rec := range records {
				views[i] = append(views[i], brute.Request{At: rec.Time, Key: string(rec.Keys[kind]), Cost: rec.Costs[0]})
			}
		}
		out, who := brute.Joint(views, limits)
		for i, kind := range kinds {
			want := count(records, kind, func(j int) (bool, bool, int64) {
				return who[j] == i, out[j].Never, out[j].Wait
			})
			v := got.Limits[i]
			want.Granted, want.GrantedTokens = got.Together.Granted, got.Together.GrantedTokens
			sameCounts(t, fmt.Sprintf("round %d, limit %d", round, i), v, want)
			named[i] += v.Refused
		}
		all := count(records, 0, func(j int) (bool, bool, int64) { return out[j].Refused, out[j].Never, out[j].Wait })
		v := got.Together
		if v.Granted != all.Granted || v.Refused != all.Refused || v.Never != all.Never || v.LongestWait != all.LongestWait ||
			v.GrantedTokens != all.GrantedTokens || v.RefusedTokens != all.RefusedTokens {
			t.Fatalf("round %d: %+v, want %+v", round, v, all)
		}
		both += int(v.Refused)
	}
	if both < 1000 || named[0] < 100 || named[1] < 100 || named[2] < 100 {
		t.Errorf("refused %d, by %v, which proves little", both, named)
	}
}

// TestNamed holds the limit that is named as the refusal against the one that package gcra names, of limits of which some
// never refill and some are always too small.
func TestNamed(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	texts := []string{"0/s burst 4", "1/s burst 2", "2/s burst 5", "3/m burst 5"}
	never := 0
	for range 300 {
		r.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
		specs := specsOf(t, texts...)
		records := traffic(r, 20, 2, 1e6, 3e8, 4)
		e, err := New(specs, Options{Joint: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			before := make([]int64, len(specs))
			for j := range specs {
				before[j] = e.Refused(j)
			}
			e.Add(&records[i])
			both := e.limits[0].d
			for j := range specs[1:] {
				both = gcra.Both(both, e.limits[j+1].d)
			}
			for j := range specs {
				if named := e.Refused(j) > before[j]; named != (!both.OK() && both.Limit() == specs[j].Limit) {
					t.Fatalf("%v, cost %d: %v is named: %v; package gcra names %v", texts, records[i].Costs[0], specs[j].Limit, named, both.Limit())
				}
			}
			if both.RetryAfter() == gcra.Never {
				never++
			}
		}
	}
	if never < 100 {
		t.Errorf("%d refusals for ever prove little", never)
	}
}

// TestUnstored fills the table with keys that owe for ever: others are decided as never seen, and that is counted.
func TestUnstored(t *testing.T) {
	var records []logs.Record
	for i := range 30 {
		for range 2 {
			records = append(records, logs.Record{Time: int64(i), Keys: [][]byte{[]byte(strconv.Itoa(i))}, Costs: []int64{1}})
		}
	}
	_, got := play(t, specsOf(t, "0/s burst 1"), Options{MaxKeys: 10}, records)
	v := got.Limits[0]
	if v.Granted != 10+2*20 || v.Refused != 10 || v.Never != 10 || v.Unstored != 40 || v.Keys != 10 || v.KeysAtMost != 50 || v.MayLack == 0 || v.RefusedKeysMost < 10 {
		t.Errorf("%+v", v)
	}
}

// TestPurge forgets more refused keys than are remembered: what is told of them is a bound.
func TestPurge(t *testing.T) {
	const keys = 3 * maxPast
	e, err := New(specsOf(t, "1/s burst 1"), Options{MaxKeys: 100})
	if err != nil {
		t.Fatal(err)
	}
	at, heavy := int64(0), int64(0)
	ask := func(key string, times int) {
		for range times {
			e.Add(&logs.Record{Time: at, Keys: [][]byte{[]byte(key)}, Costs: []int64{1}})
		}
	}
	for i := range keys {
		at += 2e9
		ask(strconv.Itoa(i), 2)
		if i%1000 == 0 {
			ask("heavy", 12)
			heavy += 11
		}
	}
	v := e.Result(&logs.Summary{}).Limits[0]
	if v.MostRefused[0].Key != "heavy" || v.MostRefused[0].Refused > heavy || v.MostRefused[0].Refused+v.MayLack < heavy || v.MayLack == 0 {
		t.Errorf("%+v, it was refused %d times", v.MostRefused[0], heavy)
	}
	if v.RefusedKeys > keys+1 || v.RefusedKeysMost < keys+1 || v.Refused != heavy+keys {
		t.Errorf("%+v", v)
	}
	if n := len(e.tables[0].past); n > maxPast {
		t.Errorf("%d tallies are held", n)
	}
}
