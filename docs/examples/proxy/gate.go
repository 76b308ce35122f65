package main

import (
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/contrib/metrics"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/shard"
)

// maxClients bounds the memory of clients, whoever comes, to some 100 MB. Those
// who find no room are refused, and those who owe time are never forgotten.
const maxClients = 1_000_000

// A gate lets those requests through that their client's limit and the limit of
// all permit. One that is refused is charged to neither: a client that goes on
// asking takes nothing from the others.
type gate struct {
	client *shard.Limiter[netip.Prefix]
	global *gatomic.Limiter
	key    func(*http.Request) (netip.Prefix, error)

	changing sync.Mutex // of the limits, not held for decisions

	// A limiter's own Stats do not have what it refuses in a joint.
	allowed, byClient, byGlobal, nobody atomic.Int64
}

func newGate(l limits, trusted []netip.Prefix, clk clock.Clock) *gate {
	return &gate{
		client: shard.New[netip.Prefix](l.client, shard.WithClock(clk), shard.WithMaxKeys(maxClients, shard.Refuse)),
		global: gatomic.NewLimiter(l.global, gatomic.WithClock(clk)),
		key:    httplimit.ClientAddr(32, 64, trusted...),
	}
}

// limit returns the handler behind the gate. Responses name the limit that
// refused, or is nearest to it, in the field RateLimit.
func (g *gate) limit(next http.Handler) http.Handler {
	return httplimit.Func(g.decide,
		httplimit.WithPolicy("client", g.client.Limit),
		httplimit.WithPolicy("global", g.global.Limit),
	)(next)
}

func (g *gate) decide(r *http.Request, n int) (gcra.Decision, error) {
	who, err := g.key(r)
	if err != nil {
		g.nobody.Add(1)
		return gcra.Decision{}, err
	}
	d := shard.Join(g.client.For(who), g.global).Take(n)
	switch {
	case d.OK():
		g.allowed.Add(1)
	case d.Limit() == g.client.Limit(): // as httplimit tells them apart
		g.byClient.Add(1)
	default:
		g.byGlobal.Add(1)
	}
	return d, nil
}

func (g *gate) limits() limits { return limits{g.client.Limit(), g.global.Limit()} }

// change puts the limits in force that the function makes of those in force; on
// an error these stay. Nobody gets a free burst by that, and who owes time goes
// on owing it.
func (g *gate) change(to func(limits) (limits, error)) error {
	g.changing.Lock()
	defer g.changing.Unlock()
	l, err := to(g.limits())
	if err != nil {
		return err
	}
	g.client.SetLimit(l.client)
	g.global.SetLimit(l.global)
	return nil
}

// policies are the limits as package metrics knows them. A request without an
// address is an error of the policy "client".
func (g *gate) policies() *metrics.Policies {
	p := new(metrics.Policies)
	p.Set("client", source(func() shard.Stats {
		s := g.client.Stats() // keys, without requests
		s.Invalid = g.nobody.Load()
		s.Granted, s.Refused = g.allowed.Load(), g.byClient.Load()+s.Invalid
		return s
	}))
	p.Set("global", source(func() shard.Stats {
		return shard.Stats{Granted: g.allowed.Load(), Refused: g.byGlobal.Load()}
	}))
	return p
}

type source func() shard.Stats

func (s source) Stats() shard.Stats { return s() }
