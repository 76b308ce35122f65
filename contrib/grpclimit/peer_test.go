package grpclimit_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weir-go/weir/contrib/grpclimit"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

// A textAddr is an address as a server within net/http has it.
type textAddr struct{ network, text string }

func (a textAddr) Network() string { return a.network }
func (a textAddr) String() string  { return a.text }

func tcp(ip string, zone string) net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(ip), Port: 4711, Zone: zone}
}

func TestPeerPrefix(t *testing.T) {
	for _, row := range []struct {
		addr net.Addr
		want string // "" for ErrPeer
		why  string
	}{
		{tcp("192.0.2.7", ""), "192.0.2.7/32", "IPv4"},
		{tcp("::ffff:192.0.2.7", ""), "192.0.2.7/32", "the same, as a socket for both has it"},
		{&net.TCPAddr{IP: net.IP{192, 0, 2, 7}}, "192.0.2.7/32", "in four bytes"},
		{tcp("2001:db8:1:2:3:4:5:6", ""), "2001:db8:1:2::/64", "IPv6"},
		{tcp("2001:db8:1:2::1", ""), "2001:db8:1:2::/64", "the same subscriber"},
		{tcp("2001:db8:1:3::1", ""), "2001:db8:1:3::/64", "another one"},
		{tcp("fe80::1", "eth0"), "fe80::/64", "a zone is not part of a key"},
		{tcp("fe80::1", "eth1"), "fe80::/64", "whatever it is"},
		{&net.UDPAddr{IP: net.ParseIP("192.0.2.7")}, "192.0.2.7/32", "another transport"},
		{textAddr{"tcp", "[2001:db8:1:2::1]:443"}, "2001:db8:1:2::/64", "as text"},
		{textAddr{"tcp", "[::ffff:192.0.2.7]:443"}, "192.0.2.7/32", "as text, mapped"},
		{textAddr{"tcp", "[fe80::1%eth0]:443"}, "fe80::/64", "as text, with a zone"},
		{textAddr{"tcp", "192.0.2.7"}, "", "no port: not what a transport says"},
		{textAddr{"tcp", "localhost:443"}, "", "a name"},
		{textAddr{"tcp", ""}, "", "nothing"},
		{textAddr{"", "192.0.2.7:443"}, "", "of no network"},
		{textAddr{"unix", "192.0.2.7:443"}, "", "a path that looks like an address"},
		{&net.UnixAddr{Name: "@", Net: "unix"}, "", "a Unix socket, whose clients have no name"},
		{&net.TCPAddr{}, "", "no address"},
		{tcp("0.0.0.0", ""), "", "an address that is nobody's"},
		{tcp("::", ""), "", "the same"},
		{tcp("::ffff:0.0.0.0", ""), "", "the same"},
		{(*net.TCPAddr)(nil), "", "a nil pointer"},
		{nil, "", "nil"},
	} {
		got, err := grpclimit.PeerPrefix(peer.NewContext(t.Context(), &peer.Peer{Addr: row.addr}), "/s/m")
		if row.want == "" && (!errors.Is(err, grpclimit.ErrPeer) || got != netip.Prefix{}) || row.want != "" && (err != nil || got.String() != row.want) {
			t.Errorf("%v: %v, %v, want %q: %s", row.addr, got, err, row.want, row.why)
		}
	}
	if _, err := grpclimit.PeerPrefix(t.Context(), ""); !errors.Is(err, grpclimit.ErrPeer) {
		t.Errorf("no peer: %v", err)
	}
}

func TestPeerPrefixOf(t *testing.T) {
	for _, row := range []struct {
		bits4, bits6 int
		addr         net.Addr
		want         string
	}{
		{24, 56, tcp("192.0.2.7", ""), "192.0.2.0/24"},
		{24, 56, tcp("::ffff:192.0.2.7", ""), "192.0.2.0/24"},
		{24, 56, tcp("2001:db8:1:2fff::1", ""), "2001:db8:1:2f00::/56"},
		{32, 128, tcp("2001:db8::1", ""), "2001:db8::1/128"},
	} {
		got, err := grpclimit.PeerPrefixOf(row.bits4, row.bits6)(peer.NewContext(t.Context(), &peer.Peer{Addr: row.addr}), "")
		if err != nil || got.String() != row.want {
			t.Errorf("/%d, /%d of %v: %v, %v, want %s", row.bits4, row.bits6, row.addr, got, err, row.want)
		}
	}
}

// Whatever a transport says is a key that stands for its address, or ErrPeer.
func FuzzPeerPrefix(f *testing.F) {
	for _, text := range []string{"192.0.2.7:1", "[::ffff:1.2.3.4]:1", "[fe80::1%a]:1", "", ":1", "[::]:1", "[::ffff:0:0]:1", "1.2.3.4", "%", "[::%]:1"} {
		f.Add("tcp", text)
	}
	f.Add("unix", "@")
	f.Fuzz(func(t *testing.T, network, text string) {
		ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: textAddr{network, text}})
		p, err := grpclimit.PeerPrefix(ctx, "")
		if err != nil {
			if !errors.Is(err, grpclimit.ErrPeer) || p != (netip.Prefix{}) {
				t.Fatalf("%v, %v", p, err)
			}
			return
		}
		a := p.Addr()
		if !p.IsValid() || p != p.Masked() || a.Is4In6() || a.Zone() != "" || (a.Is4() && p.Bits() != 32) || (a.Is6() && p.Bits() != 64) {
			t.Fatalf("%q is the key %v", text, p)
		}
		at, err := netip.ParseAddrPort(text)
		if err != nil || !p.Contains(at.Addr().WithZone("").Unmap()) {
			t.Fatalf("%q is the key %v, %v", text, p, err)
		}
	})
}

// Peers without an address get an error over real connections, however many
// tokens there are, and those with one a bucket.
func TestPeersOverConnections(t *testing.T) {
	unix, err := net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	buf := bufconn.Listen(1 << 16)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dial := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return buf.DialContext(ctx) })
	for _, row := range []struct {
		lis    net.Listener
		target string
		dial   []grpc.DialOption
		code   codes.Code
	}{
		{unix, "unix:" + unix.Addr().String(), nil, codes.Internal},
		{buf, "passthrough:bufconn", []grpc.DialOption{dial}, codes.Internal},
		{tcp, tcp.Addr().String(), nil, codes.OK},
	} {
		l := shard.New[netip.Prefix](gcra.PerHour(1).Burst(9))
		client := serveOn(t, row.lis, row.target, new(service), []grpc.ServerOption{
			grpc.UnaryInterceptor(grpclimit.UnaryServer(grpclimit.Local(l), grpclimit.PeerPrefix)),
		}, row.dial...)
		if _, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{}); status.Code(err) != row.code {
			t.Errorf("%s: %v, want %v", row.target, err, row.code)
		}
		want := 0
		if row.code == codes.OK {
			want = 1
		}
		if l.Len() != want {
			t.Errorf("%s: %d keys, want %d", row.target, l.Len(), want)
		}
	}
}
