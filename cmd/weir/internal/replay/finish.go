package replay

import (
	"cmp"
	"slices"

	"github.com/weir-go/weir/cmd/weir/internal/logs"
)

// Result tells what the engine found, in input that this is the summary of. More records may follow.
func (e *Engine) Result(in *logs.Summary) *Result {
	r := &Result{Schema: Schema, Input: *in, Requests: e.requests, Joint: e.o.Joint, Timeline: e.timeline}
	for i := range e.limits {
		l := &e.limits[i]
		v := e.tally[i]
		v.Name, v.Key, v.Cost, v.Limit = l.Name, l.Key.String(), l.Cost.String(), l.Limit
		if l.key < len(in.Keys) && l.cost < len(in.Costs) {
			v.Key, v.Cost = in.Keys[l.key], in.Costs[l.cost]
		}
		e.keysOf(&v, l)
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
func (e *Engine) keysOf(v *Verdict, l *limit) {
	t := e.tables[l.key]
	v.Keys, v.KeysAtMost = t.made, t.made
	if t.forgotten > 0 {
		v.Keys = int64(t.peak)
	}
	if t.unstored > 0 {
		v.KeysAtMost += t.unstored
	}
	v.Forgotten, v.Unstored, v.MayLack = t.forgotten, t.unstored, t.lack+t.unstored
	top := []KeyCount{}
	cut := func() {
		slices.SortFunc(top, func(a, b KeyCount) int {
			return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(a.Key, b.Key))
		})
		top = top[:min(len(top), e.o.Top)]
	}
	least := int64(0) // that one of the first e.o.Top was refused
	t.refusedBy(l.col, func(key func() string, refused, asked int64) {
		v.RefusedKeys++
		if refused < least {
			return
		}
		if top = append(top, KeyCount{key(), refused, asked}); len(top)/2 >= e.o.Top {
			cut()
			least = top[len(top)-1].Refused
		}
	})
	cut()
	v.MostRefused = top
	v.RefusedKeysMost = v.RefusedKeys + t.purged + min(t.unstored, v.Refused)
	for i := range v.MostRefused {
		k := &v.MostRefused[i]
		k.Key = e.o.Text([]byte(k.Key))
	}
}
