package redislimit

import (
	"context"
	"strconv"
)

// A query is what the script is asked.
type query struct {
	op      string
	a, b, c string
	stamp   string // "" for a new one
	of      []charge
}

// A charge is what it is asked of one key.
type charge struct {
	l    *Limiter
	g    *generation
	key  string
	name string // with the prefix; ask sets it
	cost span
	due  due // what the local limiter charged meanwhile
}

// decides reports whether the query is a decision: by these comes what is due.
func (q *query) decides() bool { return q.op != "reset" && q.op != "back" && q.op != "time" }

// ask asks Redis, if it is thought to answer.
func (l *Limiter) ask(ctx context.Context, t turn, q *query) (*answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var h *health // of no key nobody knows which server answers
	var probe bool
	if len(q.of) > 0 {
		var err error
		for i := range q.of {
			q.of[i].name = q.of[i].l.cfg.prefix + q.of[i].key
		}
		h = l.servers.of(q.of[0].name)
		if probe, err = h.begin(); err != nil {
			return nil, err
		}
	}
	stamp := q.stamp
	if stamp == "" {
		stamp = newStamp()
	}
	answered := false
	defer func() {
		if !answered { // the client panicked
			l.finish(h, probe, q, nil, ErrUnavailable)
		}
	}()
	argv := append(make([]any, 0, 10+len(q.of)*(1+argsPerKey)), nil, nil, strconv.Itoa(len(q.of)))
	tailed := len(q.of) != 1 || q.op != "take" && q.op != "peek"
	for i := range q.of {
		c := &q.of[i]
		if q.decides() {
			c.due = c.l.owing.begin(c.l, c.g, c.key)
		}
		argv = append(argv, c.name)
		tailed = tailed || c.due.tokens > 0 || c.g.earlier() != ""
	}
	argv = append(argv, q.op, stamp)
	for i := range q.of {
		argv = q.of[i].g.args(argv, q.of[i].cost)
	}
	if tailed {
		argv = append(argv, q.a, q.b, q.c)
		for _, c := range q.of {
			w, r := c.due.time.texts()
			argv = append(argv, c.g.earlier(), w, r)
		}
	}
	got, err := l.eval(ctx, t, argv)
	var a *answer
	if err == nil {
		parts, _ := got.([]any)
		a, err = parseAnswer(parts, len(q.of))
	}
	answered = true
	l.finish(h, probe, q, a, err)
	return a, err
}

// eval runs the script, in the time that Redis has.
func (l *Limiter) eval(ctx context.Context, t turn, argv []any) (any, error) {
	if l.virtual != nil {
		argv = append(argv, strconv.FormatInt(virtualEpoch+t.began.Microseconds(), 10))
	}
	timed, cancel := l.bounded(ctx, t)
	got, err := l.script.eval(timed, l.on, argv)
	cancel()
	if err != nil {
		err = explain(ctx, err, l.virtual != nil || l.now()-t.began >= l.cfg.timeout)
	}
	return got, err
}

// finish makes known what came of a query.
func (l *Limiter) finish(h *health, probe bool, q *query, a *answer, err error) {
	if h != nil {
		h.end(&l.servers, probe, err)
	}
	for i, c := range q.of {
		c.l.owing.end(c.l, c.key, c.due, err == nil)
		if err == nil {
			c.g.learn(a.keys[i].since, a.now)
		}
	}
}

// virtualEpoch is where the time of tests begins: a multiple of their steps.
const virtualEpoch = 30_000_000_000_000
