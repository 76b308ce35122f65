package replay

import (
	"cmp"
	"slices"

	"github.com/weir-go/weir/cmd/weir/internal/logs"
)

// Result tells what the engine found, in input that this is the summary of. More records may follow.
func (e *Engine) Result(in *logs.Summary) *Result {
	r := &Result{Schema: Schema, Input: *in, Requests: e.requests, Joint: e.o.Joint, Timeline: e.timeline}
	totals := make([]map[string]*tally, len(e.tables))
	for i, t := range e.tables {
		totals[i] = t.totals()
	}
	for i := range e.limits {
		l := &e.limits[i]
		v := e.tally[i]
		v.Name, v.Key, v.Cost, v.Limit = l.Name, l.Key.String(), l.Cost.String(), l.Limit
		if l.key < len(in.Keys) && l.cost < len(in.Costs) {
			v.Key, v.Cost = in.Keys[l.key], in.Costs[l.cost]
		}
		e.keysOf(&v, l, totals[l.key])
		r.Limits = append(r.Limits, v)
	}
	if e.o.Joint {
		v := e.tally[len(e.limits)]
		v.Name, v.MostRefused = "all together", []KeyCount{}
		r.Together = &v
	}
	return r
}

// keysOf fills in what is known of the keys.
func (e *Engine) keysOf(v *Verdict, l *limit, totals map[string]*tally) {
	t := e.tables[l.key]
	v.Keys, v.KeysAtMost = t.made, t.made
	if t.forgotten > 0 {
		v.Keys = int64(t.peak)
	}
	if t.unstored > 0 {
		v.KeysAtMost += t.unstored
	}
	v.Forgotten, v.Unstored, v.MayLack = t.forgotten, t.unstored, t.lack+t.unstored
	v.MostRefused = []KeyCount{}
	for key, y := range totals {
		if n := y.refused[l.col]; n > 0 {
			v.RefusedKeys++
			v.MostRefused = append(v.MostRefused, KeyCount{key, n, y.asked})
		}
	}
	v.RefusedKeysMost = v.RefusedKeys + t.purged + min(t.unstored, v.Refused)
	slices.SortFunc(v.MostRefused, func(a, b KeyCount) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(a.Key, b.Key))
	})
	v.MostRefused = slices.Clip(v.MostRefused[:min(len(v.MostRefused), e.o.Top)])
	for i := range v.MostRefused {
		k := &v.MostRefused[i]
		k.Key = e.o.Text([]byte(k.Key))
	}
}
