package lease_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/contrib/redislimit/lease"
	"github.com/weir-go/weir/gcra"
)

// An event is something that happened to tokens of one key, at an instant that all
// processes share, to one of them.
type event struct {
	at      time.Duration
	process int
	n       int
}

// A history is what happened, in the order of time.
type history struct {
	limit           gcra.Limit
	life            time.Duration
	charges, spends []event
}

// violation tries every window, from one spend to another, and returns the first
// that saw too many; "" if there is none.
func (h *history) violation(processes int) string {
	for p := -1; p < processes; p++ { // all together, then each of them
		for i, first := range h.spends {
			spent, charged, leased, c := 0, 0, 0, 0
			for ; c < len(h.charges) && h.charges[c].at < first.at; c++ {
				if e := h.charges[c]; p < 0 || e.process == p {
					leased += e.n
					if e.at > first.at-h.life {
						charged += e.n // and may be spent yet
					}
				}
			}
			for _, e := range h.spends[:i] {
				if p < 0 || e.process == p {
					leased -= e.n
				}
			}
			for _, last := range h.spends[i:] {
				for ; c < len(h.charges) && h.charges[c].at <= last.at; c++ {
					if e := h.charges[c]; p < 0 || e.process == p {
						charged += e.n
					}
				}
				if p >= 0 && last.process != p {
					continue
				}
				spent += last.n
				w := last.at - first.at
				switch {
				case spent > charged:
					return fmt.Sprintf("process %d: %d spent in [%v, %v], and %d charged since one lifetime before it", p, spent, first.at, last.at, charged)
				case p < 0 && spent > h.limit.Within(w+h.life):
					return fmt.Sprintf("%d spent in [%v, %v], more than burst + rate·(w + lifetime) = %d", spent, first.at, last.at, h.limit.Within(w+h.life))
				case p < 0 && spent > h.limit.Within(w)+leased:
					return fmt.Sprintf("%d spent in [%v, %v], more than burst + rate·w = %d, and %d leased out", spent, first.at, last.at, h.limit.Within(w), leased)
				}
			}
		}
	}
	return ""
}

// A world is some processes and a store, in virtual time, on one key. While one of
// them asks the store, time passes and others act.
type world struct {
	rand    *rand.Rand
	clk     clock.Manual
	history history
	busy    []bool // asks the store
	all     []*lease.Limiter
	refused int
	step    time.Duration
	cost    int
	t       *testing.T
}

// skewed is a clock with an epoch and a speed of its own.
type skewed struct {
	of      *clock.Manual
	epoch   time.Duration
	slower  time.Duration
	process int
}

func (s skewed) Now() time.Duration { return s.epoch + s.of.Now()/s.slower }

func newWorld(t *testing.T, seed uint64, slower time.Duration, free bool) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	burst := 1 + r.IntN(60)
	w := &world{rand: r, t: t}
	w.clk.Set(time.Hour)
	limit := gcra.Per(1+r.IntN(200), time.Second).Burst(burst)
	if r.IntN(4) == 0 {
		limit = limit.InSteps(time.Duration(1+r.IntN(500)) * time.Millisecond)
	}
	w.history.limit, w.history.life = limit, time.Duration(1+r.IntN(1000))*time.Millisecond
	w.step, w.cost = time.Duration(1+r.IntN(int(w.history.life)/5)), 1+r.IntN(min(burst, 6))
	store := newBucket(limit, &w.clk)
	w.busy = make([]bool, 1+r.IntN(4))
	for p := range w.busy {
		b := *store // with its own hooks
		b.before, b.after = w.pass, w.pass
		b.lent = func(key string, n int) {
			w.history.charges = append(w.history.charges, event{w.clk.Now(), p, n})
			if free {
				b.of.Reset(key)
			}
		}
		w.all = append(w.all, newLimiter(t, &b,
			lease.WithClock(skewed{&w.clk, time.Duration(p) * time.Minute, slower, p}), lease.WithLifetime(w.history.life),
			lease.WithShare(1+r.IntN(4)), lease.WithFirstBlock(1+r.IntN(10))))
	}
	return w
}

func (w *world) pass() {
	w.clk.Advance(time.Duration(w.rand.Int64N(int64(w.step))))
	for range w.rand.IntN(3) {
		w.act()
	}
	w.clk.Advance(time.Duration(w.rand.Int64N(int64(w.step))))
}

// act lets one process ask for tokens, unless it waits for the store.
func (w *world) act() {
	p := w.rand.IntN(len(w.all))
	if w.busy[p] {
		return
	}
	w.busy[p] = true
	defer func() { w.busy[p] = false }()
	n := 1 + w.rand.IntN(w.cost)
	d, err := w.all[p].Take(w.t.Context(), "k", n)
	switch {
	case err != nil:
		w.refused++ // the answer took longer than the lifetime
	case d.OK():
		w.history.spends = append(w.history.spends, event{w.clk.Now(), p, n})
	default:
		w.refused++
	}
}

func (w *world) run(acts int) string {
	for range acts {
		if w.rand.IntN(3) == 0 {
			w.clk.Advance(time.Duration(w.rand.Int64N(int64(w.step))))
		}
		if w.rand.IntN(40) == 0 {
			w.clk.Advance(2 * w.history.life)
		}
		w.act()
	}
	return w.history.violation(len(w.all))
}

// TestModel tries the laws in random worlds.
func TestModel(t *testing.T) {
	spends, refused, fewer := 0, 0, 0
	for seed := range uint64(150) {
		w := newWorld(t, seed, 1, false)
		if v := w.run(250); v != "" {
			t.Fatalf("seed %d, %v, lifetime %v, %d processes: %s", seed, w.history.limit, w.history.life, len(w.all), v)
		}
		spends += len(w.history.spends)
		refused += w.refused
		if len(w.history.charges) < len(w.history.spends)/2 {
			fewer++
		}
	}
	if spends < 8_000 || refused < 4_000 || fewer < 20 {
		t.Errorf("%d spends, %d refusals, in %d worlds by leases: it tests too little", spends, refused, fewer)
	}
}

// TestModelRefuses: worlds that break the laws are found out.
func TestModelRefuses(t *testing.T) {
	for _, row := range []struct {
		slower time.Duration
		free   bool
		why    string
	}{
		{2, false, "lifetimes are twice as long as they should be"},
		{1, true, "nothing is charged"},
	} {
		found := 0
		for seed := range uint64(40) {
			if newWorld(t, seed, row.slower, row.free).run(250) != "" {
				found++
			}
		}
		if found < 3 {
			t.Errorf("%s: found in %d of 40 worlds", row.why, found)
		}
		t.Logf("%s: found in %d of 40 worlds", row.why, found)
	}
	h := history{gcra.PerSecond(1).Burst(2), time.Second, []event{{1, 0, 2}}, []event{{2, 0, 2}, {3, 1, 1}}}
	if h.violation(2) == "" {
		t.Error("a token that the process did not have is not found out")
	}
}
