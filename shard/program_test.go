package shard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// A hostileKey is a key of an interface type. Equal keys have the same id.
type hostileKey struct {
	key  any
	id   int
	nan  bool // not equal to itself
	bad  bool // comparing it panics
	text string
}

type boxed struct{ f, g any }

var pointed = new(int)

var hostileKeys = []hostileKey{
	{key: "", id: 0, text: "the empty string"},
	{key: "\xff\xfe\x00", id: 1, text: "no UTF-8"},
	{key: strings.Repeat("k", 1<<16), id: 2, text: "64 KiB"},
	{key: strings.Repeat("k", 1<<16-1) + "l", id: 3, text: "another that differs in its last byte"},
	{key: 0.0, id: 4, text: "zero"},
	{key: math.Copysign(0, -1), id: 4, text: "negative zero, which is equal to it"},
	{key: 0, id: 5, text: "the integer"},
	{key: int8(0), id: 6, text: "the small one"},
	{key: nil, id: 7, text: "nil"},
	{key: struct{}{}, id: 8, text: "no size"},
	{key: pointed, id: 9, text: "a pointer"},
	{key: boxed{1, "a"}, id: 10, text: "interfaces in a struct"},
	{key: boxed{0.0, math.Copysign(0, -1)}, id: 11, text: "zeros in them"},
	{key: boxed{math.Copysign(0, -1), 0.0}, id: 11, text: "the other way round"},
	{key: math.NaN(), nan: true, text: "NaN"},
	{key: boxed{1, math.NaN()}, nan: true, text: "NaN inside"},
	{key: [1]complex128{complex(math.NaN(), 0)}, nan: true, text: "NaN further inside"},
	{key: []int{1}, bad: true, text: "a slice"},
	{key: boxed{1, map[int]int{}}, bad: true, text: "a map inside"},
	{key: boxed{math.NaN(), func() {}}, bad: true, text: "NaN, and a function"},
	{key: [1]any{[]int(nil)}, bad: true, text: "a nil slice inside"},
}

const hostileIDs = 12

// A keyedEngine is what both engines of many keys have.
type keyedEngine interface {
	Take(key any, n int) gcra.Decision
	TakeUpTo(key any, n int) gcra.Decision
	Peek(key any, n int) gcra.Decision
	Debit(key any, n int) gcra.Decision
	AllowN(key any, n int) bool
	WaitN(ctx context.Context, key any, n int) error
	ReserveWithin(key any, d time.Duration, n int) gatomic.Reservation
	Reset(key any)
	SetLimit(gcra.Limit)
	Len() int
	Stats() Stats
	For(key any) View[any]
}

// An actor is an engine and its model: the TAT of every key, nothing forgotten.
type actor struct {
	keyedEngine
	m      *model
	lim    *Limiter[any]
	tab    *Table[any]
	policy Policy
	most   int
	held   []*pledge
}

// A pledge is a reservation and what the model knows of it.
type pledge struct {
	gatomic.Reservation
	loan loan
	key  *hostileKey
	kept bool // stored somewhere
}

func newActor(limit gcra.Limit, clk clock.Clock, table bool, most int, policy Policy) *actor {
	a := &actor{m: newModel(limit, clk.Now()), policy: policy, most: most}
	if table {
		a.tab = NewTable[any](limit, 100, WithClock(clk), WithMaxKeys(100, policy))
		a.keyedEngine = a.tab
		return a
	}
	opts := []Option{WithClock(clk), WithShards(2)}
	if most > 0 {
		opts = append(opts, WithMaxKeys(most, policy))
	} else {
		a.policy = Refuse
	}
	a.lim = New[any](limit, opts...)
	a.keyedEngine = a.lim
	return a
}

func (a *actor) tat(k *hostileKey) int64 {
	if k.nan {
		return a.m.fresh
	}
	return a.m.tat(k.id)
}

func (a *actor) put(k *hostileKey, next int64) {
	if !k.nan {
		a.m.put(k.id, next)
	}
}

// unhashable runs what has to panic, as a map would, and to leave no trace.
func (a *actor) unhashable(do func()) (err error) {
	n, s := a.Len(), a.Stats()
	defer func() {
		p, ok := recover().(runtime.Error)
		switch {
		case !ok || !strings.Contains(p.Error(), "unhashable"):
			err = fmt.Errorf("panicked with %v, want what a map does", p)
		case a.Len() != n || a.Stats() != s:
			err = fmt.Errorf("left %d keys and %+v, want %d and %+v", a.Len(), a.Stats(), n, s)
		}
	}()
	do()
	return nil
}

// store puts a decision's TAT into the model, and reports whether the engine
// had room for that: it says so by its count.
func (a *actor) store(k *hostileKey, next, capped int64, now time.Duration) (kept bool, err error) {
	turned := a.Stats().Capped - capped
	switch write := next != a.tat(k); {
	case turned == 0 && write && k.nan:
		return false, errors.New("what cannot be found again was kept")
	case turned == 0:
		a.put(k, next)
		return true, nil
	case turned > 1 || !write:
		return false, fmt.Errorf("turned away %d times, with something to write: %v", turned, write)
	case k.nan:
		return false, nil
	}
	// Only a key that has nothing may be turned away, and only by keys that owe.
	at := a.m.at(now)
	if a.m.tat(k.id) != a.m.fresh && !a.m.full(k.id, at) {
		return false, errors.New("turned away although it owes")
	}
	if a.most == 0 || a.Len() != a.most {
		return false, fmt.Errorf("turned away with %d keys of %d", a.Len(), a.most)
	}
	for key := range a.lim.All() {
		if owner := owner(key); owner == nil || a.m.full(owner.id, at) {
			return false, fmt.Errorf("turned away although %v is full", owner)
		}
	}
	return false, nil
}

// owner returns the hostile key that equals one.
func owner(key any) *hostileKey {
	for i := range hostileKeys {
		if k := &hostileKeys[i]; !k.bad && k.key == key {
			return k
		}
	}
	return nil
}

func (a *actor) decide(k *hostileKey, n int, now time.Duration, ask func(any, int) gcra.Decision, op take) error {
	if k.bad {
		return a.unhashable(func() { ask(k.key, n) })
	}
	capped := a.Stats().Capped
	got, at := ask(k.key, n), a.m.at(now)
	next, want := op(a.m.limit, a.tat(k), at, n)
	kept, err := a.store(k, next, capped, now)
	if err != nil {
		return err
	}
	if !kept && a.policy == Refuse {
		want = emptied(a.m.limit, at, n)
	}
	return sameDecision(got, want)
}

// book is what the model books if the slot is at most that far away.
func (a *actor) book(k *hostileKey, within time.Duration, n int, now time.Duration) (b gcra.Booking, d gcra.Decision, delay time.Duration) {
	at, tat := a.m.at(now), a.tat(k)
	b, d = gcra.Book(a.m.limit, tat, at, at.Tick, n)
	if delay = gcra.Until(a.m.limit, b.Slot, at); d.OK() && delay > max(within, 0) {
		b, d = gcra.Booking{}, gcra.Peek(a.m.limit, tat, at, n)
	}
	if !d.OK() {
		b.End, delay = tat, d.RetryAfter()
	}
	return b, d, delay
}

func (a *actor) turnedAway(b gcra.Booking, d gcra.Decision, n int, now time.Duration) gcra.Decision {
	at := a.m.at(now)
	if a.policy == Refuse {
		d = emptied(a.m.limit, at, n)
	}
	if b.Slot > at.Tick {
		d = gcra.Refuse(a.m.limit, at, n)
	}
	return d
}

func (a *actor) reserve(k *hostileKey, within time.Duration, n int, now time.Duration, view bool) error {
	ask := func() gatomic.Reservation {
		if view {
			return a.For(k.key).ReserveWithin(within, n)
		}
		return a.ReserveWithin(k.key, within, n)
	}
	if k.bad {
		return a.unhashable(func() { ask() })
	}
	capped := a.Stats().Capped
	p := &pledge{Reservation: ask(), key: k}
	b, want, delay := a.book(k, within, n, now)
	var err error
	if p.kept, err = a.store(k, b.End, capped, now); err != nil {
		return err
	}
	if !p.kept {
		if want = a.turnedAway(b, want, n, now); !want.OK() {
			delay = want.RetryAfter()
		}
	}
	if p.Delay() != delay {
		return fmt.Errorf("delay %v, want %v", p.Delay(), delay)
	}
	if err := sameDecision(p.Decision(), want); err != nil {
		return err
	}
	p.loan = loan{key: k.id, n: n, b: b, ok: want.OK(), changes: a.m.changes, resets: a.m.resets[k.id]}
	if a.held = append(a.held, p); len(a.held) > 20 {
		a.held = a.held[1:]
	}
	return nil
}

func (a *actor) settle(i, actual int, now time.Duration) error {
	p, capped := a.held[i], a.Stats().Capped
	p.Settle(actual)
	if actual > p.loan.n && p.loan.ok && !p.loan.gone {
		p.loan.gone = true
		next, _ := gcra.Debit(a.m.limit, a.tat(p.key), a.m.at(now), actual-p.loan.n, a.m.limit.Capacity())
		_, err := a.store(p.key, next, capped, now)
		return err
	}
	if a.Stats().Capped != capped {
		return errors.New("giving back found no room")
	}
	if p.kept && !p.key.nan {
		a.m.settle(&p.loan, actual, now)
	}
	p.loan.gone = p.loan.gone || actual >= 0
	return nil
}

// wait waits only where that takes no time.
func (a *actor) wait(k *hostileKey, n int, now time.Duration, ctx context.Context, done error, left time.Duration) error {
	if k.bad {
		return a.unhashable(func() { _ = a.WaitN(ctx, k.key, n) })
	}
	b, d, delay := a.book(k, gcra.Never, n, now)
	if done == nil && d.OK() && delay > 0 && delay <= left {
		return nil
	}
	capped := a.Stats().Capped
	got := a.WaitN(ctx, k.key, n)
	want := done
	if want == nil {
		over := d.OK() && delay > left
		if over {
			b.End = a.tat(k) // it books nothing
		}
		kept, err := a.store(k, b.End, capped, now)
		switch {
		case err != nil:
			return err
		case !kept:
			want = a.turnedAway(b, d, n, now).Err()
		case over:
			want = context.DeadlineExceeded
		default:
			want = d.Err()
		}
	} else if a.Stats().Capped != capped {
		return errors.New("a context that was done took room")
	}
	if !errors.Is(got, want) {
		return fmt.Errorf("a wait returned %v, want %v", got, want)
	}
	return nil
}

// audit asks for all balances.
func (a *actor) audit(now time.Duration) error {
	for i := range hostileKeys {
		k := &hostileKeys[i]
		if err := a.decide(k, 0, now, a.Peek, look); err != nil {
			return fmt.Errorf("%s: %w", k.text, err)
		}
	}
	owing, at := 0, a.m.at(now)
	for id := range hostileIDs {
		if a.m.tat(id) > at.Tick && a.m.tat(id) != a.m.fresh {
			owing++
		}
	}
	if n := a.Len(); n < owing || n > hostileIDs {
		return fmt.Errorf("%d keys are remembered, and %d owe", n, owing)
	}
	return nil
}

// A program is what the bytes of a fuzzer say.
type program struct {
	d      bytesDice
	clk    clock.Manual
	limits []gcra.Limit
	pairs  [2][2]*actor // limiters, then tables
}

var programLimits = append([]string{
	"64/ns burst 1152921504606846976", "64/ns", "1/ns burst 1152921504606846976", "1/288230376151711744ns burst 4", "1/288230376151711744ns burst 1 step 288230376151711744ns",
	"0/s burst 1152921504606846976", "0/s burst 5 start 0", "1/s burst 1073741824 start 0", "2147483647/24h burst 2147483647 start 1", "32/ns burst 3 step 1ns", "99/s burst 9 step 7ns start 4",
}, modelLimits...)

func newProgram(data []byte) *program {
	p := &program{d: bytesDice{data}}
	for _, text := range programLimits {
		// On 32 bits an int does not hold all of them.
		if l, err := gcra.Parse(text); err == nil {
			p.limits = append(p.limits, l)
		}
	}
	p.clk.Set([]time.Duration{0, 1, 1234567 * time.Microsecond, 1 << 61}[p.d.IntN(4)])
	most, policy := []int{0, 0, 1, 4}[p.d.IntN(4)], Policy(p.d.IntN(2))
	for i := range p.pairs[0] {
		limit := p.limits[p.d.IntN(len(p.limits))]
		for table := range p.pairs {
			p.pairs[table][i] = newActor(limit, &p.clk, table == 1, most, policy)
		}
	}
	return p
}

func (p *program) cost(burst int) int {
	costs := [...]int{1, 0, 2, burst - 1, burst, burst + 1, -1, math.MinInt, math.MaxInt, math.MaxInt - burst, burst / 2}
	if i := p.d.IntN(len(costs) + 4); i < len(costs) {
		return costs[i]
	}
	return p.d.IntN(256)
}

func (p *program) pass(l *gcra.Limit) {
	now, token, fill := p.clk.Now(), l.Interval(), l.FillTime()
	steps := [...]time.Duration{1, 0, token, token - 1, fill / 3, fill, fill + 1, time.Millisecond, time.Hour, 1 << 62, gcra.Never}
	p.clk.Set(now + min(max(steps[p.d.IntN(len(steps))], 0), gcra.Never-now))
}
