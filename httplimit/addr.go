package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// RemoteAddr is the key function of a server that its clients reach directly:
// the IPv4 address of the connection's other end, or the /64 of its IPv6
// address, since whoever has one of those has them all. ::ffff:192.0.2.1 and
// 192.0.2.1 are one key, and a zone is not part of one. For other widths take
// ClientAddr(v4, v6) without trusted proxies, which is the same otherwise:
// ClientAddr(32, 56) makes one key of each /56.
//
// It does not look at the header, which the client writes. Behind a proxy all
// clients have the proxy's address: use [ClientAddr] there.
func RemoteAddr(r *http.Request) (netip.Prefix, error) {
	c := clients{v4: 32, v6: 64}
	return c.key(r)
}

// ClientAddr returns a key function for clients that come directly or through
// the trusted proxies, and makes prefixes of v4 and v6 bits of their addresses.
//
// X-Forwarded-For is read only if the connection comes from a trusted proxy,
// from right to left over all of its lines, since each proxy adds the address
// that it was reached from at the right. The first address that is not a trusted
// proxy's is the client, and what stands left of it, the client may have written:
// it is not even parsed. If all are trusted, the leftmost one is the client.
//
// An item may have a port and brackets, and a zone, which are dropped. What is
// no address (an empty item, "unknown", an obfuscated identifier) where one
// has to be is an error that wraps [ErrKey], and so is a trusted proxy's request
// without the field: else all its clients would share the proxy's bucket. So name
// the proxies and not the network they are in, and let [WithSkip] pass their
// health checks. More than 64 trusted items are an error too.
//
// RemoteAddr has to be an address with a port, as net/http sets it. A bare
// address was put there by other middleware, often from a header that the client
// wrote, and is refused.
//
// Neither Forwarded (RFC 7239) nor X-Real-IP nor any other field is read. If
// your proxy sets one, and drops what the client sent under that name, a key
// function of your own can read it.
//
// ClientAddr panics if v4 is not in 1 to 32, v6 not in 1 to 128, or a trusted
// prefix is not valid or trusts everybody, so that each could choose its key.
func ClientAddr(v4, v6 int, trusted ...netip.Prefix) func(*http.Request) (netip.Prefix, error) {
	if v4 < 1 || v4 > 32 || v6 < 1 || v6 > 128 {
		panic(fmt.Sprintf("httplimit: prefixes of %d and %d bits", v4, v6))
	}
	c := clients{v4: v4, v6: v6, trusted: slices.Clone(trusted)}
	for i, p := range c.trusted {
		if !p.IsValid() || p.Bits() == 0 {
			panic(fmt.Sprintf("httplimit: trusted prefix %d is %v", i, p))
		}
		if p.Addr().Is4In6() {
			// Addresses are compared unmapped.
			if p.Bits() <= 96 {
				panic(fmt.Sprintf("httplimit: trusted prefix %d is %v", i, p))
			}
			c.trusted[i] = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
	}
	return c.key
}

type clients struct {
	v4, v6  int
	trusted []netip.Prefix
}

// What an address may not be. The items themselves are in no message: they are
// the client's text, of any length.
var (
	errPeer     = fmt.Errorf("%w: the connection's address is not host:port", ErrKey)
	errAbsent   = fmt.Errorf("%w: no X-Forwarded-For from a trusted proxy", ErrKey)
	errItem     = fmt.Errorf("%w: an item of X-Forwarded-For is no address", ErrKey)
	errTooMany  = fmt.Errorf("%w: too many trusted items in X-Forwarded-For", ErrKey)
	errNotFound = errors.New("no address")
)

const (
	maxHops = 64  // trusted items that are read
	maxItem = 128 // bytes: any address with a zone and a port is shorter
)

func (c *clients) key(r *http.Request) (netip.Prefix, error) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{}, errPeer
	}
	addr := bare(peer.Addr())
	if c.trusts(addr) {
		if addr, err = c.forwarded(r.Header["X-Forwarded-For"]); err != nil {
			return netip.Prefix{}, err
		}
	}
	width := c.v6
	if addr.Is4() {
		width = c.v4
	}
	return addr.Prefix(width)
}

// forwarded returns the rightmost address that is not trusted, or the leftmost.
func (c *clients) forwarded(lines []string) (netip.Addr, error) {
	var addr netip.Addr
	hops := 0
	for _, line := range slices.Backward(lines) {
		for more := true; more; hops++ {
			if hops == maxHops {
				return addr, errTooMany
			}
			comma := strings.LastIndexByte(line, ',')
			item := line[comma+1:]
			if more = comma >= 0; more {
				line = line[:comma]
			}
			var err error
			if addr, err = parseItem(item); err != nil {
				return addr, errItem
			}
			if !c.trusts(addr) {
				return addr, nil
			}
		}
	}
	if hops == 0 {
		return addr, errAbsent
	}
	return addr, nil
}

func (c *clients) trusts(addr netip.Addr) bool {
	for _, p := range c.trusted {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// parseItem parses an address, with or without a port, brackets and a zone.
func parseItem(item string) (netip.Addr, error) {
	item = strings.Trim(item, " \t")
	if item == "" || len(item) > maxItem {
		return netip.Addr{}, errNotFound
	}
	if inner, ok := strings.CutPrefix(item, "["); ok {
		if inner, ok := strings.CutSuffix(inner, "]"); ok {
			addr, err := netip.ParseAddr(inner)
			if err == nil && !addr.Is6() {
				err = errNotFound // only IPv6 has brackets
			}
			return bare(addr), err
		}
	} else if addr, err := netip.ParseAddr(item); err == nil {
		return bare(addr), nil
	}
	withPort, err := netip.ParseAddrPort(item)
	return bare(withPort.Addr()), err
}

// bare returns the address in the one form that keys are made of.
func bare(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }
