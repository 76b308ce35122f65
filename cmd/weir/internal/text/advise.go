package text

import (
	"fmt"
	"strings"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/advise"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
	"github.com/weir-go/weir/internal/console"
)

// Advice is a result for people.
func Advice(r *advise.Result, s Style) string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-16s "+format+"\n", append([]any{name}, args...)...)
	}
	b.WriteString("input\n")
	source(&b, &r.Input)
	row("keys", "%s, by %s", console.Grouped(r.Keys), r.Key)
	if r.Cost == "1" {
		row("tokens", "%s, one a request", console.Grouped(r.Tokens))
	} else {
		row("tokens", "%s, by %s; the largest request takes %s", console.Grouped(r.Tokens), r.Cost, console.Grouped(r.Largest))
	}
	row("busiest key", "%s: %s", keyName(r.Busiest.Key), count(r.Busiest.Tokens, "token"))
	row("peak second", "%s of %s at %s; of all keys %s at %s", count(r.Peak.Tokens, "token"), keyName(r.Peak.Key), stamp(r.Peak.At),
		console.Grouped(r.PeakAll.Tokens), stamp(r.PeakAll.At))
	if r.LeftOut > 0 {
		row("left out", "%s of keys for which there was no room: see -max-keys", count(r.LeftOut, "request"))
	}
	curve(&b, r, s)
	pacing(&b, r)
	verdicts := make([]replay.Verdict, len(r.Advice))
	for i := range r.Advice {
		advice(&b, &r.Advice[i], r)
		verdicts[i] = r.Advice[i].Verdict
	}
	if len(r.Advice) == 0 {
		b.WriteString("\nno advice: no request costs a token, or no limit counts that much\n")
	} else {
		when(&b, r.Timeline, verdicts, s)
	}
	all := Notes(&r.Input)
	if r.Refuse != "" && r.Cost != "1" {
		all = append(all, "Costs differ, so that a larger burst can refuse more: the burst for "+r.Refuse+" satisfies the share and one token less does not, but a smaller one might by chance.")
	}
	if r.Spooled > 0 {
		all = append(all, fmt.Sprintf("%s did not fit into memory and were read from a temporary file, which is gone.", count(r.Spooled, "byte")))
	}
	notes(&b, all, s.width())
	return b.String()
}

func stamp(t time.Time) string { return t.Format(time.RFC3339) }

func curve(b *strings.Builder, r *advise.Result, s Style) {
	if len(r.Skipped) > 0 {
		fmt.Fprintf(b, "  %-16s %s: the bursts, or the time from first to last, are beyond what such a limit counts\n", "rates left out", strings.Join(r.Skipped, ", "))
	}
	if len(r.Curve) == 0 {
		return
	}
	b.WriteString("\nthe smallest burst that refuses nothing, by rate, to a part of the keys and to all\n")
	most := int64(0)
	for _, p := range r.Curve {
		most = max(most, p.Max)
	}
	head := []string{"rate", "50 %", "90 %", "99 %", "all"}
	if r.Refuse != "" {
		head = append(head, "refuse "+r.Refuse)
	}
	if r.ForKeys != "" {
		head = append(head, "keys "+r.ForKeys)
	}
	var t table
	t.row(head...)
	for _, p := range r.Curve {
		cells := []string{p.Rate, console.Grouped(p.P50), console.Grouped(p.P90), console.Grouped(p.P99), console.Grouped(p.Max)}
		if r.Refuse != "" {
			cells = append(cells, console.Grouped(p.ForShare))
		}
		if r.ForKeys != "" {
			cells = append(cells, console.Grouped(p.ForKeys))
		}
		t.row(cells...)
	}
	var plain strings.Builder
	t.write(&plain)
	lines := strings.Split(strings.TrimSuffix(plain.String(), "\n"), "\n")
	wide := 0
	for _, l := range lines {
		wide = max(wide, len([]rune(l)))
	}
	room := s.width() - wide - 2
	for i, l := range lines {
		if i > 0 && room >= 8 {
			l += strings.Repeat(" ", wide-len([]rune(l))+2) + s.bar(r.Curve[i-1].Max, most, room)
		}
		b.WriteString(l + "\n")
	}
	if room >= 8 {
		b.WriteString("  bars: all, on a logarithmic scale\n")
	}
	for i := 0; i < len(r.Curve); {
		from := i
		for i < len(r.Curve) && r.Curve[i].Key == r.Curve[from].Key {
			i++
		}
		rates := r.Curve[from].Rate
		if to := r.Curve[i-1].Rate; to != rates {
			rates += " to " + to
		}
		fmt.Fprintf(b, "  needs the most at %s: %s\n", rates, keyName(r.Curve[from].Key))
	}
}

// pacing tells what waiting instead would cost at each rate.
func pacing(b *strings.Builder, r *advise.Result) {
	if len(r.Curve) == 0 {
		return
	}
	fmt.Fprintf(b, "\nif requests wait instead (outbound), at burst %s: the delay that a Wait adds\n", console.Grouped(r.Curve[0].Pacing.Burst))
	var t table
	t.row("rate", "waited", "mean", "50 %", "99 %", "longest")
	for _, p := range r.Curve {
		w := p.Pacing
		t.row(p.Rate, percent(w.Waited, r.Requests), console.Short(w.Mean), console.Short(w.P50), console.Short(w.P99), console.Short(w.Max))
	}
	t.write(b)
}

func advice(b *strings.Builder, a *advise.Advice, r *advise.Result) {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(b, "  %-16s "+format+"\n", append([]any{name}, args...)...)
	}
	fmt.Fprintf(b, "\n%s: %v\n", a.Name, a.Limit)
	row("why", "%s", a.Why)
	row("Go", "%s", GoCode(a.Limit))
	row("HTTP", "RateLimit-Policy: %s", Policy(a.Limit, "default"))
	v := &a.Verdict
	row("would have", "refused %s of %s (%s), to %s of %s", console.Grouped(v.Refused), count(r.Requests, "request"), percent(v.Refused, r.Requests),
		console.Grouped(v.RefusedKeys), count(v.Keys, "key"))
	if v.Refused > 0 {
		row("", "in %s, most in that of %s (%s); longest wait %v", count(a.Seconds, "second"), stamp(a.Worst.At), count(a.Worst.Tokens, "token"), v.LongestWait)
	}
	if v.Never > 0 {
		row("", "%s above the burst would never pass", count(v.Never, "request"))
	}
	if v.PastRange > 0 {
		row("", "%s", pastRange(v))
	}
	row("headroom", "%s that no key used of the burst", count(a.Headroom, "token"))
	if r.Input.WholeSeconds() {
		row("clock", "whole seconds: the burst is uncertain by up to %s", count(a.Slack, "token"))
	}
	w := a.Pacing
	row("if they wait", "%s wait, mean %s, 50 %% %s, 99 %% %s, longest %s", count(w.Waited, "request"), console.Short(w.Mean), console.Short(w.P50), console.Short(w.P99), console.Short(w.Max))
}
