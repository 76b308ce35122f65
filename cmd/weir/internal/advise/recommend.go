package advise

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/logs"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
	"github.com/weir-go/weir/gcra"
)

// window is what a limit is judged by: of two that spare the same traffic the better lets less through in a window.
const window = time.Minute

// recommend chooses two or three limits and tells what they would have done.
func (a *Advisor) recommend(r *Result) error {
	if len(r.Curve) == 0 {
		return nil
	}
	balanced := best(r.Curve, func(p *Point) int64 { return p.Max })
	if a.o.Refuse.num > 0 || a.o.ForKeys.num > 0 {
		pick, why := func(p *Point) int64 { return p.ForShare }, "refuses at most "+r.Refuse+" of the requests"
		if a.o.ForKeys.num > 0 {
			pick, why = func(p *Point) int64 { return p.ForKeys }, "refuses something to at most "+r.ForKeys+" of the keys"
		}
		if tight := best(r.Curve, pick); tight != balanced {
			r.Advice = append(r.Advice, Advice{Name: "tight", Why: why + ", with the least in a minute", Limit: tight})
		}
	}
	r.Advice = append(r.Advice, Advice{Name: "balanced", Why: "refuses nothing of this traffic, with the least in a minute", Limit: balanced})
	if generous, ok := more(balanced); ok {
		r.Advice = append(r.Advice, Advice{Name: "generous", Why: "half again the rate of balanced, and twice its burst", Limit: generous})
	}
	if err := a.decide(r); err != nil {
		return err
	}
	if err := a.headroom(r); err != nil {
		return err
	}
	pacings := make([]*pacing, len(r.Advice))
	for i := range r.Advice {
		pacings[i] = &pacing{limit: r.Advice[i].Limit, out: &r.Advice[i].Pacing}
	}
	return a.pace(pacings)
}

// best is the limit that lets the least through in a window; of equal ones that of the lowest rate.
func best(points []Point, burst func(*Point) int64) gcra.Limit {
	var found gcra.Limit
	for i := range points {
		p := &points[i]
		l := Rate{p.N, p.Period}.limit(burst(p))
		if i == 0 || l.Within(window) < found.Within(window) {
			found = l
		}
	}
	return found
}

// more is a limit of half again the rate and twice the burst, if there is one.
func more(l gcra.Limit) (gcra.Limit, bool) {
	n, period := l.Rate()
	text := fmt.Sprintf("%s burst %d", Rate{int64(n) + int64(n)/2 + int64(n)%2, period}, uint64(l.Capacity())*2)
	m, err := gcra.Parse(text)
	return m, err == nil
}

// decide replays the traffic against all of the advice.
func (a *Advisor) decide(r *Result) error {
	var specs []replay.Spec
	for i := range r.Advice {
		specs = append(specs, replay.Spec{Name: r.Advice[i].Name, Key: a.o.Key, Cost: a.o.Cost, Limit: r.Advice[i].Limit})
	}
	engine, err := replay.New(specs, replay.Options{MaxKeys: len(a.names), Text: a.o.Text})
	if err != nil {
		return err
	}
	n := len(specs)
	refused := make([]int64, n) // tokens in the second at hand
	before := make([]int64, n)  // refusals
	second, began := int64(0), false
	end := func() {
		for i := range r.Advice {
			v, w := &r.Advice[i], &r.Advice[i].Worst
			if now := engine.Refused(i); now > before[i] {
				v.Seconds++
				before[i] = now
				if refused[i] > w.Tokens {
					*w = Second{At: time.Unix(second, 0).UTC(), Tokens: refused[i]}
				}
			}
			refused[i] = 0
		}
	}
	record := logs.Record{Keys: make([][]byte, 1), Costs: make([]int64, 1)}
	var key []byte
	tokens := make([]int64, n)
	err = a.pass("trying the advice", func(q request, _ time.Duration) {
		if s := secondOf(q.at); !began || s != second {
			if began {
				end()
			}
			second, began = s, true
		}
		key = append(key[:0], a.names[q.key]...)
		record.Time, record.Keys[0], record.Costs[0] = q.at, key, q.cost
		for i := range tokens {
			tokens[i] = engine.Refused(i)
		}
		engine.Add(&record)
		for i := range tokens {
			if engine.Refused(i) > tokens[i] {
				refused[i] = add(refused[i], q.cost)
			}
		}
	})
	if err != nil {
		return err
	}
	end()
	done := engine.Result(&r.Input)
	for i := range r.Advice {
		r.Advice[i].Verdict = done.Limits[i]
	}
	r.Timeline = done.Timeline
	return nil
}

// headroom finds what nobody ever used of the bursts, and what the clock may have hidden.
func (a *Advisor) headroom(r *Result) error {
	queues := make([]queue, len(r.Advice))
	for i := range r.Advice {
		n, period := r.Advice[i].Limit.Rate()
		queues[i] = newQueue(Rate{int64(n), period})
		hi, lo := bits.Mul64(uint64(n), uint64(r.Input.Tick))
		lo, carry := bits.Add64(lo, uint64(period)-1, 0)
		slack, _ := bits.Div64(hi+carry, lo, uint64(period)) // at most 64 a nanosecond, and a second of them
		r.Advice[i].Slack = int64(slack)
	}
	all, err := a.needs(queues)
	if err != nil {
		return err
	}
	for i := range queues {
		q, v := &queues[i], &r.Advice[i]
		most := int64(0)
		for k := range a.names {
			most = max(most, all[k*len(queues)+i].most)
		}
		if b := q.burst(most); b > 0 {
			v.Headroom = max(int64(v.Limit.Capacity())-b, 0)
		}
	}
	return nil
}
