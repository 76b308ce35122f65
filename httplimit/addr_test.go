package httplimit

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func prefixes(texts ...string) (ps []netip.Prefix) {
	for _, text := range texts {
		ps = append(ps, netip.MustParsePrefix(text))
	}
	return ps
}

func request(peer string, forwarded ...string) *http.Request {
	r := &http.Request{RemoteAddr: peer, Header: http.Header{}}
	for _, line := range forwarded {
		r.Header.Add("X-Forwarded-For", line)
	}
	return r
}

func TestRemoteAddr(t *testing.T) {
	for _, row := range []struct{ peer, want, why string }{
		{"192.0.2.1:1234", "192.0.2.1/32", "IPv4 is its address"},
		{"192.0.2.1:4321", "192.0.2.1/32", "whatever the port"},
		{"[::ffff:192.0.2.1]:80", "192.0.2.1/32", "the same client, on a socket for both families"},
		{"[::ffff:192.0.2.1%eth0]:80", "192.0.2.1/32", "and with a zone that it cannot have"},
		{"[2001:db8:1:2:3:4:5:6]:80", "2001:db8:1:2::/64", "IPv6 is its household's /64"},
		{"[2001:db8:1:2:ffff::1]:80", "2001:db8:1:2::/64", "all of it"},
		{"[fe80::1%eth0]:80", "fe80::/64", "without the zone"},
		{"[::1]:80", "::/64", "loopback is nothing special"},
		{"192.0.2.1", "", "a bare address is other middleware's work"},
		{"2001:db8::1", "", "also of IPv6"},
		{"[2001:db8::1]", "", "also in brackets"},
		{"192.0.2.01:80", "", "a leading zero: octal to some"},
		{"192.0.2:80", "", "no short forms"},
		{"localhost:80", "", "no names"},
		{"@", "", "a Unix socket has no address"},
		{"", "", "nor has nothing"},
	} {
		// The header is not looked at.
		got, err := RemoteAddr(request(row.peer, "198.51.100.1"))
		if row.want == "" {
			if !errors.Is(err, ErrKey) || got.IsValid() {
				t.Errorf("%q: %v, %v, want an error: %s", row.peer, got, err, row.why)
			}
		} else if err != nil || got.String() != row.want {
			t.Errorf("%q: %v, %v, want %s: %s", row.peer, got, err, row.want, row.why)
		}
	}
	if got, err := ClientAddr(24, 56)(request("192.0.2.1:1")); err != nil || got.String() != "192.0.2.0/24" {
		t.Error(got, err)
	}
	if got, err := ClientAddr(24, 56)(request("[2001:db8:1:2ff::1]:1")); err != nil || got.String() != "2001:db8:1:200::/56" {
		t.Error(got, err)
	}
}

// attacks are what clients write to get another bucket, or somebody else's. The
// proxies are 10.0.0.0/8 and 2001:db8:ff::/48.
var attacks = []struct {
	peer      string
	forwarded []string
	want      string // "" is an error
	why       string
}{
	// Who may speak for others.
	{"10.0.0.1:80", []string{"192.0.2.1"}, "192.0.2.1/32", "what a trusted proxy says, holds"},
	{"[::ffff:10.0.0.1]:80", []string{"192.0.2.1"}, "192.0.2.1/32", "also on a socket for both families"},
	{"[2001:db8:ff::1%eth0]:80", []string{"192.0.2.1"}, "192.0.2.1/32", "also with a zone"},
	{"192.0.2.9:80", []string{"192.0.2.1"}, "192.0.2.9/32", "whoever comes directly speaks for nobody"},
	{"192.0.2.9:80", []string{"10.0.0.1"}, "192.0.2.9/32", "and is no proxy for saying so"},
	{"192.0.2.9:80", []string{"garbage, ,"}, "192.0.2.9/32", "and what is not read cannot be wrong"},
	{"11.0.0.1:80", []string{"192.0.2.1"}, "11.0.0.1/32", "next to the trusted ones"},

	// Spoofed left entries.
	{"10.0.0.1:80", []string{"198.51.100.7, 192.0.2.1"}, "192.0.2.1/32", "left of the client is the client's text"},
	{"10.0.0.1:80", []string{"10.9.9.9, 192.0.2.1"}, "192.0.2.1/32", "also if it looks like a proxy"},
	{"10.0.0.1:80", []string{"127.0.0.1, ::1, 192.0.2.1, 10.0.0.2"}, "192.0.2.1/32", "behind two proxies"},
	{"10.0.0.1:80", []string{"garbage,,\x00,192.0.2.1"}, "192.0.2.1/32", "it is not even parsed"},
	{"10.0.0.1:80", []string{"198.51.100.7, 10.0.0.3, 192.0.2.1, 10.0.0.2"}, "192.0.2.1/32", "a proxy's address beyond the first untrusted hop is spoofed"},

	// Many header lines.
	{"10.0.0.1:80", []string{"198.51.100.7", "192.0.2.1"}, "192.0.2.1/32", "the last line is the nearest proxy's"},
	{"10.0.0.1:80", []string{"198.51.100.7, 192.0.2.1", "10.0.0.2"}, "192.0.2.1/32", "reading goes on in the line before"},
	{"10.0.0.1:80", []string{"garbage", "192.0.2.1, 10.0.0.2"}, "192.0.2.1/32", "but no further than it has to"},
	{"10.0.0.1:80", []string{"192.0.2.1", ""}, "", "an empty line is an empty item"},
	{"10.0.0.1:80", []string{"garbage", "10.0.0.2"}, "", "garbage where the client has to be"},

	// Ports, brackets, zones, forms of one address.
	{"10.0.0.1:80", []string{"192.0.2.1:1111"}, "192.0.2.1/32", "a port makes no other key"},
	{"10.0.0.1:80", []string{"[2001:db8::1]:1111"}, "2001:db8::/64", "nor does one in IPv6"},
	{"10.0.0.1:80", []string{"[2001:db8::1]"}, "2001:db8::/64", "nor do brackets"},
	{"10.0.0.1:80", []string{"2001:DB8:0:0::2"}, "2001:db8::/64", "nor another spelling"},
	{"10.0.0.1:80", []string{"::ffff:192.0.2.1"}, "192.0.2.1/32", "nor IPv4 mapped into IPv6"},
	{"10.0.0.1:80", []string{"[::ffff:c000:201]:7"}, "192.0.2.1/32", "in whatever form"},
	{"10.0.0.1:80", []string{"fe80::1%a"}, "fe80::/64", "nor a zone"},
	{"10.0.0.1:80", []string{"[fe80::1%b]:1"}, "fe80::/64", "nor another one"},
	{"10.0.0.1:80", []string{" \t192.0.2.1\t , 10.0.0.2 "}, "192.0.2.1/32", "nor space"},
	{"10.0.0.1:80", []string{"198.51.100.7, ::ffff:10.0.0.2"}, "198.51.100.7/32", "a proxy is known in that form too"},
	{"10.0.0.1:80", []string{"198.51.100.7, 10.0.0.2:5"}, "198.51.100.7/32", "and with a port"},
	{"10.0.0.1:80", []string{"192.0.2.1:"}, "", "a port has digits"},
	{"10.0.0.1:80", []string{"192.0.2.1:65536"}, "", "and fits in 16 bits"},
	{"10.0.0.1:80", []string{"[192.0.2.1]"}, "", "IPv4 has no brackets"},
	{"10.0.0.1:80", []string{"[192.0.2.1]:80"}, "", "nor before a port"},
	{"10.0.0.1:80", []string{"[2001:db8::1"}, "", "half a bracket"},
	{"10.0.0.1:80", []string{"2001:db8::1]"}, "", "the other half"},
	{"10.0.0.1:80", []string{"[[2001:db8::1]]"}, "", "two of them"},
	{"10.0.0.1:80", []string{"[]"}, "", "nothing within"},

	// Garbage.
	{"10.0.0.1:80", nil, "", "a proxy that does not say for whom"},
	{"10.0.0.1:80", []string{""}, "", "an empty field"},
	{"10.0.0.1:80", []string{","}, "", "empty items"},
	{"10.0.0.1:80", []string{"192.0.2.1,"}, "", "an empty item at the right: the proxy's is missing"},
	{"10.0.0.1:80", []string{"192.0.2.1, ,10.0.0.2"}, "", "an empty item in between"},
	{"10.0.0.1:80", []string{", 10.0.0.2"}, "", "or at the left, if it comes to that"},
	{"10.0.0.1:80", []string{"unknown"}, "", "nobody knows"},
	{"10.0.0.1:80", []string{"192.0.2.1, unknown"}, "", "and what is left of it proves nothing"},
	{"10.0.0.1:80", []string{"_hidden"}, "", "an obfuscated identifier is anybody's choice"},
	{"10.0.0.1:80", []string{"for=192.0.2.1"}, "", "another field's syntax"},
	{"10.0.0.1:80", []string{`"192.0.2.1"`}, "", "quotes"},
	{"10.0.0.1:80", []string{"192.0.2.1 198.51.100.7"}, "", "two in one"},
	{"10.0.0.1:80", []string{"192.0.2.1;10.0.0.2"}, "", "a semicolon is no comma"},
	{"10.0.0.1:80", []string{"0300.0.2.1"}, "", "octal"},
	{"10.0.0.1:80", []string{"3221225985"}, "", "a number"},
	{"10.0.0.1:80", []string{"example.com"}, "", "a name"},
	{"10.0.0.1:80", []string{"192.0.2.1\x00"}, "", "a byte too many"},
	{"10.0.0.1:80", []string{"192.0.2.1\u00a0"}, "", "a space that is none"},

	// Only proxies.
	{"10.0.0.1:80", []string{"10.0.0.9, 10.0.0.2"}, "10.0.0.9/32", "a client within: the leftmost"},
	{"10.0.0.1:80", []string{"10.0.0.9", "10.0.0.2"}, "10.0.0.9/32", "over all lines"},
	{"10.0.0.1:80", []string{"10.0.0.1"}, "10.0.0.1/32", "the proxy itself, as it says"},

	// Oversized.
	{"10.0.0.1:80", []string{strings.Repeat("198.51.100.7,", 70_000) + "192.0.2.1"}, "192.0.2.1/32", "a megabyte of spoofed entries is not read"},
	{"10.0.0.1:80", []string{strings.Repeat("10.0.0.2,", 63) + "10.0.0.2"}, "10.0.0.2/32", "64 proxies"},
	{"10.0.0.1:80", []string{"192.0.2.1," + strings.Repeat("10.0.0.2,", 63) + "10.0.0.2"}, "", "are as many as are read"},
	{"10.0.0.1:80", []string{strings.Repeat("10.0.0.2,", 100_000) + "10.0.0.2"}, "", "a megabyte of them"},
	{"10.0.0.1:80", slices.Repeat([]string{"10.0.0.2"}, 65), "", "also line by line"},
	{"10.0.0.1:80", []string{"fe80::1%" + strings.Repeat("z", 1<<20)}, "", "a megabyte of a zone"},
	{"10.0.0.1:80", []string{strings.Repeat(" ", 1<<20) + "192.0.2.1"}, "192.0.2.1/32", "space is trimmed, however much"},
}

func TestAttacks(t *testing.T) {
	key := ClientAddr(32, 64, prefixes("10.0.0.0/8", "2001:db8:ff::/48")...)
	for i, row := range attacks {
		got, err := key(request(row.peer, row.forwarded...))
		if row.want == "" {
			if !errors.Is(err, ErrKey) || got.IsValid() {
				t.Errorf("row %d: %v, %v, want an error: %s", i, got, err, row.why)
			}
			if err != nil && len(err.Error()) > 100 {
				t.Errorf("row %d: the error repeats the client's text: %.200s", i, err)
			}
		} else if err != nil || got.String() != row.want {
			t.Errorf("row %d: %v, %v, want %s: %s", i, got, err, row.want, row.why)
		}
	}
}

// TestOtherFields are read by nobody.
func TestOtherFields(t *testing.T) {
	r := request("10.0.0.1:80", "192.0.2.1")
	for _, name := range []string{"Forwarded", "X-Real-IP", "True-Client-IP", "CF-Connecting-IP", "X-Client-IP"} {
		r.Header.Set(name, "198.51.100.7")
	}
	r.Header.Set("Forwarded", "for=198.51.100.7")
	if got, err := ClientAddr(32, 64, prefixes("10.0.0.0/8")...)(r); err != nil || got.String() != "192.0.2.1/32" {
		t.Error(got, err)
	}
}

// TestTrusted: prefixes mean addresses, however both are written.
func TestTrusted(t *testing.T) {
	for _, row := range []struct{ trusted, peer, want, why string }{
		{"::ffff:10.0.0.0/104", "10.0.0.1:1", "192.0.2.1/32", "a mapped prefix is that of IPv4"},
		{"::ffff:10.0.0.0/104", "[::ffff:10.0.0.1]:1", "192.0.2.1/32", "for mapped addresses too"},
		{"10.0.0.77/8", "10.0.0.1:1", "192.0.2.1/32", "bits beyond the prefix do not count"},
		{"10.0.0.1/32", "10.0.0.1:1", "192.0.2.1/32", "one proxy"},
		{"10.0.0.1/32", "10.0.0.2:1", "10.0.0.2/32", "is one proxy"},
		{"2000::/3", "[2001:db8::1]:1", "192.0.2.1/32", "IPv6"},
		{"2000::/3", "10.0.0.1:1", "10.0.0.1/32", "is not IPv4"},
	} {
		got, err := ClientAddr(32, 64, netip.MustParsePrefix(row.trusted))(request(row.peer, "192.0.2.1"))
		if err != nil || got.String() != row.want {
			t.Errorf("%s trusted, %s: %v, %v, want %s: %s", row.trusted, row.peer, got, err, row.want, row.why)
		}
	}
	mine := prefixes("10.0.0.0/8")
	key := ClientAddr(32, 64, mine...)
	mine[0] = netip.MustParsePrefix("11.0.0.0/8")
	if got, err := key(request("11.0.0.1:1", "192.0.2.1")); err != nil || got.String() != "11.0.0.1/32" {
		t.Errorf("a change of the caller's slice is heard of: %v, %v", got, err)
	}
}

// TestKeysAllocateNothing, on the way of a request that is well-formed.
func TestKeysAllocateNothing(t *testing.T) {
	behind := ClientAddr(32, 64, prefixes("10.0.0.0/8")...)
	r := request("10.0.0.1:80", "198.51.100.7, [2001:db8::1]:80, 10.0.0.2")
	if n := testing.AllocsPerRun(100, func() { behind(r); RemoteAddr(r) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzClientAddr puts the key beside one that is found the long way: over the
// joined lines, split at once.
func FuzzClientAddr(f *testing.F) {
	for _, row := range attacks {
		if lines := strings.Join(row.forwarded, "\n"); len(lines) < 200 {
			f.Add(row.peer, lines)
		}
	}
	trusted := prefixes("10.0.0.0/8", "2001:db8:ff::/48")
	key := ClientAddr(32, 64, trusted...)
	isTrusted := func(a netip.Addr) bool {
		return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	f.Fuzz(func(t *testing.T, peer, lines string) {
		r := request(peer)
		if lines != "" {
			r = request(peer, strings.Split(lines, "\n")...)
		}
		got, err := key(r)
		if (err == nil) != got.IsValid() || err != nil && !errors.Is(err, ErrKey) {
			t.Fatalf("%v, %v", got, err)
		}
		if want := slowKey(peer, lines, isTrusted); got != want {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
		if err != nil {
			return
		}
		if got != got.Masked() || got.Addr().Is4In6() || got.Addr().Zone() != "" {
			t.Fatalf("%v is not the one form of its key", got)
		}
		// Whatever else the client writes at the left changes nothing, unless all
		// are proxies.
		if lines != "" && !isTrusted(got.Addr()) {
			spoofed, err := key(request(peer, append([]string{"203.0.113.9, unknown"}, strings.Split("203.0.113.9,"+lines, "\n")...)...))
			if err != nil || spoofed != got {
				t.Fatalf("spoofed at the left: %v, %v, want %v", spoofed, err, got)
			}
		}
	})
}

// slowKey returns the zero Prefix where there is no key.
func slowKey(peer, lines string, trusted func(netip.Addr) bool) netip.Prefix {
	from, err := netip.ParseAddrPort(peer)
	if err != nil {
		return netip.Prefix{}
	}
	addr := from.Addr().WithZone("").Unmap()
	items := strings.Split(strings.ReplaceAll(lines, "\n", ","), ",")
	for i := 0; trusted(addr) && i < len(items); i++ {
		item := strings.Trim(items[len(items)-1-i], " \t")
		if i == 64 || len(item) > 128 {
			return netip.Prefix{}
		}
		// Each form by itself.
		plain, err1 := netip.ParseAddr(item)
		withPort, err2 := netip.ParseAddrPort(item)
		bracketed, err3 := netip.ParseAddrPort(item + ":1")
		switch {
		case err1 == nil:
			addr = plain
		case err2 == nil:
			addr = withPort.Addr()
		case err3 == nil && strings.HasPrefix(item, "["):
			addr = bracketed.Addr()
		default:
			return netip.Prefix{}
		}
		addr = addr.WithZone("").Unmap()
	}
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	p, _ := addr.Prefix(bits)
	return p
}
