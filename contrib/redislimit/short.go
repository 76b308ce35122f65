package redislimit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/weir-go/weir/gcra"
)

// A brief is what a limit says to the script by its short way, which answers a
// Take and a Peek of one key where nothing is unusual. Times are whole numbers of
// d-ths of a µs there: of these a token takes m.
type brief struct {
	fits    bool // the numbers, into a double
	pattern any  // of the values under the limit
	end     string
	fill    uint64
	one     [2]any // cost and room of one token
	look    [2]any // of none
	terms   []any  // d and step, if they are not 1 and 0
}

// newBrief works out what a limit says the short way. Three µs more than a full
// bucket lacks are room for every sum on the way.
func newBrief(t *terms) brief {
	if t.d > maxTerm/4 || t.burst > (maxTerm-3*t.d)/t.m {
		return brief{}
	}
	b := brief{fits: true, end: " " + t.id, fill: t.burst * t.m}
	rest := "0"
	if t.d != 1 || t.step != 0 {
		rest = "(%d+)"
		b.terms = []any{strconv.FormatUint(t.d, 10), strconv.FormatInt(t.step, 10)}
	}
	if t.step == 0 && b.terms != nil {
		b.terms = b.terms[:1]
	}
	b.pattern = "^(%d+) " + rest + " %d+( %w+ " + strings.ReplaceAll(t.id, "-", "%-") + ")$"
	b.one = [2]any{strconv.FormatUint(t.m, 10), strconv.FormatUint(b.fill-t.m, 10)}
	b.look = [2]any{strconv.FormatUint(b.fill+1, 10), "-1"}
	return b
}

// costs returns what n tokens cost, and the room that they need.
func (g *generation) costs(n int) [2]any {
	switch n {
	case 0:
		return g.brief.look
	case 1:
		return g.brief.one
	}
	cost := uint64(n) * g.m
	return [2]any{cost, g.brief.fill - cost}
}

// plain reports whether the short way is open: since when the limit is in force is
// known, no earlier one matters, and nothing is due from an outage.
func (l *Limiter) plain(g *generation) bool {
	return g.brief.fits && g.since() >= 0 && g.earlier() == "" && l.owing.settled(l)
}

// level asks to take n tokens of the key, or with 0 only what it lacks: its bucket
// before that, as package gcra has it.
func (l *Limiter) level(ctx context.Context, t turn, key string, n int) (tat int64, at gcra.Instant, err error) {
	if l.plain(t.g) {
		return l.levelShort(ctx, t, key, n)
	}
	op, cost := "take", span{}
	if n == 0 {
		op = "peek"
	} else {
		cost, _ = t.g.time(uint64(n))
	}
	a, err := l.one(ctx, t, key, cost, query{op: op, a: "0"})
	if err != nil {
		return 0, at, err
	}
	tat, at = t.g.before(a.keys[0].missing, a.keys[0].off)
	return tat, at, nil
}

func (l *Limiter) levelShort(ctx context.Context, t turn, key string, n int) (tat int64, at gcra.Instant, err error) {
	if err := ctx.Err(); err != nil {
		return 0, at, err
	}
	g, name := t.g, l.cfg.prefix+key
	h := l.servers.of(name)
	probe, err := h.begin()
	if err != nil {
		return 0, at, err
	}
	err = ErrUnavailable // if the client panics
	defer func() { h.end(&l.servers, probe, err) }()
	c := g.costs(n)
	var in struct { // one allocation for both, mostly
		argv [11]any
		end  [80]byte
	}
	end := append(strconv.AppendUint(append(in.end[:0], ' '), rand.Uint64(), 36), g.brief.end...)
	argv := append(in.argv[:0], nil, nil, "1", name, g.brief.pattern, end, c[0], c[1], g.began.Load().text)
	argv = append(argv, g.brief.terms...)
	var got any
	if got, err = l.eval(ctx, t, argv); err != nil {
		return 0, at, err
	}
	tat, at, err = g.short(got)
	return tat, at, err
}

// short reads the answer.
func (g *generation) short(got any) (tat int64, at gcra.Instant, err error) {
	n, off, some := int64(0), int64(0), true
	switch got := got.(type) {
	case int64:
		n = got
	case []any:
		if len(got) != 2 {
			a, err := parseAnswer(got, 1)
			if err != nil {
				return 0, at, err
			}
			g.learn(a.keys[0].since, a.now)
			tat, at = g.before(a.keys[0].missing, a.keys[0].off)
			return tat, at, nil
		}
		var also bool
		n, some = got[0].(int64)
		off, also = got[1].(int64)
		some = some && also
	default:
		some = false
	}
	if !some || n < 0 || off < 0 {
		return 0, at, fmt.Errorf("redislimit: the answer %v", got)
	}
	tat, at = g.before(span{uint64(n) / g.d, uint64(n) % g.d}, uint64(off))
	return tat, at, nil
}
