package grpclimit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"google.golang.org/grpc/peer"
)

// ErrPeer reports a peer that has no IP address, such as one on a Unix socket.
var ErrPeer = errors.New("weir: grpclimit: the peer has no IP address")

// PeerPrefix is a key function: the address at the other end of the connection
// for IPv4, and its /64 for IPv6, which is what one subscriber has. IPv4 within
// IPv6 is IPv4, and zones do not count. A peer without an IP address is [ErrPeer],
// and not a key that all such peers share.
//
// Behind a proxy the peer is the proxy.
func PeerPrefix(ctx context.Context, _ string) (netip.Prefix, error) {
	return peerPrefix(ctx, 32, 64)
}

// PeerPrefixOf is PeerPrefix with other lengths, of 1 to 32 bits for IPv4 and 1
// to 128 for IPv6.
func PeerPrefixOf(bits4, bits6 int) func(ctx context.Context, method string) (netip.Prefix, error) {
	if bits4 < 1 || bits4 > 32 || bits6 < 1 || bits6 > 128 {
		panic(fmt.Sprintf("weir: grpclimit: PeerPrefixOf(%d, %d): want 1 to 32 and 1 to 128 bits", bits4, bits6))
	}
	return func(ctx context.Context, _ string) (netip.Prefix, error) {
		return peerPrefix(ctx, bits4, bits6)
	}
}

func peerPrefix(ctx context.Context, bits4, bits6 int) (netip.Prefix, error) {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return netip.Prefix{}, ErrPeer
	}
	addr, err := addrOf(p.Addr)
	if err != nil {
		return netip.Prefix{}, err
	}
	bits := bits6
	if addr.Is4() {
		bits = bits4
	}
	return addr.Prefix(bits)
}

// addrOf returns the IP address in a, unmapped and without a zone.
func addrOf(a net.Addr) (netip.Addr, error) {
	var at netip.AddrPort
	if ip, ok := a.(interface{ AddrPort() netip.AddrPort }); ok {
		at = ip.AddrPort()
	} else if strings.HasPrefix(a.Network(), "tcp") || strings.HasPrefix(a.Network(), "udp") {
		// grpc.Server.ServeHTTP has the address as net/http does: as text.
		at, _ = netip.ParseAddrPort(a.String())
	}
	addr := at.Addr().Unmap().WithZone("")
	if !addr.IsValid() || addr.IsUnspecified() {
		return netip.Addr{}, fmt.Errorf("%w: %s %q", ErrPeer, a.Network(), a)
	}
	return addr, nil
}
