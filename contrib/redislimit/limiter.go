package redislimit

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A Limiter limits the rate of many things, each known by its key, together with
// every other process that has a Limiter with the same prefix on the same Redis.
// Make it with [New]; the zero Limiter is not usable. It must not be copied, and
// all methods are safe for concurrent use. A call takes one round trip, and none
// where the answer is known: a refusal that still holds, a server that does not
// answer. A cost that can never pass asks what remains.
type Limiter struct {
	client  redis.Scripter
	on      processor
	script  *script
	policy  FailurePolicy
	cfg     config
	servers monitor
	memory  memory
	local   *shard.Limiter[string] // nil but for the policy Local
	owing   owing
	single  bool // the client is of one server
	windows windows
	order   uint64 // in which joints lock
	lag     atomic.Pointer[lag]
	start   time.Time
	virtual func() time.Duration // the time, in tests; else nil

	// mu is read-held by calls, and held by SetLimit while it changes gen: so a
	// call of before the change has ended when the first one of after it begins.
	mu  sync.RWMutex
	gen *generation
}

// New returns a limiter of keys that are kept in Redis. The client is a Client,
// ClusterClient or Ring of go-redis, the latter two with ContextTimeoutEnabled;
// another Scripter needs their method Process. The policy says what happens when
// Redis does not answer.
//
// It fails for limits that do not fit into the script's numbers: with a Start,
// since a key that is not there is full; a step that is no whole number of
// microseconds; a bucket that takes more than 35 years to fill; more than 2^52
// tokens of burst or 2^52/1000 per period; or an interval that is not a fraction
// of microseconds whose numbers are below 2^52, as only intervals of months are
// that are odd in nanoseconds. It does not ask Redis anything.
func New(client redis.Scripter, limit gcra.Limit, policy FailurePolicy, opts ...Option) (*Limiter, error) {
	cfg := newConfig(opts)
	if cfg.err != nil {
		return nil, cfg.err
	}
	if err := policy.check(); err != nil {
		return nil, err
	}
	if option(limit, "start") != "" {
		return nil, fmt.Errorf("redislimit: limit %v has a start, but a key that is not there is full", limit)
	}
	on, err := usable(client, cfg.timeout)
	if err != nil {
		return nil, err
	}
	l := &Limiter{client: client, on: on, script: newScript(prelude), policy: policy, cfg: cfg, order: rand.Uint64(), start: time.Now()}
	_, l.single = client.(*redis.Client)
	l.servers.init(l.single, cfg.notify)
	l.memory.seed, l.memory.longest = maphash.MakeSeed(), cfg.memory
	if l.gen, err = l.newGeneration(limit); err != nil {
		return nil, err
	}
	if l.local, err = policy.newLocal(limit, &cfg); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Limiter) newGeneration(limit gcra.Limit) (*generation, error) {
	t, err := newTerms(limit)
	if err != nil {
		return nil, err
	}
	return newGeneration(t, &l.cfg)
}

// A turn is one call: the generation that it is under, and when it began.
type turn struct {
	g     *generation
	began time.Duration // on this process' clock
}

// begin starts a call; end has to follow.
func (l *Limiter) begin() turn {
	now := l.now()
	l.mu.RLock()
	return turn{l.gen, now}
}

func (l *Limiter) end() { l.mu.RUnlock() }

func (l *Limiter) now() time.Duration {
	if l.virtual != nil {
		return l.virtual()
	}
	return time.Since(l.start)
}

// one asks about one key.
func (l *Limiter) one(ctx context.Context, t turn, key string, cost span, q query) (*answer, error) {
	q.of = []charge{{l: l, g: t.g, key: key, cost: cost}}
	return l.ask(ctx, t, &q)
}

// Take takes n tokens of the key or none. It is refused with gcra.ErrExceedsBurst
// if n is above the burst, and with gcra.ErrCost if it is negative. A refusal is
// no error; the error is for questions that have no answer (see [FailurePolicy]),
// and then the decision is a refusal.
func (l *Limiter) Take(ctx context.Context, key string, n int) (gcra.Decision, error) {
	t := l.begin()
	defer l.end()
	switch {
	case t.g.trivial:
		return t.g.without(gcra.Take, n), nil
	case n < 0 || n > t.g.limit.Capacity():
		return l.misfit(ctx, t, key, n), nil
	case n > 0:
		if d, ok := l.memory.refused(t, key, n, gcra.Take); ok {
			return d, nil
		}
	}
	version := l.memory.version.Load()
	tat, at, err := l.level(ctx, t, key, n)
	if err != nil {
		return l.failed(t.g, key, n, err, gcra.Take, (*shard.Limiter[string]).Take)
	}
	_, d := gcra.Take(&t.g.limit, tat, at, n)
	l.memory.note(t, key, tat, at, d, version)
	return d, nil
}

// Decide is Take, by the name that package httplimit asks for.
func (l *Limiter) Decide(ctx context.Context, key string, n int) (gcra.Decision, error) {
	return l.Take(ctx, key, n)
}

// TakeUpTo takes as many tokens of the key as there are, at most n. It is refused
// if there is none. Errors are those of Take.
func (l *Limiter) TakeUpTo(ctx context.Context, key string, n int) (gcra.Decision, error) {
	t := l.begin()
	defer l.end()
	d, _, err := l.takeUpTo(ctx, t, key, n)
	return d, err
}

func (l *Limiter) takeUpTo(ctx context.Context, t turn, key string, n int) (gcra.Decision, *answer, error) {
	switch {
	case t.g.trivial:
		return t.g.without(gcra.TakeUpTo, n), nil, nil
	case n < 0:
		return l.misfit(ctx, t, key, n), nil, nil
	case n == 0:
		d, err := l.peek(ctx, t, key, 0)
		return d, nil, err
	}
	n = min(n, t.g.limit.Capacity())
	if d, ok := l.memory.refused(t, key, n, gcra.TakeUpTo); ok {
		return d, nil, nil
	}
	version := l.memory.version.Load()
	token, _ := t.g.time(1)
	a, err := l.one(ctx, t, key, token, query{op: "upto", a: strconv.Itoa(n), b: "0", c: "0"})
	if err != nil {
		d, err := l.failed(t.g, key, n, err, gcra.TakeUpTo, (*shard.Limiter[string]).TakeUpTo)
		return d, nil, err
	}
	tat, at := t.g.before(a.keys[0].missing, a.keys[0].off)
	_, d := gcra.TakeUpTo(&t.g.limit, tat, at, n)
	l.memory.note(t, key, tat, at, d, version)
	return d, a, nil
}

// Peek tells what Take would decide, takes nothing and writes nothing.
func (l *Limiter) Peek(ctx context.Context, key string, n int) (gcra.Decision, error) {
	t := l.begin()
	defer l.end()
	return l.peek(ctx, t, key, n)
}

func (l *Limiter) peek(ctx context.Context, t turn, key string, n int) (gcra.Decision, error) {
	if t.g.trivial {
		at := gcra.At(&t.g.limit, 0)
		return gcra.Peek(&t.g.limit, at.Tick, at, n), nil
	}
	tat, at, err := l.level(ctx, t, key, 0)
	if err != nil {
		return l.failed(t.g, key, n, err, asTake(gcra.Peek), (*shard.Limiter[string]).Peek)
	}
	return gcra.Peek(&t.g.limit, tat, at, n), nil
}

// Debit takes n tokens that were already used, whether they are there or not:
// down to an empty bucket and on into debt, as far as WithMaxDebt. Granted tells
// how many of them fitted; it is refused if none did.
func (l *Limiter) Debit(ctx context.Context, key string, n int) (gcra.Decision, error) {
	t := l.begin()
	defer l.end()
	return l.debit(ctx, t, key, n)
}

func (l *Limiter) debit(ctx context.Context, t turn, key string, n int) (gcra.Decision, error) {
	g := t.g
	debit := func(limit *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
		return gcra.Debit(limit, tat, at, n, int(g.debt))
	}
	switch {
	case g.trivial:
		return g.without(debit, n), nil
	case n < 0:
		return l.misfit(ctx, t, key, n), nil
	case n == 0:
		return l.peek(ctx, t, key, 0)
	}
	token, _ := g.time(1)
	rw, rr := g.room.texts()
	a, err := l.one(ctx, t, key, token, query{op: "upto", a: strconv.FormatUint(min(uint64(n), maxTerm), 10), b: rw, c: rr})
	if err != nil {
		return l.failed(g, key, n, err, debit, (*shard.Limiter[string]).Debit)
	}
	tat, at := g.before(a.keys[0].missing, a.keys[0].off)
	_, d := debit(&g.limit, tat, at, n)
	return d, nil
}

// Reset makes the bucket of the key what that of a key never seen is. Nothing
// that was booked before is given back after.
func (l *Limiter) Reset(ctx context.Context, key string) error {
	t := l.begin()
	defer l.end()
	defer l.memory.forget()
	if l.local != nil {
		l.local.Reset(key)
	}
	if t.g.trivial {
		return nil
	}
	_, err := l.one(ctx, t, key, span{}, query{op: "reset", a: "0"})
	return err
}

// without decides where no bucket is.
func (g *generation) without(decide func(*gcra.Limit, int64, gcra.Instant, int) (int64, gcra.Decision), n int) gcra.Decision {
	at := gcra.At(&g.limit, 0)
	_, d := decide(&g.limit, at.Tick, at, n)
	return d
}

// misfit decides on a cost that no bucket grants. Redis is asked what remains, but
// the refusal stands without it.
func (l *Limiter) misfit(ctx context.Context, t turn, key string, n int) gcra.Decision {
	if tat, at, err := l.level(ctx, t, key, 0); err == nil {
		return gcra.Peek(&t.g.limit, tat, at, n)
	}
	return gcra.Refuse(&t.g.limit, gcra.At(&t.g.limit, 0), n)
}

func asTake(peek func(*gcra.Limit, int64, gcra.Instant, int) gcra.Decision) func(*gcra.Limit, int64, gcra.Instant, int) (int64, gcra.Decision) {
	return func(l *gcra.Limit, tat int64, at gcra.Instant, n int) (int64, gcra.Decision) {
		return tat, peek(l, tat, at, n)
	}
}

// failed decides by the policy.
func (l *Limiter) failed(g *generation, key string, n int, err error, full func(*gcra.Limit, int64, gcra.Instant, int) (int64, gcra.Decision),
	local func(*shard.Limiter[string], string, int) gcra.Decision) (gcra.Decision, error) {
	at := gcra.At(&g.limit, 0)
	if errors.Is(err, ErrUnavailable) {
		switch l.policy.kind {
		case openPolicy:
			_, d := full(&g.limit, at.Tick, at, n)
			return d, nil
		case localShare:
			l.owing.mu.Lock() // for what comes to Redis is settled in two steps
			d := local(l.local, key, n)
			l.owing.mu.Unlock()
			l.owing.note(l)
			return d, nil
		}
	}
	return gcra.Refuse(&g.limit, at, n), err
}
