package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/bench/trace"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/console"
	"github.com/weir-go/weir/internal/exact"
	"github.com/weir-go/weir/shard"
)

// traced is what a replay asks of a limiter.
type traced interface {
	Take(key string, n int) gcra.Decision
	Sweep() int
	Stats() shard.Stats
}

// A recorded clock reads the Unix time of the record at hand, and the first one's before a limiter is made. It is for one
// goroutine. (A clock.Manual starts at 0, so that it does not reach a record from before 1970.)
type recorded int64

func (r *recorded) Now() time.Duration { return time.Duration(*r) }

const (
	sweepEvery = 1000 // records
	mostShown  = 10   // keys, disagreements or broken lines in a text
)

// replay decides the trace.
func (p *program) replay(o options) (report, error) {
	t, err := trace.ReadFile(o.trace)
	if err != nil {
		return nil, err // it names the file
	}
	s, err := exact.SpecOf(o.limit)
	if err != nil {
		return nil, err
	}
	clk := recorded(t.Records[0].Time)
	limiter, model := p.traced(o.limit, &clk), exact.New(s, t.Records[0].Time)
	progress := console.NewProgress(p.stderr)
	defer progress.Done()

	r := newReplayReport(o, t)
	told := time.Now()
	for i, record := range t.Records {
		clk = recorded(record.Time)
		d := limiter.Take(record.Key, record.Cost)
		r.count(record, d)
		if got, want := exact.AnswerOf(d), model.Take(record.Key, record.Time, record.Cost); got != want || d.OK() != (want.Err == nil) {
			r.disagree(record, got, want)
		}
		if i%sweepEvery == sweepEvery-1 {
			limiter.Sweep()
		}
		if i%256 == 0 && time.Since(told) >= progress.Every {
			told = time.Now()
			progress.Say("deciding: %s of %s records", console.Grouped(int64(i)), console.Grouped(int64(len(t.Records))))
		}
	}
	r.Forgotten = limiter.Stats().Forgotten
	r.finish()
	return r, nil
}

// A keyCount is what one key asked.
type keyCount struct {
	Key      string `json:"key"`
	Refused  int    `json:"refused"`
	Requests int    `json:"requests"`
}

type brokenLines struct {
	Count int          `json:"count"`
	Lines []brokenLine `json:"lines"` // the first trace.MaxFaults
}

type brokenLine struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// A replayReport counts requests, unless a field says otherwise.
type replayReport struct {
	Trace         string       `json:"trace"`
	Format        string       `json:"format"`
	Limit         gcra.Limit   `json:"limit"`
	First         time.Time    `json:"first"`
	Last          time.Time    `json:"last"`
	Requests      int          `json:"requests"`
	Keys          int          `json:"keys"`
	Granted       int          `json:"granted"`
	Refused       int          `json:"refused"`
	TooLarge      int          `json:"refused_above_burst"`
	Negative      int          `json:"refused_negative_cost"`
	GrantedTokens int64        `json:"granted_tokens"`
	MostRefused   []keyCount   `json:"most_refused"`
	Unsorted      int          `json:"unsorted"`
	Broken        brokenLines  `json:"broken"`
	Forgotten     int64        `json:"forgotten"` // keys, each as often as it was
	Disagreements int          `json:"disagreements"`
	Disagreed     []string     `json:"first_disagreements"`
	source        *trace.Trace // for its summary
	byKey         map[string]*keyCount
}

func newReplayReport(o options, t *trace.Trace) *replayReport {
	at := func(i int) time.Time { return time.Unix(0, t.Records[i].Time).UTC() }
	r := &replayReport{
		Trace: o.trace, Format: t.Format, Limit: o.limit,
		First: at(0), Last: at(len(t.Records) - 1),
		Requests: len(t.Records), Unsorted: t.Unsorted,
		MostRefused: []keyCount{}, Disagreed: []string{},
		Broken: brokenLines{t.Broken, []brokenLine{}},
		source: t, byKey: make(map[string]*keyCount),
	}
	for _, f := range t.Faults {
		r.Broken.Lines = append(r.Broken.Lines, brokenLine{f.Line, f.Reason})
	}
	return r
}

func (r *replayReport) count(record trace.Record, d gcra.Decision) {
	k := r.byKey[record.Key]
	if k == nil {
		k = &keyCount{Key: record.Key}
		r.byKey[record.Key] = k
	}
	k.Requests++
	if d.OK() {
		r.Granted++
		r.GrantedTokens += min(int64(d.Granted()), math.MaxInt64-r.GrantedTokens)
		return
	}
	r.Refused++
	k.Refused++
	switch d.Err() {
	case gcra.ErrExceedsBurst:
		r.TooLarge++
	case gcra.ErrCost:
		r.Negative++
	}
}

func (r *replayReport) disagree(record trace.Record, got, want exact.Answer) {
	r.Disagreements++
	if len(r.Disagreed) < mostShown {
		r.Disagreed = append(r.Disagreed, fmt.Sprintf("line %d, key %s, cost %d: %v; the model: %v",
			record.Line, console.Plain(record.Key), record.Cost, got, want))
	}
}

func (r *replayReport) finish() {
	r.Keys = len(r.byKey)
	for _, k := range r.byKey {
		if k.Refused > 0 {
			r.MostRefused = append(r.MostRefused, *k)
		}
	}
	slices.SortFunc(r.MostRefused, func(a, b keyCount) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(a.Key, b.Key))
	})
	r.MostRefused = r.MostRefused[:min(len(r.MostRefused), mostShown)]
}

func (r *replayReport) text() string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s "+format+"\n", append([]any{name}, args...)...)
	}
	number := func(n int) string { return console.Grouped(int64(n)) }

	row("trace", "%s", console.Plain(r.Trace))
	row("", "%v", r.source)
	row("", "%s to %s", r.First.Format(time.RFC3339), r.Last.Format(time.RFC3339))
	for _, f := range r.Broken.Lines[:min(len(r.Broken.Lines), mostShown)] {
		row("", "broken line %d: %s", f.Line, f.Reason)
	}
	row("limit", "%v", r.Limit)
	row("requests", "%s", number(r.Requests))
	row("keys", "%s", number(r.Keys))
	row("granted", "%s", number(r.Granted))
	row("refused", "%s (%.1f %%)", number(r.Refused), 100*float64(r.Refused)/float64(r.Requests))
	if r.TooLarge > 0 {
		row("", "%s of them cost more than the burst of %s and never pass", number(r.TooLarge), number(r.Limit.Capacity()))
	}
	if r.Negative > 0 {
		row("", "%s of them have a negative cost", number(r.Negative))
	}
	if len(r.MostRefused) > 0 {
		fmt.Fprintln(&b, "most refused keys")
	}
	for _, k := range r.MostRefused {
		row("", "%s: refused %s of %s", console.Plain(k.Key), number(k.Refused), number(k.Requests))
	}
	if r.Disagreements == 0 {
		row("model", "agrees in all %s decisions; keys were forgotten %s times", number(r.Requests), console.Grouped(r.Forgotten))
	} else {
		row("model", "disagrees in %s decisions", number(r.Disagreements))
	}
	return b.String()
}

func (r *replayReport) faults() []string {
	if r.Disagreements == 0 {
		return nil
	}
	return append(slices.Clone(r.Disagreed),
		fmt.Sprintf("%s of %s decisions are not the exact model's", console.Grouped(int64(r.Disagreements)), console.Grouped(int64(r.Requests))))
}
