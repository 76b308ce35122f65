package main

import (
	"fmt"
	"io"
)

func writeSpeed(w io.Writer, all []*trial, memory []bytesPerKey) {
	fmt.Fprint(w, "\n### speed: decisions per second, each a round trip or more\n\n"+
		"- All share one client, one server and one limit; granted asks for 1 token, refused for the whole burst, half by turns.\n"+
		"- weir is made with WithMemory(0), so that it asks about refusals too; \"weir, remembers\" is the limiter as it is,\n"+
		"  which answers for up to a second what is sure to be refused, for up to 16 384 keys.\n"+
		"- PING and INCR decide nothing: they are the floor of a round trip.\n"+
		"- CPU is the median time of the processors a decision takes; unlike the rest it hardly depends on what else the machine does.\n"+
		"- \"gave up\" are requests that throttled answered by an error, after ten writes in a row that others were faster with.\n\n"+
		"| case | library | decisions/s | least | most | p50, µs | p99, µs | CPU of Redis, µs | of the client, µs | gave up | weir is |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	verdicts := judgeSpeed(all)
	last := ""
	for _, t := range all {
		group := t.group
		if group == last {
			group = ""
		}
		last = t.group
		s := t.sorted(perSecond)
		none, ratio := "", ""
		if x := t.median(func(s sample) float64 { return s.gaveUp }); x > 0 {
			none = fmt.Sprintf("%.1f %%", x)
		}
		for _, v := range verdicts {
			if v.group == t.group && v.lib == t.subject.name {
				ratio = fmt.Sprintf("%.2f ×", v.ratio)
			}
		}
		fmt.Fprintf(w, "| %s | %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.1f | %.1f | %s | %s |\n", group, t.subject.name, t.median(perSecond), s[0], s[len(s)-1],
			t.median(func(s sample) float64 { return s.p50 }), t.median(func(s sample) float64 { return s.p99 }),
			t.median(func(s sample) float64 { return s.server }), t.median(func(s sample) float64 { return s.client }), none, ratio)
	}
	if len(memory) > 0 {
		fmt.Fprint(w, "\n| library | bytes of Redis' memory a key |\n|---|---:|\n")
		for _, m := range memory {
			fmt.Fprintf(w, "| %s | %.0f |\n", m.lib, m.bytes)
		}
	}
	if len(verdicts) == 0 {
		return
	}
	fmt.Fprint(w, "\n### goal: weir decides at least as often as each\n\n| case | library | ratio of medians | of rounds | |\n|---|---|---:|---|---|\n")
	met := 0
	for _, v := range verdicts {
		word := "missed"
		if v.met() {
			word = "met"
			met++
		}
		fmt.Fprintf(w, "| %s | %s | %.2f × | %.2f to %.2f | %s |\n", v.group, v.lib, v.ratio, v.least, v.most, word)
	}
	fmt.Fprintf(w, "\nMet in %d of %d cases.\n", met, len(verdicts))
}

func writeWrong(w io.Writer, about string, all []tally) {
	fmt.Fprintf(w, "\n### wrong: against the exact bucket, in rational numbers, at the instant that each saw (%s)\n\n", about)
	fmt.Fprint(w, "- Every library is asked for the same tokens at the same µs, on a key of its own. Wrong is a grant of what the exact bucket, charged\n"+
		"  with all that this library granted before, refuses, or a refusal of what it grants. In parentheses: of these, what\n"+
		"  would be wrong too had the clock shown a microsecond more or less. Nothing else is forgiven, nor counted twice.\n"+
		"- Only where the decision is right: a Remaining that is not the whole tokens there are; a RetryAfter too early by anything, or more than\n"+
		"  1 µs late (in parentheses: more than 1 µs either way).\n"+
		"- redis_rate tells 0 remaining with every refusal, also of several tokens where some are there. throttled's store expires keys\n"+
		"  after its TTL in whole seconds, rounded down, as its doc says, but never below one.\n\n"+
		"| limit | library | requests | granted | wrong grants | wrong refusals | remaining, granted | remaining, refused | retry after |\n|---|---|---:|---:|---:|---:|---:|---:|---:|\n")
	var last limit
	sums := make(map[string]*tally)
	var order []*tally
	for _, t := range all {
		name := t.limit.String()
		if t.limit == last {
			name = ""
		}
		last = t.limit
		writeTally(w, name, t)
		s := sums[t.lib]
		if s == nil {
			s = &tally{lib: t.lib}
			sums[t.lib], order = s, append(order, s)
		}
		s.sum(t)
	}
	for i, s := range order {
		name := ""
		if i == 0 {
			name = "all"
		}
		writeTally(w, name, *s)
	}
}

func writeTally(w io.Writer, name string, t tally) {
	fmt.Fprintf(w, "| %s | %s | %d | %d |", name, t.lib, t.requests, t.grants)
	for _, c := range t.counts() {
		fmt.Fprintf(w, " %v |", c)
	}
	fmt.Fprintln(w)
}

func (c count) String() string {
	if c.any == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%d)", c.any, c.far)
}

func (t *tally) sum(o tally) {
	t.requests, t.grants = t.requests+o.requests, t.grants+o.grants
	for _, c := range []struct{ to, from *count }{
		{&t.granted, &o.granted}, {&t.refused, &o.refused}, {&t.left, &o.left}, {&t.rest, &o.rest}, {&t.retry, &o.retry},
	} {
		c.to.any, c.to.far = c.to.any+c.from.any, c.to.far+c.from.far
	}
}
