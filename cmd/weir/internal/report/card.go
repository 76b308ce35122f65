package report

import (
	"strconv"
	"strings"

	"github.com/weir-go/weir/cmd/weir/internal/advise"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
	"github.com/weir-go/weir/cmd/weir/internal/text"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/console"
)

// A card is one limit with its verdict, and with what to paste.
type card struct {
	Name, Limit, Why string
	Together         bool // no limit of its own: what all of them did
	Verdict          string
	Bar              string // the refused part of 100
	Stats            []pair
	Waiting          []pair // had requests waited instead
	Paste            []pair
}

func newCard(v *replay.Verdict, requests int64) card {
	c := card{Name: v.Name, Limit: v.Limit.String(), Why: "one key for everything"}
	switch {
	case v.Key == "": // all of them
		c.Name, c.Limit, c.Why = "joint", v.Name, "a request passes if every limit has room for it"
	case v.Key != "all":
		c.Why = "for each " + visible(v.Key)
	}
	if v.Cost != "1" && v.Cost != "" {
		c.Why += ", tokens by " + visible(v.Cost)
	}
	c.Verdict = "refuses " + num(v.Refused) + " of " + count(requests, "request")
	c.Bar = hundredths(v.Refused, requests)
	put := func(name, text string) { c.Stats = append(c.Stats, pair{Name: name, Text: text}) }
	put("refused", share(v.Refused, requests))
	put("granted", num(v.Granted))
	if v.Cost != "1" && v.Cost != "" {
		put("tokens refused", num(v.RefusedTokens))
		put("tokens granted", num(v.GrantedTokens))
	}
	if v.Key != "" {
		put("keys refused", between(v.RefusedKeys, v.RefusedKeysMost)+" of "+between(v.Keys, v.KeysAtMost))
	}
	put("longest wait", v.LongestWait.String())
	if v.Never > 0 {
		put("would never pass", count(v.Never, "request"))
	}
	if v.PastRange > 0 {
		put("after its range", count(v.PastRange, "request"))
	}
	if v.Unstored > 0 {
		put("no room for the key", count(v.Unstored, "request"))
	}
	if v.Key != "" {
		c.Paste = paste(v.Limit, v.Name)
	}
	return c
}

func newAdvice(a *advise.Advice, r *advise.Result) card {
	v := &a.Verdict
	c := card{Name: a.Name, Limit: a.Limit.String(), Why: a.Why, Bar: hundredths(v.Refused, r.Requests), Paste: paste(a.Limit, "")}
	c.Verdict = "would have refused " + num(v.Refused) + " of " + count(r.Requests, "request")
	put := func(name, text string) { c.Stats = append(c.Stats, pair{Name: name, Text: text}) }
	put("refused", share(v.Refused, r.Requests))
	if r.Cost != "1" {
		put("tokens refused", num(v.RefusedTokens))
	}
	put("keys refused", between(v.RefusedKeys, v.RefusedKeysMost)+" of "+between(v.Keys, v.KeysAtMost))
	put("seconds with refusals", num(a.Seconds))
	if a.Worst.Tokens > 0 {
		put("worst second", moment(a.Worst.At))
		put("refused in it", count(a.Worst.Tokens, "token"))
	} else {
		put("worst second", "none")
		put("refused in it", count(0, "token"))
	}
	put("longest wait", v.LongestWait.String())
	if v.Never > 0 {
		put("would never pass", count(v.Never, "request"))
	}
	if v.PastRange > 0 {
		put("after its range", count(v.PastRange, "request"))
	}
	put("burst never used", count(a.Headroom, "token"))
	if r.Input.WholeSeconds() {
		put("clock may hide", "±"+count(a.Slack, "token"))
	}
	w := &a.Pacing
	c.Waiting = []pair{
		{Name: "would wait", Text: count(w.Waited, "request")},
		{Name: "mean delay of all", Text: console.Short(w.Mean)},
		{Name: "delay of 99" + nbsp + "% at most", Text: console.Short(w.P99)},
		{Name: "longest delay", Text: console.Short(w.Max)},
	}
	if w.Never > 0 {
		c.Waiting = append(c.Waiting, pair{Name: "would never pass", Text: count(w.Never, "request")})
	}
	return c
}

// paste is the limit in the forms that programs read.
func paste(l gcra.Limit, name string) []pair {
	if name == "" {
		name = "default"
	}
	all := []pair{{Name: "text", Text: l.String()}}
	if code := text.GoCode(l); code != "" {
		all = append(all, pair{Name: "Go", Text: code})
	}
	if policy := text.Policy(l, name); policy != "" {
		all = append(all, pair{Name: "HTTP", Text: "RateLimit-Policy: " + policy})
	}
	return all
}

// hundredths is a part of 100 for a bar: what is not 0 is seen.
func hundredths(part, whole int64) string {
	if part <= 0 || whole <= 0 {
		return "0"
	}
	p := max(permille(part, whole), 4)
	return strconv.FormatInt(p/10, 10) + "." + strconv.FormatInt(p%10, 10)
}

// topKeys adds the keys that a limit refused the most.
func (p *page) topKeys(v *replay.Verdict) {
	if len(v.MostRefused) == 0 {
		return
	}
	t := &table{Title: title(v), Head: []string{"key", "refused", "requests", "share"}, Keys: true}
	for _, k := range v.MostRefused {
		t.row(visible(k.Key), num(k.Refused), num(k.Requests), share(k.Refused, k.Requests))
		t.Rows[len(t.Rows)-1].Bar = hundredths(k.Refused, k.Requests)
	}
	if v.MayLack > 0 {
		t.About = "Not all keys had room: each count may lack up to " + num(v.MayLack) + ", see -max-keys."
	}
	p.Top = append(p.Top, t)
}

// bursts is the curve in numbers.
func bursts(r *advise.Result) *table {
	t := &table{Title: "Smallest burst by rate", Head: []string{"rate", "50" + nbsp + "%", "90" + nbsp + "%", "99" + nbsp + "%", "all"}}
	if r.Refuse != "" {
		t.Head = append(t.Head, "refuse "+strings.Replace(r.Refuse, "%", nbsp+"%", 1))
	}
	if r.ForKeys != "" {
		t.Head = append(t.Head, "keys "+strings.Replace(r.ForKeys, "%", nbsp+"%", 1))
	}
	t.Head = append(t.Head, "needs the most")
	for i := range r.Curve {
		p := &r.Curve[i]
		cells := []string{p.Rate, num(p.P50), num(p.P90), num(p.P99), num(p.Max)}
		if r.Refuse != "" {
			cells = append(cells, num(p.ForShare))
		}
		if r.ForKeys != "" {
			cells = append(cells, num(p.ForKeys))
		}
		t.row(append(cells, visible(p.Key))...)
	}
	return t
}

// delays is what waiting would cost at each rate.
func delays(r *advise.Result) *table {
	t := &table{Title: "Delay that waiting adds", Head: []string{"rate", "waited", "mean", "50" + nbsp + "%", "99" + nbsp + "%", "longest"},
		About: "At burst " + num(r.Curve[0].Pacing.Burst) + ", the smallest that takes every request."}
	for i := range r.Curve {
		w := &r.Curve[i].Pacing
		t.row(r.Curve[i].Rate, share(w.Waited, r.Requests), console.Short(w.Mean), console.Short(w.P50), console.Short(w.P99), console.Short(w.Max))
	}
	return t
}
