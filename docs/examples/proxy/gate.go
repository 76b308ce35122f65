package main

import (
	"context"
	"net/http"
	"net/netip"
	"sync"

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
	ofClient, ofGlobal metrics.Counter
}

func newGate(l limits, trusted []netip.Prefix, clk clock.Clock) *gate {
	g := &gate{
		client: shard.New[netip.Prefix](l.client, shard.WithClock(clk), shard.WithMaxKeys(maxClients, shard.Refuse)),
		global: gatomic.NewLimiter(l.global, gatomic.WithClock(clk)),
		key:    httplimit.ClientAddr(32, 64, trusted...),
	}
	g.ofClient.Limiter = g.client // for its keys
	return g
}

// limit returns the handler behind the gate. Responses name the limit that
// refused, or is nearest to it, in the field RateLimit.
func (g *gate) limit(next http.Handler) http.Handler {
	return httplimit.Func(g.decide,
		httplimit.WithPolicy("client", g.client.Limit),
		httplimit.WithPolicy("global", g.global.Limit),
		httplimit.WithObserver(g.count),
	)(next)
}

func (g *gate) decide(r *http.Request, n int) (gcra.Decision, error) {
	who, err := g.key(r)
	if err != nil {
		return gcra.Decision{}, err
	}
	return shard.Join(g.client.For(who), g.global).Take(n), nil
}

// count counts a request that passed under both policies, and another one under
// that which refused it. One without an address is an error of the policy
// "client".
func (g *gate) count(ctx context.Context, d gcra.Decision, served bool, err error) {
	passed := err == nil && d.OK()
	ofClient := err != nil || d.Limit() == g.client.Limit() // as httplimit tells them apart
	if passed || ofClient {
		g.ofClient.Count(ctx, d, served, err)
	}
	if passed || !ofClient {
		g.ofGlobal.Count(ctx, d, served, err)
	}
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

// policies are the limits as package metrics knows them.
func (g *gate) policies() *metrics.Policies {
	p := new(metrics.Policies)
	p.Set("client", &g.ofClient)
	p.Set("global", &g.ofGlobal)
	return p
}
