package logs

import (
	"net/netip"
	"strings"
	"testing"
)

func TestClient(t *testing.T) {
	for _, row := range []struct{ in, want, why string }{
		{"192.0.2.1", "192.0.2.1", "an address"},
		{"192.0.2.1:443", "192.0.2.1", "its port is dropped"},
		{"::ffff:192.0.2.1", "192.0.2.1", "mapped into IPv6"},
		{"::FFFF:c000:201", "192.0.2.1", "mapped, in hexadecimal"},
		{"[::ffff:192.0.2.1]:443", "192.0.2.1", "mapped, with a port"},
		{"2001:db8::1", "2001:db8::/64", "a subscriber has 64 bits"},
		{"2001:DB8:0:1:2:3:4:5", "2001:db8:0:1::/64", "in full, capitals"},
		{"2001:db8:0:1:2:3:4.5.6.7", "2001:db8:0:1::/64", "with IPv4 at the end"},
		{"2001:db8:0:0:ff00::", "2001:db8::/64", "the bits behind the 64th"},
		{"[2001:db8::1]", "2001:db8::/64", "brackets"},
		{"[2001:db8::1]:8080", "2001:db8::/64", "brackets and a port"},
		{"fe80::1%eth0", "fe80::/64", "a zone"},
		{"[fe80::1%25eth0]:80", "fe80::/64", "a zone in brackets"},
		{"::", "::/64", "nobody"},
		{"::1", "::/64", "here"},
		{"192.0.2.256", "192.0.2.256", "no address"},
		{"192.0.2.01", "192.0.2.01", "a zero in front: octal to some"},
		{"192.0.2", "192.0.2", "short"},
		{"192.0.2.1.", "192.0.2.1.", "long"},
		{"192.0.2.1:", "192.0.2.1:", "no port behind the colon"},
		{"192.0.2.1:123456", "192.0.2.1:123456", "no port"},
		{"[2001:db8::1", "[2001:db8::1", "open"},
		{"[2001:db8::1]x", "[2001:db8::1]x", "text behind"},
		{"2001:db8::1::", "2001:db8::1::", "two gaps"},
		{"1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8:9", "nine parts"},
		{"example.com:80", "example.com:80", "a name"},
		{"unix:", "unix:", "a socket"},
	} {
		if got := string(appendClient(nil, []byte(row.in))); got != row.want {
			t.Errorf("%s: %q is %q, want %q", row.why, row.in, got, row.want)
		}
	}
}

// FuzzClient holds the reader of addresses against net/netip.
func FuzzClient(f *testing.F) {
	f.Fuzz(func(t *testing.T, s string) {
		got := string(appendClient(nil, []byte(s)))
		host := s
		if strings.HasPrefix(s, "[") {
			inside, after, ok := strings.Cut(s[1:], "]")
			if !ok || after != "" && !isPort([]byte(after)) {
				if got != s {
					t.Fatalf("%q is %q", s, got)
				}
				return
			}
			if host = inside; !strings.Contains(host, ":") {
				return // only IPv6 stands in brackets
			}
		} else if i := strings.LastIndexByte(s, ':'); i >= 0 && strings.Count(s, ":") == 1 && isPort([]byte(s[i:])) {
			if host = s[:i]; host == "" {
				return
			}
		}
		host, _, _ = strings.Cut(host, "%")
		want := s
		if a, err := netip.ParseAddr(host); err == nil {
			if a = a.Unmap(); a.Is4() {
				if want = a.String(); strings.Contains(s, "%") && !strings.Contains(host, ":") {
					want = s // IPv4 has no zones
				}
			} else {
				p, _ := a.Prefix(64)
				want = p.String()
			}
		}
		if got != want {
			t.Fatalf("%q is %q, want %q", s, got, want)
		}
	})
}
