package logs

import (
	"bytes"
	"encoding/binary"
	"net/netip"
)

// appendClient appends what a client is counted by. A port, brackets and a zone are dropped. IPv4 stays whole, also where it
// was mapped into IPv6, and of other IPv6 the first 64 bits stay. What is no address is appended as it is.
func appendClient(dst, s []byte) []byte {
	host := s
	if a, n := ip4(s); n > 0 && (n == len(s) || isPort(s[n:])) {
		return appendIP4(dst, a)
	}
	if len(s) > 0 && s[0] == '[' {
		end := bytes.IndexByte(s, ']')
		if end < 0 || end+1 < len(s) && !isPort(s[end+1:]) {
			return append(dst, s...)
		}
		host = s[1:end]
	}
	if i := bytes.IndexByte(host, '%'); i >= 0 {
		host = host[:i]
	}
	a, ok := ip6(host)
	if !ok {
		return append(dst, s...)
	}
	if mapped := [12]byte{10: 0xff, 11: 0xff}; [12]byte(a[:12]) == mapped {
		return appendIP4(dst, binary.BigEndian.Uint32(a[12:]))
	}
	clear(a[8:])
	return append(netip.AddrFrom16(a).AppendTo(dst), "/64"...)
}

// isPort reports whether s is a colon and a number.
func isPort(s []byte) bool {
	if len(s) < 2 || len(s) > 6 || s[0] != ':' {
		return false
	}
	for _, c := range s[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// ip4 reads four numbers up to 255 with points between, without zeros in front, and returns how many bytes that took: 0 if
// there is no address.
func ip4(s []byte) (a uint32, n int) {
	for part := range 4 {
		if part > 0 {
			if n == len(s) || s[n] != '.' {
				return 0, 0
			}
			n++
		}
		from, v := n, uint32(0)
		for n < len(s) && n-from < 3 && '0' <= s[n] && s[n] <= '9' {
			v = v*10 + uint32(s[n]-'0')
			n++
		}
		if n == from || v > 255 || n-from > 1 && s[from] == '0' {
			return 0, 0
		}
		a = a<<8 | v
	}
	if n < len(s) && '0' <= s[n] && s[n] <= '9' {
		return 0, 0
	}
	return a, n
}

func appendIP4(dst []byte, a uint32) []byte {
	return netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)}).AppendTo(dst)
}

// ip6 reads an address without a zone, as netip.ParseAddr does, which allocates.
func ip6(s []byte) (a [16]byte, ok bool) {
	gap, n := -1, 0 // where "::" stood; bytes read
	if len(s) >= 2 && s[0] == ':' && s[1] == ':' {
		gap, s = 0, s[2:]
		if len(s) == 0 {
			return a, true
		}
	}
	for n < 16 {
		v, digits := 0, 0
		for digits < len(s) && digits < 5 {
			d := hex(s[digits])
			if d < 0 {
				break
			}
			v = v<<4 | d
			digits++
		}
		if digits == 0 || digits > 4 {
			return a, false
		}
		if digits < len(s) && s[digits] == '.' { // the last 32 bits as IPv4
			v4, size := ip4(s)
			if size != len(s) || n > 12 || gap < 0 && n != 12 {
				return a, false
			}
			binary.BigEndian.PutUint32(a[n:], v4)
			s, n = nil, n+4
			break
		}
		a[n], a[n+1] = byte(v>>8), byte(v)
		n += 2
		if s = s[digits:]; len(s) == 0 {
			break
		}
		if s[0] != ':' || len(s) == 1 {
			return a, false
		}
		if s = s[1:]; s[0] == ':' {
			if gap >= 0 {
				return a, false
			}
			gap, s = n, s[1:]
			if len(s) == 0 {
				break
			}
		}
	}
	switch {
	case len(s) > 0, gap < 0 && n < 16, gap >= 0 && n == 16:
		return a, false
	case gap >= 0:
		copy(a[16-(n-gap):], a[gap:n])
		clear(a[gap : 16-(n-gap)])
	}
	return a, true
}

func hex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
