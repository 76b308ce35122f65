package grpclimit_test

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/contrib/grpclimit"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A server with a limit for each client, by its address.
func Example() {
	clients := shard.New[netip.Prefix](gcra.PerSecond(50).Burst(100), shard.WithMaxKeys(1_000_000, shard.Refuse))
	limit := grpclimit.Local(clients)
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(grpclimit.UnaryServer(limit, grpclimit.PeerPrefix)),
		grpc.ChainStreamInterceptor(
			grpclimit.StreamServer(limit, grpclimit.PeerPrefix),                           // openings
			grpclimit.StreamServer(limit, grpclimit.PeerPrefix, grpclimit.WithMessages()), // and messages
		),
	)
	defer server.Stop()
	fmt.Println(clients.Limit())
	// Output: 50/s burst 100
}

// A client that never calls a method more often than the server permits.
func ExampleWaiting() {
	calls := shard.New[string](gcra.PerSecond(100).Burst(5), shard.WithMaxWait(10*time.Second))
	byMethod := func(_ context.Context, method string) (string, error) { return method, nil }
	paced := grpc.WithUnaryInterceptor(grpclimit.UnaryClient(grpclimit.Waiting(calls), byMethod))
	_ = paced // conn, err := grpc.NewClient(target, paced, ...)
	fmt.Println(calls.Limit())
	// Output: 100/s burst 5
}

// A limit for each tenant and one for all, which grant together or not at all.
// The tenant is who the caller proved to be, never what a header says.
func ExampleFunc() {
	tenants := shard.New[string](gcra.PerSecond(10).Burst(20))
	everyone := gatomic.NewLimiter(gcra.PerSecond(1000).Burst(2))
	joint := grpclimit.Func[string](func(_ context.Context, tenant string, n int) (gcra.Decision, error) {
		return shard.Join(tenants.For(tenant), everyone).Take(n), nil
	})
	tenant := func(ctx context.Context, _ string) (string, error) {
		if md, _ := metadata.FromIncomingContext(ctx); len(md.Get("proved-tenant")) == 1 {
			return md.Get("proved-tenant")[0], nil
		}
		return "", status.Error(codes.Unauthenticated, "no tenant")
	}
	call := grpclimit.UnaryServer(joint, tenant, grpclimit.WithCost(func(context.Context, string, any) int { return 3 }))

	ctx := metadata.NewIncomingContext(context.Background(), metadata.Pairs("proved-tenant", "ann"))
	info := &grpc.UnaryServerInfo{FullMethod: "/shop.Orders/List"}
	handler := func(context.Context, any) (any, error) { return "orders", nil }
	_, err := call(ctx, nil, info, handler)
	fmt.Println(err)
	_, err = call(context.Background(), nil, info, handler)
	fmt.Println(status.Convert(err).Code())
	fmt.Println(tenants.Peek("ann", 1).Remaining(), "of 20 are left")
	// Output:
	// rate limit "default": weir: cost exceeds the burst
	// Unauthenticated
	// 20 of 20 are left
}
