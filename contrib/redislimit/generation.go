package redislimit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A generation is a limit's time in a Limiter, from one SetLimit to the next, and
// what a call says of it to the script.
type generation struct {
	*terms
	debt  uint64 // tokens
	room  span   // of the debt
	wait  time.Duration
	bound int64 // µs: no TAT of ours is further ahead of the instant it is written at
	fixed []any // arguments: limit, d, step, fill w, fill r
	brief brief
	most  uint64 // tokens that a bucket may lack, what earlier limits left it included

	// began is since when the limiter has this limit, as far as it is known.
	began atomic.Pointer[began]

	// chain is every earlier generation that a value in Redis may still be of,
	// "since limit;" each, the oldest first. Its first limit is that of keys that
	// are not there. After the instant settles all that is older than since has
	// expired, and the chain is not sent any more.
	chain   string
	links   int
	settles int64
	settled atomic.Bool
}

// A began is Redis' instant since which a limiter has its limit, -1 before an
// answer told it, and what the script is told of that: "since bound".
type began struct {
	since int64
	text  any
}

func (g *generation) since() int64 { return g.began.Load().since }

func (g *generation) beganAt(since int64) *began {
	return &began{since, strconv.FormatInt(since, 10) + " " + strconv.FormatInt(g.bound, 10)}
}

// chainMax is how many earlier limits are sent: beyond, the oldest is left out,
// and what was written under it is converted by the next one's instant.
const chainMax = 256

func newGeneration(t *terms, cfg *config) (*generation, error) {
	g := &generation{terms: t, wait: cfg.maxWait, settles: math.MaxInt64}
	if t.trivial {
		g.began.Store(g.beganAt(-1))
		return g, nil
	}
	g.debt = t.burst
	if cfg.debtSet {
		g.debt = uint64(cfg.debt)
	}
	var ok bool
	if g.room, ok = t.time(g.debt); !ok || g.debt >= maxTerm || g.debt > 1<<60/uint64(t.ticks) {
		return nil, fmt.Errorf("redislimit: limit %v: a debt of %d tokens takes more than 35 years, or does not fit", t.limit, g.debt)
	}
	g.most = t.burst + g.debt
	g.bound = int64(t.fill.w + max(g.room.w, uint64(g.wait/time.Microsecond)) + 2 + uint64(max(t.step, 0)))
	g.began.Store(g.beganAt(-1))
	fw, fr := g.fill.texts()
	g.fixed = []any{g.id, strconv.FormatUint(g.d, 10), strconv.FormatInt(g.step, 10), fw, fr}
	g.brief = newBrief(t)
	return g, nil
}

// follow makes g the generation after old, since that instant (-1: unknown).
func (g *generation) follow(old *generation, since int64) {
	g.began.Store(g.beganAt(since))
	from := old.since()
	if from < 0 {
		from = max(since, 0) // nobody decided under it
	}
	chain, links := old.chain, old.links
	if old.settled.Load() {
		chain, links = "", 0
	}
	if links == chainMax {
		_, chain, _ = strings.Cut(chain, ";")
		links--
	}
	g.chain, g.links = chain+strconv.FormatInt(from, 10)+" "+old.id+";", links+1
	g.most = max(g.most, old.most)
	last := max(old.lasts(), g.lasts())
	if since < 0 || last == math.MaxInt64 {
		return
	}
	if g.settles = since + last; links > 0 {
		g.settles = max(g.settles, old.settles)
	}
}

// lasts returns after how many µs a value has expired that is written under the
// limit, math.MaxInt64 if that is not known.
func (g *generation) lasts() int64 {
	if g.trivial {
		return 0
	}
	s, ok := g.time(g.most)
	if g.step < 0 || !ok {
		return math.MaxInt64
	}
	return int64(s.w) + g.bound
}

// learn takes from an answer what it tells of the generation.
func (g *generation) learn(since, now int64) {
	// The smallest wins: of the first answers the first, and a clock that went
	// back for good.
	for old := g.began.Load(); old.since < 0 || since < old.since; old = g.began.Load() {
		if g.began.CompareAndSwap(old, g.beganAt(since)) {
			break
		}
	}
	if g.links > 0 && now > g.settles {
		g.settled.Store(true)
	}
}

// args appends what the script is told of one key: a cost of so many tokens.
func (g *generation) args(argv []any, cost span) []any {
	cw, cr := cost.texts()
	return append(append(argv, g.fixed...), g.began.Load().text, cw, cr)
}

// earlier returns the chain, as long as it is needed.
func (g *generation) earlier() string {
	if g.settled.Load() {
		return ""
	}
	return g.chain
}
