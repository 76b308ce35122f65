package advise

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
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

func advised(t *testing.T, all []brute.Request, o Options) *Result {
	t.Helper()
	a := New(o)
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

func rates(t *testing.T, s string) []Rate {
	t.Helper()
	all, err := ParseRates(s)
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
		got := advised(t, records, Options{Rates: all})
		if len(got.Curve)+len(got.Skipped) != len(all) || len(got.Skipped) > 0 && (got.Skipped[0] != "1/d" || len(got.Skipped) > 1 || got.Tokens < 13343) {
			t.Fatalf("%d points and %v for %d rates", len(got.Curve), got.Skipped, len(all)) // 13343 tokens a day are 2^60 ns
		}
		for _, p := range got.Curve {
			l := Rate{p.N, p.Period}.limit(p.Max)
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

// TestCurve holds all that is told of a rate against replays and queues in math/big.
func TestCurve(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	all := rates(t, "10/m,1/s,4/s,20/s")
	for round := range 40 {
		o := Options{Rates: all}
		switch round % 3 {
		case 0:
			o.Refuse = Share{uint64(r.IntN(30)), 100}
		case 1:
			o.ForKeys = Share{uint64(r.IntN(60)), 100}
		}
		if round%5 == 0 {
			o.Memory = 1 // each rate is followed alone, and requests go to a file
		}
		largest := []int{1, 6}[round%2]
		records := traffic(r, 400, 15, 1e6, []int64{1e8, 3e8, 1e9}[round%3], largest)
		got := advised(t, records, o)
		if (got.Spooled > 0) != (o.Memory == 1) {
			t.Errorf("%d bytes went to a file", got.Spooled)
		}
		for _, p := range got.Curve {
			CheckPoint(t, records, p, o.Refuse.of(got.Requests), o.ForKeys.of(got.Keys), got.Keys)
		}
		for _, a := range got.Advice {
			CheckAdvice(t, records, a, time.Second)
		}
	}
}

// CheckPoint and CheckAdvice are in the test of the command too, which reads them from its JSON.
func CheckPoint(t *testing.T, records []brute.Request, p Point, allowed, spared, keys int64) {
	t.Helper()
	refused := func(burst int64) (requests, keys int64) {
		return brute.Refused(records, brute.Limit{N: p.N, Period: int64(p.Period), Burst: burst})
	}
	check := func(what string, burst int64, within func(requests, keys int64) bool) {
		t.Helper()
		if n, k := refused(burst); !within(n, k) {
			t.Fatalf("%s at %s: burst %d refuses %d requests of %d keys", what, p.Rate, burst, n, k)
		}
		if burst > 1 {
			if n, k := refused(burst - 1); within(n, k) {
				t.Fatalf("%s at %s: burst %d is more than needed: one less refuses %d requests of %d keys", what, p.Rate, burst, n, k)
			}
		}
	}
	check("all", p.Max, func(n, _ int64) bool { return n == 0 })
	check("share", p.ForShare, func(n, _ int64) bool { return n <= allowed })
	check("keys", p.ForKeys, func(_, k int64) bool { return k <= min(spared, keys-1) })
	for percent, burst := range map[int64]int64{50: p.P50, 90: p.P90, 99: p.P99} {
		if burst > 0 {
			check(fmt.Sprint(percent, " %"), burst, func(_, k int64) bool { return (keys-k)*100 >= percent*keys })
		}
	}
	CheckPacing(t, records, Rate{p.N, p.Period}.limit(p.Pacing.Burst), p.Pacing)
}

// CheckPacing holds the delays against a queue.
func CheckPacing(t *testing.T, records []brute.Request, l gcra.Limit, p Pacing) {
	t.Helper()
	n, period := l.Rate()
	delays := brute.Delays(records, brute.Limit{N: int64(n), Period: int64(period), Burst: int64(l.Capacity())})
	want := Pacing{Burst: int64(l.Capacity()), Never: int64(len(records) - len(delays))}
	if len(delays) > 0 {
		sum := int64(0)
		for _, d := range delays {
			sum += d
			if d > 0 {
				want.Waited++
			}
		}
		want.Mean = time.Duration(sum / int64(len(delays)))
		want.P50, want.P99 = time.Duration(brute.Quantile(delays, 50)), time.Duration(brute.Quantile(delays, 99))
		want.Max = time.Duration(delays[len(delays)-1])
	}
	if p != want {
		t.Fatalf("%v: %+v, want %+v", l, p, want)
	}
}

// CheckAdvice holds what a limit would have done against a replay.
func CheckAdvice(t *testing.T, records []brute.Request, a Advice, tick time.Duration) {
	t.Helper()
	n, period := a.Limit.Rate()
	l := brute.Limit{N: int64(n), Period: int64(period), Burst: int64(a.Limit.Capacity())}
	bySecond := map[int64]int64{}
	var v struct{ refused, tokens, never, wait int64 }
	byKey := map[string]int64{}
	for i, o := range brute.Replay(records, l) {
		if !o.Refused {
			continue
		}
		v.refused++
		v.tokens += records[i].Cost
		v.wait = max(v.wait, o.Wait)
		if o.Never {
			v.never++
		}
		byKey[records[i].Key]++
		second := records[i].At / 1e9
		bySecond[second] += records[i].Cost
	}
	worst := Second{}
	for s, tokens := range bySecond {
		if at := time.Unix(s, 0).UTC(); tokens > worst.Tokens || tokens == worst.Tokens && at.Before(worst.At) {
			worst = Second{At: at, Tokens: tokens}
		}
	}
	got := a.Verdict
	if got.Refused != v.refused || got.Granted != int64(len(records))-v.refused || got.RefusedTokens != v.tokens || got.Never != v.never ||
		int64(got.LongestWait) != v.wait || got.RefusedKeys != int64(len(byKey)) || a.Seconds != int64(len(bySecond)) || a.Worst != worst {
		t.Fatalf("%v: %+v, want %+v, %d keys, %d seconds, %+v", a.Limit, a, v, len(byKey), len(bySecond), worst)
	}
	for _, k := range got.MostRefused {
		if byKey[k.Key] != k.Refused {
			t.Fatalf("%v: %+v, want %d", a.Limit, k, byKey[k.Key])
		}
	}
	// What was never used of the burst can be taken from it, and no more.
	if v.refused == 0 {
		l.Burst -= a.Headroom
		if l.Burst > 0 {
			if n, _ := brute.Refused(records, l); n > 0 {
				t.Fatalf("%v: without the headroom of %d %d are refused", a.Limit, a.Headroom, n)
			}
		}
		if l.Burst--; l.Burst > 0 {
			if n, _ := brute.Refused(records, l); n == 0 {
				t.Fatalf("%v: the headroom is more than %d", a.Limit, a.Headroom)
			}
		}
	} else if a.Headroom != 0 {
		t.Fatalf("%v: headroom %d, and something is refused", a.Limit, a.Headroom)
	}
	if slack := (l.N*int64(tick) + l.Period - 1) / l.Period; a.Slack != slack {
		t.Fatalf("%v: slack %d, want %d", a.Limit, a.Slack, slack)
	}
	CheckPacing(t, records, a.Limit, a.Pacing)
}

// TestTotals has numbers that were worked out by hand.
func TestTotals(t *testing.T) {
	at := func(ms int64, key string, cost int64) brute.Request {
		return brute.Request{At: ms * 1e6, Key: key, Cost: cost}
	}
	got := advised(t, []brute.Request{at(-500, "b", 3), at(-100, "b", 2), at(0, "b", 1), at(10, "a", 4), at(999, "a", 1), at(1000, "b", 0)}, Options{})
	if got.Requests != 6 || got.Tokens != 11 || got.Keys != 2 || got.Largest != 4 || got.Busiest != (KeyTokens{"b", 6}) {
		t.Errorf("%+v", got)
	}
	if want := (Second{time.Unix(-1, 0).UTC(), 5, "b"}); got.Peak != want {
		t.Errorf("peak %+v, want %+v: of two equal ones the first", got.Peak, want)
	}
	if want := (Second{time.Unix(0, 0).UTC(), 6, ""}); got.PeakAll != want {
		t.Errorf("peak of all %+v, want %+v", got.PeakAll, want)
	}
}

func TestNothing(t *testing.T) {
	if got := advised(t, nil, Options{}); got.Requests != 0 || len(got.Curve) != 0 || len(got.Advice) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
	if got := advised(t, []brute.Request{{At: 5, Key: "a"}, {At: 7, Key: "a"}}, Options{}); got.Requests != 2 || len(got.Curve) != 0 {
		t.Errorf("of costs of nothing: %+v", got)
	}
	huge := advised(t, []brute.Request{{At: 5, Key: "a", Cost: 1 << 62}, {At: 6, Key: "a", Cost: 1 << 62}}, Options{})
	if len(huge.Curve) != 0 || len(huge.Advice) != 0 {
		t.Errorf("no limit has that burst: %+v", huge)
	}
	one := advised(t, []brute.Request{{At: 5, Key: "a", Cost: 1}}, Options{})
	if len(one.Curve) != 1 || one.Curve[0].Max != 1 || one.Advice[0].Limit.Capacity() != 1 {
		t.Errorf("of one request: %+v", one)
	}
}

func TestLeftOut(t *testing.T) {
	var all []brute.Request
	for i := range 10 {
		all = append(all, brute.Request{At: int64(i), Key: strconv.Itoa(i % 5), Cost: 1})
	}
	if got := advised(t, all, Options{MaxKeys: 3}); got.Keys != 3 || got.LeftOut != 4 || got.Requests != 6 {
		t.Errorf("%+v", got)
	}
}

// TestSpool writes and reads requests, in memory and in a file, which is gone afterwards.
func TestSpool(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	r := rand.New(rand.NewPCG(19, 20))
	for _, room := range []int64{0, blockSize, 1 << 30} {
		s := &spool{room: room}
		var want []request
		at := int64(-1 << 63)
		for range 300_000 {
			if step := r.Int64N(1 << r.IntN(50)); at < 1<<62 {
				at += step
			}
			q := request{at, int32(r.Uint32() >> r.IntN(32) >> 1), r.Int64() >> r.IntN(63)}
			want = append(want, q)
			if err := s.add(q); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			var got []request
			if err := s.each(func(q request) { got = append(got, q) }); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("room %d: other requests came back", room)
			}
		}
		if (s.bytes > 0) != (room <= blockSize) {
			t.Errorf("room %d: %d bytes in the file", room, s.bytes)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	t.Setenv("TMPDIR", "/no/such/folder")
	if err := (&spool{}).add(request{}); err == nil {
		t.Error("nowhere to write, and no error")
	}
}

// TestMemoryDoesNotMatter advises with much and with little memory.
func TestMemoryDoesNotMatter(t *testing.T) {
	records := traffic(rand.New(rand.NewPCG(21, 22)), 2000, 50, 1e6, 1e8, 5)
	o := Options{Refuse: Share{1, 100}}
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
	got := advised(t, []brute.Request{{At: 5, Key: "secret", Cost: 1}, {At: 5, Key: "secret", Cost: 1}}, Options{Text: func(key []byte) string {
		return fmt.Sprint(len(bytes.TrimSpace(key)))
	}})
	if text := fmt.Sprintf("%+v", got); bytes.Contains([]byte(text), []byte("secret")) {
		t.Error(text)
	}
}
